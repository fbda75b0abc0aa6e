#!/usr/bin/env python3
"""The table of the lines `SYSTEM PHASE MILLISECONDS` that tests/bench/settle/run collects.

    report.py FILE
"""
import statistics
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    times = {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for system, phase, milliseconds in map(str.split, lines):
            times.setdefault((phase, system), []).append(float(milliseconds))
    print("| phase | system | median ms | lowest to highest | rounds |")
    print("| --- | --- | ---: | ---: | ---: |")
    for (phase, system), some in sorted(times.items()):
        print(f"| {phase} | {system} | {statistics.median(some):,.0f} | {min(some):,.0f} to {max(some):,.0f} | {len(some)} |")
    for phase in ("join", "leave"):
        both = [times.get((phase, system)) for system in ("muster", "kafka")]
        if all(both):
            print(f"\n{phase}: muster settles in {statistics.median(both[0]) / statistics.median(both[1]):.2f} times the time of Kafka")


main()
