#!/usr/bin/env python3
"""Schema files (*.msg) to C: one header of plain structs, one source of tables for codec.c.

    gen.py --header messages.h --source messages.c schema/*.msg
    gen.py --doc schema/*.msg                    a Markdown page of every message, on standard output
    gen.py --check schema/*.msg                  read and check only

A schema is one line per field, indented two spaces per level, `#` begins a comment:

    request JoinGroup  key 11  versions 0-9  flexible 6+      a response inherits the three from the request before it
      Name       type     versions  attributes
      GroupId    string   0+
      Protocols  []Proto  0+                                  a structure's fields follow, one level deeper
        Metadata bytes    0+
      Epoch      int32    3+        tag 0  = -1               a tagged field; its default
      Rack       string?  1+        = null                    `?` null is allowed; `?7+` in these versions only
      struct Proto2                                           a structure that several fields of the message use
    record OffsetCommit  type 1  versions 0-4  flexible 4+    fields marked `key` are the key's, the rest the value's
    message LogEntry  number 0  versions 0  flexible 0+       neither: other bytes in the same form

Types: bool int8 int16 uint16 int32 uint32 int64 float64 uuid string bytes records, []type, a structure's name.
Versions: `3`, `1-4`, `2+`; flexible may be `none`."""

import argparse
import re
import sys

FOREVER = 32767
NUMBERS = {"int8": (-2**7, 2**7 - 1), "int16": (-2**15, 2**15 - 1), "uint16": (0, 2**16 - 1), "int32": (-2**31, 2**31 - 1),
           "uint32": (0, 2**32 - 1), "int64": (-2**63, 2**63 - 1)}
C_TYPES = {"bool": "bool", "int8": "int8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t", "uint32": "uint32_t",
           "int64": "int64_t", "float64": "double", "uuid": "struct uuid", "string": "struct str", "bytes": "struct bytes",
           "records": "struct bytes"}
KINDS = {name: "WIRE_" + name.upper() for name in C_TYPES} | {"records": "WIRE_BYTES"}
ARRAYS = {"int8": "int8_array", "int16": "int16_array", "int32": "int32_array", "int64": "int64_array", "uuid": "uuid_array",
          "string": "str_array", "bytes": "bytes_array"}
C_WORDS = set("auto bool break case char const continue default do double else enum extern float for goto if inline int long "
              "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while".split())


class SchemaError(Exception):
    def __init__(self, where, text):
        super().__init__(f"{where}: {text}")


class Field:
    def __init__(self, where, name, base, array, versions):
        self.where, self.name, self.base, self.array, self.versions = where, name, base, array, versions
        self.nullable = None            # (from, to)
        self.tag = None                 # number
        self.tagged = None              # (from, to)
        self.default = None             # text as written, None when there is none
        self.struct = None              # of a structure, or of an array's elements

    @property
    def null_by_default(self):
        return self.default == "null"


class Struct:
    def __init__(self, where, name):
        self.where, self.name, self.fields, self.used = where, name, [], False


class Message:
    """One encodable body: a request, a response, a record's key or value, or another message."""

    def __init__(self, kind, where, api, suffix, number, versions, flexible):
        self.kind = kind                # request, response, key, value, message
        self.where, self.api, self.name = where, api, api + suffix
        self.number, self.versions, self.flexible = number, versions, flexible
        self.root = Struct(where, self.name)
        self.structs = {}               # name -> Struct, in order of definition

    def c_name(self, struct):
        """The tag of the C struct: the message's name, then the structure's without the message's or the API's name in front."""
        if struct is self.root:
            return snake(self.name)
        rest = struct.name
        for prefix in (self.name, self.api):
            if rest.startswith(prefix) and rest[len(prefix):len(prefix) + 1].isupper():
                rest = rest[len(prefix):]
                break
        return snake(self.name) + "_" + snake(rest)


def snake(name):
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def parse_range(where, text):
    match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
    if match is None:
        raise SchemaError(where, f"'{text}' is not a version range (3, 1-4, 2+)")
    low = int(match[1])
    high = low if match[2] is None else FOREVER if match[2] == "+" else int(match[3])
    if high < low or low >= FOREVER or high > FOREVER:
        raise SchemaError(where, f"the version range '{text}' is empty or too large")
    return low, high


# ---- reading ----------------------------------------------------------------------------------------------------------


