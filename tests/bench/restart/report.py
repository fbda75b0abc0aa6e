#!/usr/bin/env python3
"""The table of the lines `SYSTEM JSON` that tests/bench/restart/run collects, JSON being what `gcload ready` says.

    report.py FILE
"""
import json
import statistics
import sys

FIGURES = (("first_s", "first answer, s"), ("all_s", "full service, s"), ("memory", "memory of the largest node, MiB"), ("cpu", "processor time of all nodes, s"))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    found = {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            system, text = line.split(" ", 1)
            values = json.loads(text)
            if values["offsets_missing"]:
                sys.exit(f"{system}: {values['offsets_missing']} offsets are missing after the restart")
            values["memory"], values["cpu"] = max(values["server_rss_mib"]), sum(values["server_cpu_s"])
            found.setdefault(system, []).append(values)
    print("| | " + " | ".join(found) + " |")
    print("| --- |" + " ---: |" * len(found))
    for key, name in FIGURES:
        cells = [f"{statistics.median(v[key] for v in rounds):,.2f}" for rounds in found.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if {"kafka", "muster"} <= set(found):
        for key, name in FIGURES:
            ours, theirs = (statistics.median(v[key] for v in found[system]) for system in ("muster", "kafka"))
            print(f"\n{name}: muster has {ours / theirs:.3f} times Kafka's")


main()
