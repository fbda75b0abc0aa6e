"""Requests and answers of our own schema files, through the codec of tests/interop/compare."""
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/interop/compare"))

from lib import codec, errors, schema  # noqa: E402

SCHEMAS = schema.load_msg(ROOT / "src/wire")

NONE = 0
LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
REQUEST_TIMED_OUT = 7
NOT_CONTROLLER = 41
ILLEGAL_GENERATION = 22
UNKNOWN_MEMBER_ID = 25
REBALANCE_IN_PROGRESS = 27
GROUP_ID_NOT_FOUND = 69
MEMBER_ID_REQUIRED = 79
UNKNOWN_TOPIC_ID = 100
FENCED_MEMBER_EPOCH = 110
STALE_MEMBER_EPOCH = 113
INVALID_REGULAR_EXPRESSION = 128

# Errors that say: ask again, maybe elsewhere. Nothing was lost by them.
RETRIABLE = (LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)


def error_text(code):
    return errors.text(code)


def request_frame(api, version, correlation, fields, client_id="fault"):
    """The bytes of a request, length word included."""
    message = SCHEMAS[api + "Request"]
    client = client_id.encode()
    out = bytearray(struct.pack(">hhih", message.key, version, correlation, len(client)) + client)
    if schema.has(message.flexible, version):
        out += b"\x00"
    out += codec.encode(message, version, fields)
    return struct.pack(">i", len(out)) + bytes(out)


def answer_of(api, version, frame):
    """(correlation id, values) of an answer without its length word."""
    message = SCHEMAS[api + "Response"]
    body = frame[4:]
    if schema.has(message.flexible, version) and api != "ApiVersions":
        body = body[1:]
    values, left = codec.decode(message, version, body)
    if left:
        raise codec.DecodeError(f"{api} v{version}: {left} bytes after the answer")
    return struct.unpack(">i", frame[:4])[0], values


def commit_fields(group, offsets, generation=-1, member="", retention=None, version=8):
    """Fields of an OffsetCommit. offsets: {topic: {partition: offset or (offset, leader epoch, metadata)}}; from version 10 on topics by their ids."""
    topics = []
    for topic, partitions in offsets.items():
        rows = []
        for partition, value in partitions.items():
            offset, epoch, metadata = value if isinstance(value, tuple) else (value, -1, "")
            rows.append({"PartitionIndex": partition, "CommittedOffset": offset, "CommittedLeaderEpoch": epoch,
                         "CommittedMetadata": metadata})
        topics.append({"TopicId" if version >= 10 else "Name": topic, "Partitions": rows})
    fields = {"GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member, "Topics": topics}
    if retention is not None:
        fields["RetentionTimeMs"] = retention
    return fields


def commit_errors(values):
    return {p["ErrorCode"] for t in values["Topics"] for p in t["Partitions"]}


def fetch_fields(group, topics=None):
    """Fields of an OffsetFetch of version 8 and later. topics: {topic: [partitions]}, None: all."""
    rows = None if topics is None else [{"Name": t, "PartitionIndexes": p} for t, p in topics.items()]
    return {"Groups": [{"GroupId": group, "Topics": rows}], "RequireStable": True}


def fetched(values):
    """(error of the group, {(topic, partition): row}) of an OffsetFetch answer of version 8 and later."""
    group = values["Groups"][0]
    rows = {(t["Name"], p["PartitionIndex"]): p for t in group["Topics"] or [] for p in t["Partitions"]}
    return group["ErrorCode"], rows


def subscription(*topics):
    """A consumer's subscription (ConsumerProtocolSubscription v0) as it stands in a JoinGroup."""
    out = struct.pack(">hi", 0, len(topics))
    for topic in topics:
        out += struct.pack(">h", len(topic)) + topic.encode()
    return out + struct.pack(">i", -1)
