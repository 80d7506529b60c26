# SPDX-License-Identifier: MIT
"""limits.py CTEST BUILD SECONDS: every test of the build has a limit of its own, of SECONDS at most.

ctest's own is 25 minutes, in which nobody notices that a test hangs.
"""

import json
import subprocess
import sys


def findings(tests, longest):
    """Yields the tests of ctest's list without a limit, or with one beyond `longest` seconds."""
    if not tests:
        yield "ctest finds no tests"
    for test in tests:
        name = test["name"]
        # Stands for the tests of a program that was not built, and always fails.
        if name.endswith("_NOT_BUILT"):
            continue
        limits = [p["value"] for p in test.get("properties", []) if p["name"] == "TIMEOUT"]
        if not limits:
            yield f"{name}: has no time limit: write it with flowback_test or flowback_command_test"
        elif not 0 < limits[0] <= longest:
            yield f"{name}: its time limit of {limits[0]:g} s is not from 1 to {longest:g} s"


def main(ctest, build, longest):
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    found = list(findings(json.loads(listed)["tests"], float(longest)))
    print("\n".join(found) or "limits: kept")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
