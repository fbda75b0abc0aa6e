"""Message schemas as plain tables: which field exists in which version, and in which form.

Two sources give the same tables: the schema files of this project (read by the parser of the wire
generator), and the JSON files inside the kafka-clients jar, which are Kafka's own truth.
"""
import importlib.util
import json
import re
import zipfile
from dataclasses import dataclass, field as dataclass_field

FOREVER = 32767
NEVER = (1, 0)


@dataclass
class Field:
    name: str
    kind: str  # bool int8 int16 uint16 int32 int64 float64 uuid string bytes records struct
    array: bool
    versions: tuple
    nullable: tuple = NEVER
    tag: int = -1
    tagged: tuple = NEVER
    default: object = None
    map_key: bool = False
    flexible: tuple = None  # own flexible versions, where they differ from the message's
    fields: list = dataclass_field(default_factory=list)


@dataclass
class Message:
    name: str
    kind: str  # request, response, header, data
    key: int
    versions: tuple
    flexible: tuple
    fields: list


def has(span, version):
    return span is not None and span[0] <= version <= span[1]


def capital(name):
    """Field names start with a capital; a few of Kafka's files forget it."""
    return name[0].upper() + name[1:]


def parse_span(text):
    if text is None or text == "none":
        return NEVER
    if text.endswith("+"):
        return (int(text[:-1]), FOREVER)
    if "-" in text:
        low, high = text.split("-")
        return (int(low), int(high))
    return (int(text), int(text))


def zero_of(kind):
    if kind in ("string",):
        return ""
    if kind in ("bytes", "records"):
        return b""
    if kind == "bool":
        return False
    if kind == "uuid":
        return "0" * 32
    if kind == "float64":
        return 0.0
    return 0


def parse_default(text, field):
    if field.array:
        return None if text == "null" else []
    if text == "null":
        return None
    if text is None or text == "":
        return None if field.kind == "struct" and field.nullable != NEVER and text == "null" else zero_of(field.kind)
    if field.kind == "bool":
        return str(text).lower() == "true"
    if field.kind == "string":
        return text
    if field.kind == "float64":
        return float(text)
    if field.kind == "struct":
        return None
    return int(str(text), 0)


SCALARS = {"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records"}


def _json_field(raw, structs):
    kind = raw["type"]
    array = kind.startswith("[]")
    if array:
        kind = kind[2:]
    sub = []
    if kind not in SCALARS:
        if raw.get("fields"):
            structs[kind] = raw["fields"]
        sub = [_json_field(f, structs) for f in structs.get(kind, [])]
        kind = "struct"
    field = Field(capital(raw["name"]), kind, array, parse_span(raw["versions"]), parse_span(raw.get("nullableVersions")))
    field.fields = sub
    if "tag" in raw:
        field.tag = int(raw["tag"])
        field.tagged = parse_span(raw.get("taggedVersions"))
    if "flexibleVersions" in raw:
        field.flexible = parse_span(raw["flexibleVersions"])
    field.map_key = bool(raw.get("mapKey"))
    default = raw.get("default")
    field.default = parse_default(str(default) if default is not None else None, field)
    return field


def _json_message(text):
    raw = json.loads("\n".join(line for line in text.splitlines() if not line.strip().startswith("//")))
    structs = {}

    def collect(entries):
        for entry in entries:
            if entry.get("fields"):
                structs[entry["type"].removeprefix("[]")] = entry["fields"]
                collect(entry["fields"])

    collect([{"type": s["name"], "fields": s["fields"]} for s in raw.get("commonStructs", [])])
    collect(raw.get("fields", []))
    fields = [_json_field(f, structs) for f in raw.get("fields", [])]
    versions = parse_span(raw.get("validVersions"))
    if raw.get("latestVersionUnstable"):
        versions = (versions[0], versions[1] - 1)  # no release speaks it
    return Message(raw["name"], raw["type"], int(raw.get("apiKey", -1)), versions,
                   parse_span(raw.get("flexibleVersions")), fields)


def load_jar(path):
    """Every message of the jar: name -> Message."""
    messages = {}
    with zipfile.ZipFile(path) as jar:
        for name in jar.namelist():
            if not re.fullmatch(r"common/message/\w+\.json", name):
                continue
            message = _json_message(jar.read(name).decode())
            messages[message.name] = message
    for message in messages.values():
        request = messages.get(message.name.removesuffix("Response") + "Request")
        if message.kind == "response" and request:
            message.versions = request.versions
    return messages


def _load_generator(folder):
    spec = importlib.util.spec_from_file_location("muster_wire_gen", folder / "gen.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _msg_field(raw):
    kind = "struct" if raw.struct else raw.base
    field = Field(capital(raw.name), kind, raw.array, raw.versions, raw.nullable or NEVER)
    if raw.tag is not None:
        field.tag, field.tagged = raw.tag, raw.tagged
    if raw.struct:
        field.fields = [_msg_field(f) for f in raw.struct.fields]
    text = raw.default.strip('"') if raw.default is not None else None
    field.default = parse_default(text, field)
    return field


def load_msg(folder):
    """Every message of this project's schema files: name -> Message."""
    generator = _load_generator(folder)
    raw = []
    for path in sorted((folder / "schema").glob("*.msg")):
        raw += generator.Reader(str(path)).messages
    generator.check(raw)
    messages = {}
    for message in raw:
        flexible = NEVER if message.flexible == generator.FOREVER else (message.flexible, FOREVER)
        messages[message.name] = Message(message.name, message.kind, message.number, message.versions, flexible,
                                         [_msg_field(f) for f in message.root.fields])
    return messages