class Reader:
    """Reads the lines of one file into messages."""

    def __init__(self, path):
        self.messages = []
        self.stack = []                 # (indent of its fields, Struct) of the structures that are open
        self.key = self.body = None     # where `key` fields and all others go
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                self.line(f"{path}:{number}", line.rstrip("\n"))

    def line(self, where, line):
        code = re.sub(r'#(?=(?:[^"]*"[^"]*")*[^"]*$).*', "", line).rstrip()
        if not code:
            return
        indent = len(code) - len(code.lstrip(" "))
        if indent % 2 != 0 or "\t" in code:
            raise SchemaError(where, "indentation is two spaces a level, without tabs")
        words = code.split()
        if indent == 0:
            self.head(where, words)
        elif self.body is None:
            raise SchemaError(where, "a field before any request, response, record or message")
        elif words[0] == "struct" and len(words) == 2:
            if indent != 2:
                raise SchemaError(where, "a shared structure stands at the first level of its message")
            self.stack = [(4, self.open_struct(where, self.body, words[1]))]
        else:
            self.field(where, indent, words)

    def head(self, where, words):
        kind, name, rest = words[0], words[1] if len(words) > 1 else "", words[2:]
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
            raise SchemaError(where, f"'{name}' is not a name")
        number_word = {"request": "key", "record": "type", "message": "number"}.get(kind)
        if kind == "response":
            request = self.body
            if rest or request is None or request.kind != "request" or request.api != name:
                raise SchemaError(where, f"response {name} must follow request {name} and inherits its key and versions")
            self.begin(Message(kind, where, name, "Response", request.number, request.versions, request.flexible))
            return
        if number_word is None:
            raise SchemaError(where, f"'{kind}' is none of request, response, record, message")
        if len(rest) != 6 or rest[0::2] != [number_word, "versions", "flexible"]:
            raise SchemaError(where, f"expected: {kind} {name}  {number_word} N  versions A-B  flexible C+")
        if not re.fullmatch(r"\d+|0x[0-9a-fA-F]+", rest[1]) or int(rest[1], 0) > FOREVER:
            raise SchemaError(where, f"'{rest[1]}' is not a number below {FOREVER + 1}")
        versions = parse_range(where, rest[3])
        if versions[1] == FOREVER:
            raise SchemaError(where, "a message names its highest version")
        flexible = FOREVER if rest[5] == "none" else parse_range(where, rest[5])[0]
        number = int(rest[1], 0)
        key = self.begin(Message("key", where, name, "Key", number, (0, 0), FOREVER)) if kind == "record" else None
        suffix, kind = {"request": ("Request", kind), "record": ("Value", "value")}.get(kind, ("", kind))
        self.begin(Message(kind, where, name, suffix, number, versions, flexible), key)

    def begin(self, message, key=None):
        self.messages.append(message)
        self.body, self.key = message, key
        self.stack = [(2, message.root)]
        return message

    def open_struct(self, where, message, name):
        if name in message.structs or name in C_TYPES:
            raise SchemaError(where, f"the structure {name} exists already in {message.name}")
        message.structs[name] = Struct(where, name)
        return message.structs[name]

    def field(self, where, indent, words):
        if words[0] == "key" and len(words) > 3 and words[3][0].isdigit():      # `key` alone is a name like any other
            if self.key is None or indent != 2:
                raise SchemaError(where, "only a record has key fields, at its first level")
            self.key.root.fields.append(parse_field(where, words[1:]))
            return
        while self.stack and self.stack[-1][0] > indent:
            self.stack.pop()
        if not self.stack or self.stack[-1][0] < indent:
            self.nest(where, indent)
        struct = self.stack[-1][1]
        field = parse_field(where, words)
        if any(other.name == field.name for other in struct.fields):
            raise SchemaError(where, f"the field {field.name} exists already in {struct.name}")
        struct.fields.append(field)

    def nest(self, where, indent):
        """The fields of the structure that the field above names follow, one level deeper."""
        above = self.stack[-1][1].fields if self.stack else []
        if not above or self.stack[-1][0] + 2 != indent or above[-1].base in C_TYPES:
            raise SchemaError(where, "this field is indented, but no structure begins above it")
        self.stack.append((indent, self.open_struct(above[-1].where, self.body, above[-1].base)))


