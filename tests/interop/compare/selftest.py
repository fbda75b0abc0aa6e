#!/usr/bin/env python3
"""The comparator's own tests: a comparison that finds nothing must be able to find something.

    selftest.py
"""
import random
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from lib import codec, consumer, registry, schema, streams, transcript  # noqa: E402
from lib.canon import Canon  # noqa: E402
from lib.consumer_life import ConsumerLife  # noqa: E402
from lib.life import Differs  # noqa: E402
from lib.schema import has  # noqa: E402

SCHEMAS = schema.load_msg(HERE.parents[2] / "src/wire")
GOLDEN = sorted((HERE / "golden").glob("*.txt"))
LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


def random_scalar(rng, field):
    kind = field.kind
    if kind in LIMITS:
        return rng.randint(-(1 << LIMITS[kind]), (1 << LIMITS[kind]) - 1)
    if kind == "uint16":
        return rng.randint(0, 65535)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "uuid":
        return rng.randbytes(16).hex()
    if kind == "string":
        return "".join(rng.choice("ab\u00e9\u4e16") for _ in range(rng.randint(0, 200)))
    return rng.randbytes(rng.randint(0, 300))


def random_value(rng, field, version):
    if has(field.nullable, version) and rng.random() < 0.2:
        return None
    if field.array:
        count = rng.randint(0, 3)
        return [random_fields(rng, field.fields, version) if field.kind == "struct" else random_scalar(rng, field)
                for _ in range(count)]
    if field.kind == "struct":
        return random_fields(rng, field.fields, version)
    return random_scalar(rng, field)


def random_fields(rng, fields, version):
    """A tagged field of its default is not sent and not read back."""
    values = {f.name: random_value(rng, f, version) for f in fields if has(f.versions, version)}
    return {f.name: values[f.name] for f in fields
            if f.name in values and not (has(f.tagged, version) and values[f.name] == f.default)}


class Codec(unittest.TestCase):
    def test_every_message_comes_back(self):
        rng = random.Random(1)
        for message in SCHEMAS.values():
            if message.kind not in ("request", "response"):
                continue
            for version in range(message.versions[0], message.versions[1] + 1):
                for _ in range(5):
                    values = random_fields(rng, message.fields, version)
                    data = codec.encode(message, version, values)
                    decoded, left = codec.decode(message, version, data)
                    self.assertEqual(left, 0)
                    for name, value in values.items():
                        field = next(f for f in message.fields if f.name == name)
                        self.assertEqual(decoded.get(name, field.default), value, f"{message.name} v{version} {name}")

    def test_every_cut_is_refused(self):
        message = SCHEMAS["JoinGroupResponse"]
        values = {"ErrorCode": 0, "Leader": "l", "MemberId": "m", "Members": [{"MemberId": "m", "Metadata": b"x"}]}
        data = codec.encode(message, 9, values)
        for length in range(len(data)):
            with self.assertRaises(codec.DecodeError):
                codec.decode(message, 9, data[:length])


