#!/usr/bin/env python3
"""gen.py refuses bad schemas with file, line and reason: gen_test.py path/to/gen.py"""

import os
import subprocess
import sys
import tempfile
import unittest

GEN = os.path.abspath(sys.argv.pop(1))
HEAD = "request Ping  key 7  versions 0-3  flexible 2+\n"
TAIL = "\nresponse Ping\n  ErrorCode  int16  0+\n"


def run(schema, *options):
    """Exit status, output and errors of gen.py for one schema file, whose name is replaced by `x.msg`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.msg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(schema)
        done = subprocess.run([sys.executable, GEN, *(options or ["--check"]), path], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr.replace(path, "x.msg")


class Refusals(unittest.TestCase):
    def refused(self, schema, line, *words):
        status, _, errors = run(schema)
        self.assertEqual(status, 1, f"accepted: {schema}")
        self.assertTrue(errors.startswith(f"gen.py: x.msg:{line}: "), errors)
        for word in words:
            self.assertIn(word, errors)

    def field(self, line, *words):
        self.refused(HEAD + line + TAIL, 2, *words)

    def test_heads(self):
        self.refused("reqest Ping  key 7  versions 0-3  flexible 2+\n", 1, "reqest")
        self.refused("request Ping  key 7  versions 0-3\n", 1, "flexible")
        self.refused("request Ping  key x  versions 0-3  flexible 2+\n", 1, "'x'")
        self.refused("request Ping  key 7  versions 0+  flexible 2+\n", 1, "highest version")
        self.refused("request Ping  key 7  versions 3-1  flexible 2+\n", 1, "3-1")
        self.refused("request ping  key 7  versions 0-3  flexible 2+\n", 1, "'ping'")
        self.refused("response Ping\n", 1, "must follow request Ping")
        self.refused(HEAD + TAIL.replace("Ping", "Pong"), 3, "must follow request Pong")
        self.refused(HEAD, 1, "no response")
        self.refused("  GroupId  string  0+\n", 1, "before any")

    def test_numbers_and_names_are_unique(self):
        other = HEAD.replace("Ping", "Pong") + TAIL.replace("Ping", "Pong")
        self.refused(HEAD + TAIL + other, 5, "7", "x.msg:1")
        self.refused(HEAD + "  A  int8  0+\n  A  int8  0+" + TAIL, 3, "exists already")
        self.refused(HEAD + "  A  []PingX  0+\n    Q  int8  0+\n  B  []X  0+\n    Q  int8  0+" + TAIL, 4, "C name", "x.msg:2")

    def test_lines(self):
        self.field("  GroupId  string", "expected: Name")
        self.field("  Group-Id  string  0+", "Group-Id")
        self.field("  GroupId  string  0..1", "0..1")
        self.field("  GroupId  string  0+  tagged 1", "tagged 1")
        self.field("   GroupId  string  0+", "indentation")
        self.field("    GroupId  string  0+", "no structure")
        self.refused(HEAD + "  A  int8  0+\n    B  int8  0+" + TAIL, 3, "no structure")
        self.refused(HEAD + "  A  []X  0+\n      B  int8  0+" + TAIL, 3, "no structure")
        self.field("  key GroupId  string  0+", "only a record")

    def test_types(self):
        self.field("  A  text  0+", "no type text")
        self.field("  A  []bool  0+", "arrays of bool")
        self.field("  A  int32?  0+", "cannot be null")
        self.field("  Default  int32  0+", "word of C")
        self.refused(HEAD + "  A  int8  0+\n  struct X\n    B  int8  0+" + TAIL, 3, "no field uses")
        self.refused(HEAD + "  A  X  0+\n  struct X\n    B  []X  0+" + TAIL, 3, "contains itself")
        self.refused(HEAD + "  A  X?  0+\n  struct X\n    B  int8  0+" + TAIL, 2, "= null")

    def test_tags(self):
        self.field("  A  int8  0+  tag 0", "not flexible")
        self.field("  A  int8  0+  tag 0 1+", "not flexible")
        self.refused(HEAD + "  A  int8  2+  tag 1\n  B  int8  2+  tag 0" + TAIL, 1, "ascend")
        self.refused(HEAD + "  A  int8  2+  tag 1\n  B  int8  2+  tag 1" + TAIL, 1, "ascend")

    def test_defaults(self):
        self.field("  A  int8  0+  = 128", "128 is not an int8")
        self.field("  A  int8  0+  = x", "x is not an int8")
        self.field("  A  bool  0+  = 1", "true nor false")
        self.field("  A  string  0+  = x", "quotes")
        self.field("  A  string  0+  = null", "cannot be null")
        self.field("  A  bytes  0+  = 1", "only default")

    def test_missing_file(self):
        done = subprocess.run([sys.executable, GEN, "--check", "no/such.msg"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no/such.msg", done.stderr)


class Output(unittest.TestCase):
    def test_good_schema(self):
        schema = HEAD + '  A  string?1+  0+  = "x#y"   # a comment\n  B  []X  2+  tag 4  \n    C  int64  2+  = -9223372036854775808' + TAIL
        status, _, errors = run(schema)
        self.assertEqual((status, errors), (0, ""))
        status, page, _ = run(schema, "--doc")
        self.assertEqual(status, 0)
        self.assertIn('| A | string? (1+) | 0+ | default "x#y" |', page)
        self.assertIn("| &nbsp;&nbsp;C | int64 | 2+ | default -9223372036854775808 |", page)
        self.assertIn("request 7, versions 0-3, flexible from 2", page)


if __name__ == "__main__":
    unittest.main()