def parse_field(where, words):
    if len(words) < 3:
        raise SchemaError(where, "expected: Name  type  versions")
    match = re.fullmatch(r"(\[\])?([A-Za-z0-9]+)(\?(\S+)?)?", words[1])
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", words[0]) or match is None:
        raise SchemaError(where, f"'{words[0]} {words[1]}' is not a field name and a type")
    field = Field(where, words[0], match[2], match[1] is not None, parse_range(where, words[2]))
    if match[3]:
        field.nullable = parse_range(where, match[4]) if match[4] else field.versions
    rest = words[3:]
    if rest[:1] == ["tag"] and len(rest) > 1 and rest[1].isdigit():
        field.tag, field.tagged, rest = int(rest[1]), field.versions, rest[2:]
        if rest and rest[0] != "=":
            field.tagged, rest = parse_range(where, rest[0]), rest[1:]
    if rest[:1] == ["="] and len(rest) == 2:
        field.default, rest = rest[1], []
    if rest:
        raise SchemaError(where, f"'{' '.join(rest)}' is neither `tag N` nor `= default`")
    return field


# ---- checking ---------------------------------------------------------------------------------------------------------


def check_default(field):
    text, where = field.default, field.where
    if text is None or text == "null":
        if text == "null" and field.nullable is None:
            raise SchemaError(where, f"{field.name} cannot be null and so cannot be null by default")
        return
    if field.array or field.struct or field.base in ("uuid", "bytes", "records", "float64"):
        raise SchemaError(where, f"the only default {field.name} can have is null")
    if field.base == "string" and not re.fullmatch(r'"[^"\\]*"', text):
        raise SchemaError(where, f"the default of a string stands in quotes, not {text}")
    if field.base == "bool" and text not in ("true", "false"):
        raise SchemaError(where, f"{text} is neither true nor false")
    if field.base in NUMBERS:
        low, high = NUMBERS[field.base]
        if not re.fullmatch(r"-?\d+", text) or not low <= int(text) <= high:
            raise SchemaError(where, f"{text} is not an {field.base}")


def check_field(message, field):
    where = field.where
    if field.base not in C_TYPES:
        if field.base not in message.structs:
            raise SchemaError(where, f"no type {field.base}: give its fields below, or `struct {field.base}` in {message.name}")
        field.struct = message.structs[field.base]
        field.struct.used = True
    elif field.array and field.base not in ARRAYS:
        raise SchemaError(where, f"arrays of {field.base} are not supported")
    if snake(field.name) in C_WORDS:
        raise SchemaError(where, f"{field.name} is a word of C")
    if field.nullable and not (field.array or field.struct or field.base in ("string", "bytes", "records")):
        raise SchemaError(where, f"{field.base} cannot be null")
    if field.nullable and field.struct and not field.array and not field.null_by_default:
        raise SchemaError(where, "a structure that may be null is null by default: write `= null`")
    if field.tag is not None and field.tagged[0] < message.flexible:
        raise SchemaError(where, f"{field.name} is tagged in versions of {message.name} that are not flexible")
    check_default(field)


def check_struct(message, struct, path):
    if struct in path:
        raise SchemaError(struct.where, f"{struct.name} contains itself")
    tags = [field.tag for field in struct.fields if field.tag is not None]
    if tags != sorted(set(tags)):
        raise SchemaError(struct.where, f"the tags in {struct.name} must ascend: the encoder writes them in the order of the fields")
    for field in struct.fields:
        check_field(message, field)
        if field.struct:
            check_struct(message, field.struct, path + [struct])


def check(messages):
    c_names, numbers = {}, {}
    for message in messages:
        check_struct(message, message.root, [])
        for struct in [message.root, *message.structs.values()]:
            if struct is not message.root and not struct.used:
                raise SchemaError(struct.where, f"no field uses the structure {struct.name}")
            other = c_names.setdefault(message.c_name(struct), struct)
            if other is not struct:
                raise SchemaError(struct.where, f"its C name {message.c_name(struct)} is taken at {other.where}")
        other = numbers.setdefault((message.kind, message.number), message)
        if other is not message and message.kind != "message":
            raise SchemaError(message.where, f"the number {message.number} is taken at {other.where}")
        if message.kind == "request" and not any(m.kind == "response" and m.api == message.api for m in messages):
            raise SchemaError(message.where, f"request {message.api} has no response")


