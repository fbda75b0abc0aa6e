#!/usr/bin/env python3
"""Merges results files of scripts/sim --resume: by build, how many seeds were run, how many passed, which failed, and at which commits. A build is named
after what the simulator is made of: what was run at several commits counts as one when none of them changed any of that.

    sim_results.py FILE...

The exit status is 1 when a seed failed, or came out differently in two runs of one build.
"""

import sys


def read(files):
    """{build: {seed: (verdict, hash)}}, {build: {commit: None}}, and what contradicts itself. A line without an end is that of a process that was killed."""
    builds, commits, odd = {}, {}, []
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                words = line.split()
                if len(words) < 4 or not line.endswith("\n") or len(words[3]) != 16:
                    continue
                build, seed, found = words[0], int(words[1]), (words[2], words[3])
                at = commits.setdefault(build, {})
                at.update((word.removeprefix("commit="), None) for word in words[4:] if word.startswith("commit="))
                known = builds.setdefault(build, {}).setdefault(seed, found)
                if known != found:
                    odd.append(f"{build}: seed {seed} is {' '.join(known)} and {' '.join(found)}")
    return builds, commits, odd


def main(files):
    if not files:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    builds, commits, odd = read(files)
    failed_at_all = False
    for build, seeds in builds.items():
        failed = sorted(seed for seed, found in seeds.items() if found[0] != "ok")
        failed_at_all |= bool(failed)
        names = ": " + " ".join(map(str, failed)) if failed else ""
        at = "; run at " + " ".join(commits[build]) if commits[build] else ""
        print(f"{build}: {len(seeds)} seeds ({min(seeds)} to {max(seeds)}), {len(seeds) - len(failed)} passed, {len(failed)} failed{names}{at}")
    for line in odd:
        print(line)
    return 1 if failed_at_all or odd else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
