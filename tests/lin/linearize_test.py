#!/usr/bin/env python3
"""Tests of linearize.py: histories that some order explains, histories that none does, and random ones against trying every order."""

import contextlib
import io
import itertools
import json
import os
import random
import tempfile
import unittest

import linearize
from linearize import NEVER, NOTHING, Op, first_bad


def write(value, invoke, ret=NEVER):
    return Op(True, value, invoke, ret)


def read(value, invoke, ret):
    return Op(False, value, invoke, ret)


def by_trying_all(ops):
    """True when some order of some subset (all but unknown writes) respects time and values. For a handful of operations."""
    sure = [o for o in ops if o.ret != NEVER]
    unknown = [o for o in ops if o.ret == NEVER]
    for count in range(len(unknown) + 1):
        for some in itertools.combinations(unknown, count):
            for order in itertools.permutations(sure + list(some)):
                if explains(order):
                    return True
    return False


def explains(order):
    value = NOTHING
    for i, o in enumerate(order):
        if any(later.ret < o.invoke for later in order[i + 1 :]):
            return False
        if o.write:
            value = o.value
        elif o.value != value:
            return False
    return True


GOOD = {
    "nothing at all": [],
    "one after the other": [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)],
    "a read before all writes": [read(NOTHING, 0, 1), write(1, 2, 3)],
    "a read during a write finds the old value": [write(1, 0, 1), write(2, 2, 9), read(1, 3, 4)],
    "a read during a write finds the new value": [write(1, 0, 1), write(2, 2, 9), read(2, 3, 4)],
    "writes at once, in either order": [write(1, 0, 9), write(2, 0, 9), read(1, 10, 11)],
    "an unknown write is never seen": [write(1, 0, 1), write(2, 2), read(1, 3, 4), read(1, 5, 6)],
    "an unknown write takes effect late": [write(1, 0, 1), write(2, 2), read(1, 50, 60), read(2, 70, 80)],
    "an unknown write takes effect after a later one": [write(1, 0), write(2, 5, 6), read(2, 7, 8), read(1, 9, 10)],
    "a smaller offset is as good": [write(9, 0, 1), write(3, 2, 3), read(3, 4, 5)],
    "returns and invokes at the same moment are concurrent": [write(1, 0, 5), read(NOTHING, 5, 6)],
}
BAD = {
    "an acknowledged write is not seen": [write(1, 0, 1), read(NOTHING, 2, 3)],
    "a stale read": [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)],
    "new, then old": [write(1, 0, 1), write(2, 2, 20), read(2, 3, 4), read(1, 5, 6)],
    "what was never written": [write(1, 0, 1), read(7, 2, 3)],
    "before it was written": [read(1, 0, 1), write(1, 2, 3)],
    "before an unknown write began": [read(1, 0, 1), write(1, 2)],
    "an unknown write comes and goes": [write(1, 0, 1), write(2, 2), read(2, 3, 4), read(1, 5, 6)],
    "an unknown write twice": [write(1, 0), write(2, 2, 3), read(1, 4, 5), write(3, 6, 7), read(1, 8, 9)],
    "two readers see two orders": [write(1, 0, 9), write(2, 0, 9), read(1, 10, 11), read(2, 12, 13)],
}


class Histories(unittest.TestCase):
    def test_good(self):
        for name, ops in GOOD.items():
            with self.subTest(name):
                self.assertIsNone(first_bad(ops))
                self.assertTrue(by_trying_all(ops))

    def test_bad(self):
        for name, ops in BAD.items():
            with self.subTest(name):
                self.assertIsNotNone(first_bad(ops))
                self.assertFalse(by_trying_all(ops))

    def test_random_against_all_orders(self):
        draw = random.Random(4711)
        verdicts = {True: 0, False: 0}
        for _ in range(3000):
            ops = []
            for value in range(draw.randint(0, 3)):
                begin = draw.randint(0, 10)
                ops.append(write(value, begin, NEVER if draw.random() < 0.3 else begin + draw.randint(0, 6)))
            for _ in range(draw.randint(0, 3)):
                begin = draw.randint(0, 12)
                ops.append(read(draw.randint(-1, 2), begin, begin + draw.randint(0, 6)))
            want = by_trying_all(ops)
            verdicts[want] += 1
            self.assertEqual(first_bad(ops) is None, want, [(o.write, o.value, o.invoke, o.ret) for o in ops])
        self.assertGreater(min(verdicts.values()), 500)

    def test_thousands_take_no_time(self):
        ops = [write(i, 2 * i, 2 * i + 9) for i in range(2000)] + [read(1999, 5000, 5001)]
        self.assertIsNone(first_bad(ops))


class Files(unittest.TestCase):
    def run_on(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "history")
            with open(path, "w", encoding="utf-8") as out:
                out.writelines(line + "\n" for line in lines)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                status = linearize.main([path])
            return status, said.getvalue()

    @staticmethod
    def line(register, op, value, invoke, ret, outcome="ok"):
        return json.dumps({"register": register, "op": op, "value": value, "invoke": invoke, "return": ret, "outcome": outcome, "node": 1})

    def test_registers_are_apart(self):
        status, said = self.run_on(self.line("a", "write", 1, 0, 1), self.line("b", "read", -1, 2, 3))
        self.assertEqual((status, said), (0, "2 registers, 2 operations, 0 not linearizable\n"))

    def test_the_register_and_the_operation_are_named(self):
        status, said = self.run_on(self.line("a", "write", 1, 0, 1), self.line("a", "read", -1, 2, 3), self.line("b", "read", -1, 2, 3))
        self.assertEqual(status, 1)
        self.assertIn('a: not linearizable: no order of its 2 operations gets past {"register": "a", "op": "read"', said)

    def test_reads_without_an_answer_say_nothing(self):
        status, _ = self.run_on(self.line("a", "write", 1, 0, 1), self.line("a", "read", 0, 2, None, "unknown"))
        self.assertEqual(status, 0)

    def test_what_is_no_history_is_refused(self):
        for line in ("{", "[]", self.line("a", "erase", 1, 0, 1), self.line("a", "read", 1, 0, None), self.line("a", "read", 1, 5, 1)):
            with self.subTest(line):
                self.assertEqual(self.run_on(line)[0], 2)


if __name__ == "__main__":
    unittest.main()