class Comparison(unittest.TestCase):
    def test_there_is_a_transcript_of_each_script(self):
        import compare_scripts
        compare_scripts.load()
        self.assertEqual(sorted(p.stem for p in GOLDEN), sorted(registry.SCRIPTS))

    def test_a_transcript_equals_itself(self):
        for path in GOLDEN:
            rows = transcript.read(path)
            self.assertTrue(rows, path)
            self.assertEqual(transcript.compare("x", rows, transcript.read(path)), [])

    def test_every_changed_field_is_found(self):
        rng = random.Random(2)
        for path in GOLDEN:
            rows = transcript.read(path)
            row = rng.choice([r for r in rows if r.lines])
            at = rng.randrange(len(row.lines))
            row.lines[at] = (row.lines[at][0], row.lines[at][1] + "?")
            self.assertEqual(len(transcript.compare("x", transcript.read(path), rows)), 1, path)

    def test_missing_and_new_fields_steps_and_order(self):
        path = HERE / "golden/classic.two-members.txt"
        for change, expected in (
                (lambda rows: rows[1].lines.pop(), 1),
                (lambda rows: rows[1].lines.append(("New", "1")), 1),
                (lambda rows: rows[1].lines.reverse(), 1),
                (lambda rows: rows.pop(), 1),
                (lambda rows: setattr(rows[3], "title", "A Heartbeat v0"), 1)):
            rows = transcript.read(path)
            change(rows)
            self.assertEqual(len(transcript.compare("x", transcript.read(path), rows)), expected)

    def test_the_list_covers_what_it_says_and_no_more(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# comment\nclassic.*:* A * | Members[*].X | 1 * | * | KAFKA-1\n")
            file.flush()
            entry = transcript.read_list(file.name)[0]
        make = transcript.Difference
        self.assertTrue(entry.covers(make("classic.a:3 A JoinGroup v9", "Members[0].X", "1 A", "2")))
        self.assertFalse(entry.covers(make("classic.a:3 B JoinGroup v9", "Members[0].X", "1 A", "2")))
        self.assertFalse(entry.covers(make("classic.a:3 A JoinGroup v9", "Members0.X", "1 A", "2")))
        self.assertFalse(entry.covers(make("classic.a:3 A JoinGroup v9", "Members[0].X", "2 A", "2")))

    def test_an_entry_without_a_reason_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("a | b | c | d\n")
            file.flush()
            with self.assertRaises(ValueError):
                transcript.read_list(file.name)


class Canonical(unittest.TestCase):
    MEMBER = "c-0b0f6a2e-9c4e-4b7e-8f57-0a4f6f0d2c11"
    OTHER = "c-1b0f6a2e-9c4e-4b7e-8f57-0a4f6f0d2c11"

    def test_only_what_is_drawn_is_replaced(self):
        canon = Canon("z12-")
        lines = canon.lines("JoinGroup", {
            "ErrorCode": 79, "MemberId": self.MEMBER, "Leader": self.OTHER, "NodeId": 3, "Port": 9092, "Host": "h",
            "ClusterId": "x", "GenerationId": 4, "GroupId": "z12-g", "ThrottleTimeMs": 0})
        self.assertEqual(dict(lines), {
            "ErrorCode": "79 MEMBER_ID_REQUIRED", "MemberId": '"c-<uuid 1>"', "Leader": '"c-<uuid 2>"', "NodeId": "<node>",
            "Port": "<port>", "Host": "<host>", "ClusterId": "<cluster>", "GenerationId": "4", "GroupId": '"g"',
            "ThrottleTimeMs": "0"})

    def test_another_form_of_member_id_shows(self):
        lines = dict(Canon("z-").lines("JoinGroup", {"MemberId": self.MEMBER.upper()}))
        self.assertEqual(lines["MemberId"], f'"{self.MEMBER.upper()}"')

    def test_a_group_listed_twice_shows(self):
        group = {"GroupId": "g", "ProtocolType": ""}
        once = Canon("z-").lines("ListGroups", {"Groups": [group]})
        twice = Canon("z-").lines("ListGroups", {"Groups": [group, dict(group)]})
        self.assertNotEqual(once, twice)


class Streams(unittest.TestCase):
    @staticmethod
    def member(name, process, active, standby=()):
        lists = {"ActiveTasks": [{"SubtopologyId": "0", "Partitions": list(active)}],
                 "StandbyTasks": [{"SubtopologyId": "0", "Partitions": list(standby)}], "WarmupTasks": []}
        return {"MemberId": name, "ProcessId": process, "UserEndpoint": None, "TaskOffsets": [], "TaskEndOffsets": [],
                "Assignment": lists, "TargetAssignment": lists}

    def group(self, *members):
        return dict(Canon("z-").lines("StreamsGroupDescribe", streams.normal(
            "StreamsGroupDescribe", {"Groups": [{"GroupId": "g", "Members": list(members)}]})))

    def test_tasks_are_counted_and_null_is_not_none(self):
        lists = {"ActiveTasks": [{"SubtopologyId": "1", "Partitions": [4]}, {"SubtopologyId": "0", "Partitions": [1, 2]}]}
        self.assertEqual(streams.normal("StreamsGroupHeartbeat", lists)["ActiveTasks"], "0 x2, 1 x1")
        self.assertEqual(streams.normal("StreamsGroupHeartbeat", {"ActiveTasks": []})["ActiveTasks"], "none")
        self.assertIsNone(streams.normal("StreamsGroupHeartbeat", {"ActiveTasks": None})["ActiveTasks"])

    def test_members_in_any_order_are_the_same_and_which_task_does_not_count(self):
        a, b = self.member("a", "p", [0, 1]), self.member("b", "q", [2, 3])
        c, d = self.member("a", "p", [0, 3]), self.member("b", "q", [1, 2])
        self.assertEqual(self.group(a, b), self.group(d, c))

    def test_what_must_never_be_shows(self):
        fine = self.group(self.member("a", "p", [0, 1], [2]), self.member("b", "q", [2, 3], [0]))
        twice = self.group(self.member("a", "p", [0, 1], [2]), self.member("b", "q", [1, 2], [0]))
        beside = self.group(self.member("a", "p", [0, 1], [1]), self.member("b", "q", [2, 3], [0]))
        self.assertNotEqual(fine, twice)
        self.assertNotEqual(fine, beside)

    def test_texts_about_missing_topics_are_sorted(self):
        text = streams.status_text
        self.assertEqual(text("Internal topics are missing: b, a"), text("Internal topics are missing: a, b"))
        self.assertEqual(text("Internal topics are missing: b, a; Creation failed: b (x, y), a (z)."),
                         "Internal topics are missing: a, b; Creation failed: a (z), b (x, y).")
        self.assertEqual(text("Internal topics are missing: c, a, b and 2 additional topics"),
                         "Internal topics are missing: <3 names> and 2 additional topics")
        self.assertEqual(text("Source topics b, a are missing."), "Source topics b, a are missing.")

    def test_partitions_by_role(self):
        canon = Canon("z-")
        canon.name_partition("z-t", 3, "of A")
        rows = {"Topics": [{"Name": "z-t", "Partitions": [{"PartitionIndex": 3, "X": 1}, {"PartitionIndex": 2, "X": 1}]}]}
        self.assertEqual([p for p, _ in canon.lines("OffsetCommit", rows)],
                         ["Topics[t].Name", "Topics[t].Partitions[<of A>].PartitionIndex", "Topics[t].Partitions[<of A>].X",
                          "Topics[t].Partitions[2].PartitionIndex", "Topics[t].Partitions[2].X"])


class Names:
    """What the normal form of consumer groups asks of a session."""

    def __init__(self, exact=False):
        self.canon = Canon("z-")
        self.exact = exact

    @staticmethod
    def topic_name(digits):
        return {"1": "in", "2": "out"}[digits]


class Consumers(unittest.TestCase):
    @staticmethod
    def topics(**lists):
        return [{"TopicId": t.lstrip("_"), "Partitions": p} for t, p in lists.items()]

    def member(self, name, **lists):
        rows = {"TopicPartitions": self.topics(**lists)}
        return {"MemberId": name, "ClientId": name, "SubscribedTopicNames": ["b", "a"], "Assignment": rows, "TargetAssignment": rows}

    def group(self, *rows):
        names = Names()
        return dict(names.canon.lines("ConsumerGroupDescribe", consumer.normal(
            names, "ConsumerGroupDescribe", {"Groups": [{"GroupId": "g", "Members": list(rows)}]})))

    def test_partitions_are_counted_or_shown(self):
        rows = {"Assignment": {"TopicPartitions": self.topics(_2=[3], _1=[2, 0, 1, 5])}}
        self.assertEqual(consumer.normal(Names(), "ConsumerGroupHeartbeat", rows)["Assignment"], "in x4, out x1")
        self.assertEqual(consumer.normal(Names(True), "ConsumerGroupHeartbeat", rows)["Assignment"], "in 0-2,5, out 3")
        self.assertEqual(consumer.normal(Names(), "ConsumerGroupHeartbeat", {"Assignment": {"TopicPartitions": []}})["Assignment"],
                         "none")
        self.assertIsNone(consumer.normal(Names(), "ConsumerGroupHeartbeat", {"Assignment": None})["Assignment"])

    def test_which_partition_does_not_count_but_a_partition_twice_shows(self):
        fine = self.group(self.member("a", _1=[0, 1]), self.member("b", _1=[2, 3]))
        self.assertEqual(fine, self.group(self.member("b", _1=[0, 3]), self.member("a", _1=[1, 2])))
        self.assertNotEqual(fine, self.group(self.member("a", _1=[0, 1]), self.member("b", _1=[1, 2])))

    def test_ids_that_servers_make_are_no_difference(self):
        found = []
        for raw in ("wnIO0KkPTMqyJxQRknSFBw", "Zg-O0KkPTMqyJxQRknS_Bw"):
            canon = Canon("z-")
            canon.learn_member_id(raw)
            found.append(canon.string(raw))
        self.assertEqual(found[0], found[1])


class FakeSide:
    """A system that gives every member of a group a fixed answer."""

    def __init__(self, name, **answer):
        self.name, self.prefix, self.acts_by_itself, self.seats = name, "z-", False, {}
        self.answer = {"ErrorCode": 0, "ErrorMessage": None, "MemberId": "m1", "MemberEpoch": 2, "HeartbeatIntervalMs": 5000,
                       "Assignment": {"TopicPartitions": [{"TopicId": "1", "Partitions": list(range(12))}]}, **answer}

    def group(self, name):
        return self.prefix + name

    def ask(self, *_):
        return self.answer


class Lives(unittest.TestCase):
    def life(self, **answer):
        life = ConsumerLife(1, [FakeSide("kafka"), FakeSide("muster", **answer)], "plain", {"big": "big", "other": "other"})
        life.names = ["big"]
        return life

    def test_the_same_answers_are_no_difference(self):
        self.life().op_join()

    def test_what_a_life_finds(self):
        less = {"TopicPartitions": [{"TopicId": "1", "Partitions": list(range(11))}]}
        for answer in ({"MemberEpoch": 3}, {"ErrorCode": 42}, {"HeartbeatIntervalMs": 4000}, {"Assignment": None},
                       {"Assignment": less}, {"ErrorMessage": "words"}):
            with self.assertRaises(Differs, msg=str(answer)):
                self.life(**answer).op_join()


if __name__ == "__main__":
    unittest.main()
