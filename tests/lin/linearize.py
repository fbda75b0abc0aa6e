#!/usr/bin/env python3
"""Verifies that histories of committed offsets are linearizable.

    linearize.py FILE...

A history is one JSON object a line:

    {"register": "seed-3/group-5/0", "op": "write", "value": 7, "invoke": 1200, "return": 1900, "outcome": "ok", "node": 2}

register  what is written and read: one partition of one group; each stands for itself
op        write (a commit) or read (a fetch)
value     the offset; of a read that found none, -1
invoke    when the request left, return when the answer came, both by one clock, in any unit; return null: no answer came
outcome   ok; unknown: a write that was not answered, or not with success: it may take effect at any time after invoke, or never
node      who was asked; for people

The algorithm is Wing and Gong's search with Lowe's memory of visited states. It knows nothing of the simulator's own checks and shares no code with them.
The last line is `N registers, M operations, K not linearizable`; the exit status is 1 when K is not 0, 2 when a file is no history.
"""

import json
import sys

NOTHING = -1  # what a register holds before its first write
NEVER = float("inf")


class Op:
    """One operation. A write of unknown outcome returns NEVER."""

    __slots__ = ("write", "value", "invoke", "ret", "line")

    def __init__(self, write, value, invoke, ret, line=""):
        self.write, self.value, self.invoke, self.ret, self.line = write, value, invoke, ret, line


class NotAHistory(Exception):
    pass


def parse(line, where):
    """The register's name and the operation, or None for one that says nothing (a read without an answer)."""
    try:
        raw = json.loads(line)
        name, op, outcome = raw["register"], raw["op"], raw["outcome"]
        value, invoke, ret = raw["value"], raw["invoke"], raw["return"]
    except (ValueError, KeyError, TypeError) as e:
        raise NotAHistory(f"{where}: {e}") from e
    if op not in ("write", "read") or outcome not in ("ok", "unknown") or (outcome == "ok" and ret is None):
        raise NotAHistory(f"{where}: op {op}, outcome {outcome}, return {ret}")
    if outcome == "ok" and ret < invoke:
        raise NotAHistory(f"{where}: it returns before it is invoked")
    if outcome == "unknown":
        return None if op == "read" else (name, Op(True, value, invoke, NEVER, line.strip()))
    return name, Op(op == "write", value, invoke, ret, line.strip())


def useful(ops):
    """Without writes of unknown outcome that nobody has read: they fit behind everything, so they decide nothing."""
    read = {o.value for o in ops if not o.write}
    return [o for o in ops if not o.write or o.ret != NEVER or o.value in read]


def first_bad(ops):
    """None when some order explains the operations; else the operation that no order got past, the furthest that was reached.

    The search goes through the sorted list of invocations and returns: an operation that is invoked before the first pending return may be next. Whoever
    meets a return whose operation has not been placed goes back. State: the set of those placed (bits), and the register's value.
    """
    ops = useful(ops)
    events = sorted([(o.invoke, 0, i) for i, o in enumerate(ops)] + [(o.ret, 1, i) for i, o in enumerate(ops) if o.ret != NEVER])
    must = sum(1 << i for i, o in enumerate(ops) if o.ret != NEVER)
    after, before = list(range(1, len(events) + 1)) + [0], [len(events)] + list(range(len(events)))
    end = len(events)  # a ring of events with this as its head, so that taking out and putting back cost nothing
    after[end], before[0] = (0 if events else end), end
    before[end] = len(events) - 1 if events else end
    place_of = {(kind, i): at for at, (_, kind, i) in enumerate(events)}

    def lift(at):
        after[before[at]], before[after[at]] = after[at], before[at]

    def drop(at):
        after[before[at]], before[after[at]] = at, at

    placed, value, stack, seen = 0, NOTHING, [], {(0, NOTHING)}
    furthest = 0
    worst = None
    at = after[end]
    while placed & must != must:
        blocked = at == end or events[at][1] == 1
        if not blocked:
            i = events[at][2]
            op = ops[i]
            then = op.value if op.write else value
            state = (placed | 1 << i, then)
            if (op.write or op.value == value) and state not in seen:
                seen.add(state)
                stack.append((at, value))
                placed, value = state
                lift(at)
                if op.ret != NEVER:
                    lift(place_of[(1, i)])
                at = after[end]
            else:
                at = after[at]
            continue
        if at != end and len(stack) >= furthest:
            furthest, worst = len(stack), ops[events[at][2]]
        if not stack:
            return worst
        at, value = stack.pop()
        i = events[at][2]
        placed &= ~(1 << i)
        if ops[i].ret != NEVER:
            drop(place_of[(1, i)])
        drop(at)
        at = after[at]
    return None


def read_files(files):
    registers = {}
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    parsed = parse(line, f"{file}:{number}")
                    if parsed is not None:
                        registers.setdefault(parsed[0], []).append(parsed[1])
    return registers


def main(files):
    if not files or files[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if files else 2
    try:
        registers = read_files(files)
    except (NotAHistory, OSError) as e:
        print(f"linearize: {e}", file=sys.stderr)
        return 2
    bad = 0
    for name, ops in registers.items():
        culprit = first_bad(ops)
        if culprit is not None:
            bad += 1
            print(f"{name}: not linearizable: no order of its {len(ops)} operations gets past {culprit.line}")
    print(f"{len(registers)} registers, {sum(map(len, registers.values()))} operations, {bad} not linearizable")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