# ---- writing C --------------------------------------------------------------------------------------------------------


def in_order(message):
    """The structures of a message, each after those it contains."""
    done = []

    def visit(struct):
        for field in struct.fields:
            if field.struct:
                visit(field.struct)
        if struct not in done:
            done.append(struct)
    visit(message.root)
    return done


def c_type(message, field):
    if field.struct:
        name = "struct " + message.c_name(field.struct)
        return f"{name}_array " if field.array else f"{name} *" if field.nullable else f"{name} "
    return f"struct {ARRAYS[field.base]} " if field.array else C_TYPES[field.base] + " "


def remark(message, field):
    low, high = field.versions
    first, last = message.versions
    parts = []
    if low > first or high < last:
        parts.append(f"{low}+" if high == FOREVER else f"{low}" if low == high else f"{low}-{high}")
    if field.tag is not None:
        parts.append(f"tag {field.tag}")
    if field.nullable:
        parts.append("nullable")
    if field.default is not None:
        parts.append(f"default {field.default}")
    return f"    /* {', '.join(parts)} */" if parts else ""


def struct_text(message, struct):
    name = message.c_name(struct)
    lines = [f"struct {name} {{"]
    for field in struct.fields:
        lines.append(f"    {c_type(message, field)}{snake(field.name)};{remark(message, field)}")
    if not struct.fields:
        lines.append("    uint8_t nothing;    /* the message is empty */")
    lines.append("};")
    if any(f.struct is struct and f.array for s in in_order(message) for f in s.fields):
        lines.append(f"struct {name}_array {{ struct {name} *v; int32_t len; }};")
    return "\n".join(lines) + "\n"


def header_text(messages):
    out = ["/* Made by gen.py from src/wire/schema: do not edit. The remark at a field says in which versions it is carried, when not in",
           " * all, its tag, and its default. Conventions: <muster/wire.h>. */",
           "#ifndef MUSTER_MESSAGES_H", "#define MUSTER_MESSAGES_H", "", "#include <muster/wire.h>", ""]
    for title, kind, prefix in (("api_key", "request", "API_KEY_"), ("record_type", "value", "RECORD_")):
        rows = sorted((m.number, prefix + snake(m.api).upper()) for m in messages if m.kind == kind)
        out += [f"enum {title} {{"] + [f"    {name} = {number}," for number, name in rows] + ["};", ""]
    for message in messages:
        low, high = message.versions
        flexible = "not flexible" if message.flexible == FOREVER else f"flexible {message.flexible}+"
        out.append(f"/* ---- {message.name}: {message.kind} {message.number}, versions {low}-{high}, {flexible} ---- */\n")
        out += [struct_text(message, struct) for struct in in_order(message)]
        out.append(f"extern const struct wire_msg wire_{snake(message.name)};\n")
    return "\n".join(out) + "\n#endif\n"


def c_number(value):
    return "INT64_MIN" if value == -2**63 else f"INT64_C({value})"


def field_row(message, struct, field):
    kind = "WIRE_STRUCT" if field.struct else KINDS[field.base]
    parts = [f'.name = "{field.name}"', f".offset = offsetof(struct {message.c_name(struct)}, {snake(field.name)})",
             f".kind = {'WIRE_ARRAY' if field.array else kind}", f".min_version = {field.versions[0]}",
             f".max_version = {field.versions[1]}"]
    if field.array:
        parts.append(f".element = {kind}")
    low, high = field.nullable or (-1, -1)
    parts += [f".nullable_from = {low}", f".nullable_to = {high}"]
    tag, tag_from = (field.tag, field.tagged[0]) if field.tag is not None else (-1, -1)
    parts += [f".tag = {tag}", f".tag_from = {tag_from}"]
    if field.null_by_default:
        parts.append(".default_null = true")
    elif field.default is not None and field.base == "string":
        parts.append(f".default_text = {field.default}")
    elif field.default not in (None, "false", "0"):
        value = 1 if field.default == "true" else int(field.default)
        parts += [".has_default = true", f".default_number = {c_number(value)}"]
    if field.struct:
        parts.append(f".type = &t_{message.c_name(field.struct)}")
    return f"    {{ {', '.join(parts)} }},"


