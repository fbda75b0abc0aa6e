"""One encoder and one decoder for every message, driven by the tables of schema.py.

Values are plain: dict for a struct, list for an array, str, bytes, int, bool, None; a uuid is 32 hex digits.
"""
import struct

from .schema import has

FIXED = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q", "float64": ">d"}


class DecodeError(Exception):
    """The bytes do not follow the schema."""


def put_uvarint(out, value):
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _put_length(out, length, compact, short):
    """length None: null."""
    if compact:
        put_uvarint(out, 0 if length is None else length + 1)
    else:
        out += struct.pack(">h" if short else ">i", -1 if length is None else length)


def _put_scalar(out, kind, value, compact):
    if kind == "bool":
        out.append(1 if value else 0)
    elif kind in FIXED:
        out += struct.pack(FIXED[kind], value)
    elif kind == "uuid":
        out += bytes.fromhex(value)
    elif kind == "string":
        data = None if value is None else value.encode("utf-8", "surrogateescape")
        _put_length(out, None if data is None else len(data), compact, True)
        out += data or b""
    else:
        _put_length(out, None if value is None else len(value), compact, False)
        out += value or b""


def _put_value(out, field, value, version, flexible):
    compact = flexible if field.flexible is None else has(field.flexible, version)
    if field.array:
        _put_length(out, None if value is None else len(value), compact, False)
        for item in value or []:
            if field.kind == "struct":
                _put_fields(out, field.fields, item, version, flexible, field.name)
            else:
                _put_scalar(out, field.kind, item, compact)
    elif field.kind == "struct":
        if has(field.nullable, version):
            out += b"\xff" if value is None else b"\x01"
        if value is not None:
            _put_fields(out, field.fields, value, version, flexible, field.name)
    else:
        _put_scalar(out, field.kind, value, compact)


def _put_fields(out, fields, values, version, flexible, where):
    known = {f.name for f in fields}
    for name in values:
        if name not in known:
            raise KeyError(f"{where} has no field {name}")
    tagged = []
    for field in fields:
        if not has(field.versions, version):
            continue
        value = values.get(field.name, field.default)
        if flexible and has(field.tagged, version):
            if value != field.default:
                body = bytearray()
                _put_value(body, field, value, version, flexible)
                tagged.append((field.tag, bytes(body)))
            continue
        _put_value(out, field, value, version, flexible)
    if flexible:
        put_uvarint(out, len(tagged))
        for tag, body in sorted(tagged):
            put_uvarint(out, tag)
            put_uvarint(out, len(body))
            out += body


def encode(message, version, values):
    out = bytearray()
    _put_fields(out, message.fields, values, version, has(message.flexible, version), message.name)
    return bytes(out)


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise DecodeError(f"needs {count} bytes at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 35:
                raise DecodeError("varint too long")

    def length(self, compact, short):
        if compact:
            value = self.uvarint() - 1
        else:
            value = struct.unpack(">h", self.take(2))[0] if short else struct.unpack(">i", self.take(4))[0]
        return None if value < 0 else value


def _get_scalar(reader, kind, compact):
    if kind == "bool":
        return reader.take(1)[0] != 0
    if kind in FIXED:
        return struct.unpack(FIXED[kind], reader.take(struct.calcsize(FIXED[kind])))[0]
    if kind == "uuid":
        return reader.take(16).hex()
    length = reader.length(compact, kind == "string")
    if length is None:
        return None
    data = reader.take(length)
    return data.decode("utf-8", "surrogateescape") if kind == "string" else data


def _get_value(reader, field, version, flexible):
    compact = flexible if field.flexible is None else has(field.flexible, version)
    if field.array:
        count = reader.length(compact, False)
        if count is None:
            return None
        if count > len(reader.data):
            raise DecodeError(f"{field.name}: count {count} is more than the bytes")
        if field.kind == "struct":
            return [_get_fields(reader, field.fields, version, flexible) for _ in range(count)]
        return [_get_scalar(reader, field.kind, compact) for _ in range(count)]
    if field.kind == "struct":
        if has(field.nullable, version) and reader.take(1) == b"\xff":
            return None
        return _get_fields(reader, field.fields, version, flexible)
    return _get_scalar(reader, field.kind, compact)


def _get_fields(reader, fields, version, flexible):
    values = {}
    for field in fields:
        if has(field.versions, version) and not (flexible and has(field.tagged, version)):
            values[field.name] = _get_value(reader, field, version, flexible)
    if flexible:
        by_tag = {f.tag: f for f in fields if has(f.versions, version) and has(f.tagged, version)}
        for _ in range(reader.uvarint()):
            tag = reader.uvarint()
            body = Reader(reader.take(reader.uvarint()))
            if tag in by_tag:
                values[by_tag[tag].name] = _get_value(body, by_tag[tag], version, flexible)
            else:
                values[f"tag {tag}"] = body.data
    return values


def decode(message, version, data):
    """The values and the count of bytes left over."""
    reader = Reader(data)
    values = _get_fields(reader, message.fields, version, has(message.flexible, version))
    return values, len(data) - reader.at
