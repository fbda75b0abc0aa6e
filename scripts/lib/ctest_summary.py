"""Reads a JUnit file that ctest wrote, prints what failed, and appends "passed failed" to a totals file.

cmocka programs say how many of their tests passed and failed; those numbers count. Any other program counts as one test, and so does one whose
test is passed when it fails (a planted fault that must be found). A program that ctest calls failed counts at least one failure even when its
own words say otherwise (a crash, a leak, a timeout)."""

import re
import sys
import xml.etree.ElementTree as xml


def counts(case):
    text = (case.findtext("system-out") or "").replace("\x1b", "")
    passed = sum(int(n) for n in re.findall(r"\[  PASSED  \] (\d+) test\(s\)\.", text))
    failed = sum(int(n) for n in re.findall(r"\[  FAILED  \] (\d+) test\(s\)", text))
    ok = case.get("status") == "run"
    if ok and (passed == 0 or failed > 0):  # not of cmocka, or its failure is what was asked for
        return 1, 0
    if not ok and failed == 0:
        return passed, 1
    return passed, failed


def main():
    junit, totals, suite = sys.argv[1:4]
    passed = failed = 0
    for case in xml.parse(junit).getroot().iter("testcase"):
        good, bad = counts(case)
        passed, failed = passed + good, failed + bad
        if bad:
            print(f"FAILED {case.get('name')}")
    print(f"{suite}: {passed} passed, {failed} failed")
    with open(totals, "a", encoding="ascii") as out:
        out.write(f"{passed} {failed}\n")


main()