def start_value(field):
    """The C initialiser of the field's default, None when it is all zero bytes."""
    if field.null_by_default:
        return None if field.struct and not field.array else "{ NULL, -1 }"
    if field.struct and not field.array:
        return start_values(field.struct)
    if field.default in (None, "false", "0") or field.default == '""':
        return None
    if field.base == "string":
        return f"{{ {field.default}, sizeof({field.default}) - 1 }}"
    if field.default == "true":
        return "true"
    return f"({C_TYPES[field.base]}){c_number(int(field.default))}"


def start_values(struct):
    parts = [(field, start_value(field)) for field in struct.fields]
    parts = [f".{snake(field.name)} = {value}" for field, value in parts if value is not None]
    return f"{{ {', '.join(parts)} }}" if parts else None


def struct_table(message, struct):
    name, start = message.c_name(struct), start_values(struct)
    out = []
    if struct.fields:
        out += [f"static const struct wire_field f_{name}[] = {{"]
        out += [field_row(message, struct, field) for field in struct.fields] + ["};"]
    if start:
        out.append(f"static const struct {name} s_{name} = {start};")
    fields = f"f_{name}" if struct.fields else "NULL"
    out.append(f'static const struct wire_type t_{name} = {{ "{struct.name}", sizeof(struct {name}), {len(struct.fields)}, {fields}, '
               f'{f"&s_{name}" if start else "NULL"} }};')
    return out


def source_text(messages):
    out = ["/* Made by gen.py from src/wire/schema: do not edit. */", "#include <muster/messages.h>", ""]
    for message in messages:
        for struct in in_order(message):
            out += struct_table(message, struct)
        name = snake(message.name)
        out.append(f'const struct wire_msg wire_{name} = {{ "{message.name}", {message.number}, {message.versions[0]}, '
                   f"{message.versions[1]}, {message.flexible}, &t_{name} }};\n")
    for table, first, second in (("api", "request", "response"), ("record", "key", "value")):
        rows = sorted((m for m in messages if m.kind == first), key=lambda m: m.number)
        out.append(f"const struct wire_{table} wire_{table}s[] = {{")
        for m in rows:
            names = [f"&wire_{snake(m.api)}_{kind}" for kind in (first, second)]
            out.append(f'    {{ {m.number}, "{m.api}", {", ".join(names)} }},')
        out += ["};", f"const size_t wire_{table}_count = COUNT_OF(wire_{table}s);", ""]
    return "\n".join(out)


# ---- writing documentation --------------------------------------------------------------------------------------------


def range_text(versions):
    low, high = versions
    return f"{low}+" if high == FOREVER else f"{low}" if low == high else f"{low}-{high}"


def doc_rows(message, struct, depth):
    for field in struct.fields:
        null = "" if not field.nullable else "?" if field.nullable == field.versions else f"? ({range_text(field.nullable)})"
        notes = [] if field.tag is None else [f"tag {field.tag}"]
        notes += [] if field.default is None else [f"default {field.default}"]
        yield (f"| {'&nbsp;&nbsp;' * depth}{field.name} | {'[]' if field.array else ''}{field.base}{null} | "
               f"{range_text(field.versions)} | {', '.join(notes)} |")
        if field.struct:
            yield from doc_rows(message, field.struct, depth + 1)


def doc_text(messages):
    out = ["# Messages", ""]
    for message in messages:
        flexible = "not flexible" if message.flexible == FOREVER else f"flexible from {message.flexible}"
        out += [f"## {message.name}", "", f"{message.kind} {message.number}, versions {range_text(message.versions)}, {flexible}", ""]
        if message.root.fields:
            out += ["| field | type | versions | |", "| --- | --- | --- | --- |", *doc_rows(message, message.root, 0), ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", metavar="FILE", help="write the C header")
    parser.add_argument("--source", metavar="FILE", help="write the C tables")
    parser.add_argument("--doc", action="store_true", help="print a Markdown page of every message")
    parser.add_argument("--check", action="store_true", help="read and check only")
    parser.add_argument("schema", nargs="+", help="schema files; their order is the order of the output")
    args = parser.parse_args()
    try:
        messages = [message for path in args.schema for message in Reader(path).messages]
        check(messages)
    except (SchemaError, OSError) as error:
        sys.exit(f"gen.py: {error}")
    for path, text in ((args.header, header_text), (args.source, source_text)):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text(messages))
    if args.doc:
        print(doc_text(messages))


if __name__ == "__main__":
    main()
