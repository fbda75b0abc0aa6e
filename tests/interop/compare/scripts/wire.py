"""Garbage on the port (KAFKA-4090): the connection is closed, the server lives on."""
import struct

from lib.registry import script

HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(range(154))


def header(key, version, correlation=7, client=b"c"):
    return struct.pack(">hhih", key, version, correlation, len(client)) + client


def framed(body):
    return struct.pack(">i", len(body)) + body


@script("wire.garbage")
def garbage(t):
    """Bytes that are no request: each closes its connection at once, and a good request is answered after all."""
    cases = [
        ("HTTP request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        ("TLS client hello", HELLO),
        ("frame of size -1", struct.pack(">i", -1)),
        ("frame of size 200 MiB", struct.pack(">i", 200 << 20) + b"x" * 100),
        ("unknown key 999", framed(header(999, 0))),
        ("negative key", framed(header(-1, 0))),
        ("Heartbeat v99", framed(header(12, 99) + b"\x00" * 20)),
        ("Heartbeat v-1", framed(header(12, -1) + b"\x00" * 20)),
        ("OffsetCommit v1, no longer there", framed(header(8, 1) + b"\x00" * 20)),
        ("OffsetFetch v11, not yet there", framed(header(9, 11) + b"\x00" * 20)),
        ("truncated Heartbeat v0", framed(header(12, 0) + b"\x00\x05ab")),
        ("Heartbeat v0 with a negative string length", framed(header(12, 0) + struct.pack(">h", -2) + b"\x00" * 10)),
        ("Heartbeat v0 with a null group id", framed(header(12, 0) + struct.pack(">hih", -1, 1, 0))),
        ("OffsetCommit v2 with 2147483647 topics",
         framed(header(8, 2) + struct.pack(">h", 1) + b"g" + struct.pack(">ihqi", -1, 0, -1, 2147483647))),
        ("Metadata v0 with -5 topics", framed(header(3, 0) + struct.pack(">i", -5))),
        ("a header that ends early", framed(b"\x00\x0c\x00")),
        ("a client id longer than the frame", framed(struct.pack(">hhih", 12, 0, 1, 500) + b"abc")),
        ("v4 Heartbeat with a varint that never ends", framed(header(12, 4) + b"\x00" + b"\xff" * 12)),
    ]
    for title, data in cases:
        conn = t.conn("X")
        conn.expect_close(conn.raw(data, title), 5)
    t.say("others are not disturbed")
    t.conn("Y").ask("Metadata", 1, Topics=[])


@script("wire.tolerated")
def tolerated(t):
    """Oddities that Kafka takes: bytes after a valid body, unknown tagged fields, a null client id; an empty frame it
    does not."""
    group = t.group("odd")
    a = t.conn("A", group)
    body = struct.pack(">h", len(group)) + group.encode() + struct.pack(">ih", 1, 1) + b"m"
    t.say("trailing bytes")
    a.send("Heartbeat", 0, body=body + b"trailing").wait()
    t.say("an unknown tagged field in header and body")
    flexible = bytes([len(group) + 1]) + group.encode() + struct.pack(">i", 1) + b"\x02m\x00" + b"\x01\x63\x03abc"
    a.send("Heartbeat", 4, body=flexible, tags=b"\x01\x63\x02xy").wait()
    t.say("a null client id")
    a.client_id = None
    t.beat(a, group, 1, "m")
    t.say("an empty frame")
    z = t.conn("Z")
    z.expect_close(z.raw(struct.pack(">i", 0), "frame of size 0"), 2)
