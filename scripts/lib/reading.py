#!/usr/bin/env python3
"""What readers of a group read, held against the offsets that were restored: nothing may be read twice but what must be.

    reading.py BEFORE.json LOG...

BEFORE.json is `muster offsets list --json` as of just before the reset, a LOG what rdkafka_consumer wrote with reads=true. Of each partition: the lives of its readers
in order of time ("begins" opens one) are told apart into before the reset, after it (from 0 on) and after the restoration. What must be read twice is what was read
before a life ended and not committed, a few records at each of its borders, and what the reset made them read again. Says what it found; exit code 1: something else.
"""
import json
import sys
from collections import defaultdict

UNCOMMITTED = 25  # records of a partition that a reader may have been ahead of its last commit by: one is read every 100 ms, and a fence is noticed with a heartbeat


def lives(logs):
    """{partition: [[begin, end), ...]} in order of time."""
    events = []
    for log in logs:
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) == 4 and words[1] in ("begins", "read"):
                    events.append((float(words[0]), words[1], words[2], int(words[3])))
    found = defaultdict(list)
    for _, what, partition, offset in sorted(events, key=lambda e: e[0]):
        if what == "begins":
            found[partition].append([offset, offset])
        elif found[partition]:
            found[partition][-1][1] = offset + 1
    return found


def committed(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return {f"{o['topic']}[{o['partition']}]": o["currentOffset"] for o in document["groups"][0]["offsets"] if o["topic"] == "orders"}


def look_at(partition, all_lives, restored, problems):
    resets = [i for i, life in enumerate(all_lives) if i > 0 and life[0] == 0 and all_lives[i - 1][1] > 0]
    last = all_lives[-1]
    if not resets:
        problems.append(f"{partition}: no life began at 0 after the reset: {all_lives}")
        return None
    before = all_lives[:resets[0]]
    ahead = before[-1][1] - restored
    if not 0 <= ahead <= UNCOMMITTED:
        problems.append(f"{partition}: read up to {before[-1][1]}, and the offset before the reset is said to be {restored}")
    for one, other in zip(before, before[1:]):
        if not one[1] - UNCOMMITTED <= other[0] <= one[1]:
            problems.append(f"{partition}: a life that ended at {one[1]} was followed by one from {other[0]}")
    if last[0] != restored:
        problems.append(f"{partition}: after the restoration it was read from {last[0]}, not from {restored}")
    careless = sum(life[1] - life[0] for life in all_lives[resets[0]:-1])
    return careless, ahead


def main():
    before, *logs = sys.argv[1:]
    offsets, found, problems = committed(before), lives(logs), []
    if len(offsets) != 6 or set(offsets) - set(found):
        sys.exit(f"there are offsets of {sorted(offsets)} and readings of {sorted(found)}")
    careless = ahead = 0
    for partition, restored in sorted(offsets.items()):
        counted = look_at(partition, found[partition], restored, problems)
        if counted is not None:
            careless, ahead = careless + counted[0], ahead + counted[1]
    for problem in problems:
        print(problem)
    print(f"Read again: {careless} records because of the careless reset, and {ahead} that had been read and not committed when it came. Nothing else:")
    print("after the restoration each of the six partitions was read from where the group had been.")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
