#!/usr/bin/env python3
"""The table of a file that tests/bench/run wrote: medians over the rounds, with the spread, and ratios.

    report.py FILE
"""
import json
import statistics
import sys

SYSTEMS = ("echo", "echo-3", "kafka", "kafka-fsync", "muster-no-history", "muster")
GENERATOR_SHARE = 0.6  # of the machine: above it a rate says how fast the generator is


class Cell:
    """One system under one load, over all rounds."""

    def __init__(self, rows):
        self.results = [row["result"] for row in rows]
        self.rates = [r["per_s"] for r in self.results]
        self.cpu = [r["server_cpu_ms_per_1000"] for r in self.results]
        self.p50 = statistics.median(r["latency_ms"]["p50"] for r in self.results)
        self.p99 = statistics.median(r["latency_ms"]["p99"] for r in self.results)
        self.void = any(r["client_cpu_s"] > GENERATOR_SHARE * row["cpus"] * r["seconds"] for r, row in zip(self.results, rows))
        self.failed = sum(sum(r["errors"].values()) + r["broken_conns"] for r in self.results)
        self.rate = statistics.median(self.rates)
        self.cpu_median = statistics.median(self.cpu)


def span(values, digits):
    return f"{min(values):,.{digits}f} to {max(values):,.{digits}f}"


def table(load, cells):
    verb, *pinned, in_flight = load.split("-")
    print(f"\n### {verb}s, 64 connections x {in_flight} in flight{', each with the groups of one node' if pinned else ''}\n")
    print("| system | rate a second (spread) | p50 ms | p99 ms | CPU ms per 1,000 (spread) | errors |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in SYSTEMS:
        if name in cells:
            c = cells[name]
            print(f"| {name} | {c.rate:,.0f} ({span(c.rates, 0)}){' void' if c.void else ''} | {c.p50:.2f} | {c.p99:.2f} "
                  f"| {c.cpu_median:.2f} ({span(c.cpu, 2)}) | {c.failed} |")


def ratios(load, cells):
    muster = cells.get("muster")
    if muster is None:
        return
    for name in SYSTEMS[:-1]:
        other = cells.get(name)
        if other is None:
            continue
        rate = f"rate {muster.rate / other.rate:.2f} times" + (" (void)" if muster.void or other.void else "")
        cpu = f"CPU {muster.cpu_median / other.cpu_median:.2f} times" if other.cpu_median else "CPU not measurable"
        print(f"\nmuster to {name}: {rate}, {cpu} that of {name}")


def phases(load, rows):
    """Of a rebalance: how long until all are settled, and what it took."""
    paced = "when asked to" if load.startswith("paced") else "every 250 ms"
    print(f"\n### rebalance, {load.split('-')[1]} members, heartbeats {paced}\n")
    print("| system | phase | ms (spread) | requests | CPU ms (spread) |")
    print("| --- | --- | ---: | ---: | ---: |")
    medians = {}
    for name in SYSTEMS:
        results = [row["result"] for row in rows if row["system"] == name]
        for phase in ("join", "add_one", "leave_one"):
            some = [r[phase] for r in results if phase in r]
            if some:
                ms, cpu = [p["ms"] for p in some], [sum(p["server_cpu_s"]) * 1000 for p in some]
                medians[name, phase] = statistics.median(ms)
                print(f"| {name} | {phase} | {medians[name, phase]:,.0f} ({span(ms, 0)}) | {statistics.median(p['requests'] for p in some):,.0f} "
                      f"| {statistics.median(cpu):,.0f} ({span(cpu, 0)}) |")
    for (name, phase), ms in medians.items():
        if name != "muster" and ("muster", phase) in medians:
            print(f"\n{phase}: muster settles in {medians['muster', phase] / ms:.2f} times the time of {name}")


def storm(load, rows):
    """Of many groups that form at once: when the middle one, the 99th of 100 and the last were settled, and what it took."""
    print(f"\n### {load.split('-')[1]} groups of 10 form at once\n")
    print("| system | p50 ms | p99 ms | max ms (spread) | requests | CPU ms (spread) |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in SYSTEMS:
        results = [row["result"] for row in rows if row["system"] == name]
        if results:
            last, cpu = [r["group_stable_ms"]["max"] for r in results], [sum(r["server_cpu_s"]) * 1000 for r in results]
            print(f"| {name} | {statistics.median(r['group_stable_ms']['p50'] for r in results):,.0f} "
                  f"| {statistics.median(r['group_stable_ms']['p99'] for r in results):,.0f} | {statistics.median(last):,.0f} ({span(last, 0)}) "
                  f"| {statistics.median(r['requests'] for r in results):,.0f} | {statistics.median(cpu):,.0f} ({span(cpu, 0)}) |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        sys.exit("report: nothing was measured")
    print(f"{max(row['round'] for row in rows)} rounds, {rows[0].get('kind', 'classic')} members, {rows[0]['cpus']} processors; medians")
    for load in dict.fromkeys(row["load"] for row in rows):
        other = {"rebalance": phases, "paced": phases, "storm": storm}.get(load.split("-")[0])
        if other is not None:
            other(load, [row for row in rows if row["load"] == load])
            continue
        cells = {name: Cell(some) for name in SYSTEMS
                 if (some := [row for row in rows if row["load"] == load and row["system"] == name])}
        table(load, cells)
        ratios(load, cells)


main()
