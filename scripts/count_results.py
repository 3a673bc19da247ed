#!/usr/bin/python3
"""Adds up JUnit files and prints one closing line: "N passed, N failed".

count_results.py FILE...: names each failed test on a line of its own first. With CI=true a skipped
test counts as failed. Exit code 1 when anything failed or nothing ran.
"""
import os
import sys
import xml.etree.ElementTree as tree


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main(files):
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for file in files:
        try:
            cases = list(tree.parse(file).iter("testcase"))
        except (OSError, tree.ParseError) as error:
            print(f"failed: {file}: no results ({error})")
            count["failed"] += 1
            continue
        for case in cases:
            result = outcome(case)
            if result == "skipped" and os.environ.get("CI") == "true":
                result = "failed"
            count[result] += 1
            if result != "passed":
                print(f"{result}: {case.get('classname', '')} {case.get('name', '')}".rstrip())
    if count["skipped"]:
        print(f"skipped on this machine: {count['skipped']}")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 0 if count["failed"] == 0 and count["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
