# SPDX-License-Identifier: MIT
"""Runs the commands of docs/tutorial.md and compares their output with the page.

tutorial.py FLOWBACK ORDERS PAGE. A line that begins with "$ " is a command; the lines up to the
next one are its output: numbers may differ, runs of blanks count as one, and "..." stands for any
text. Exit status: 0; 1 where an output differs; 77 where this machine cannot record."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 120
NUMBER = r"\d+(?:,\d{3})*"
BLOCK = re.compile(r"^```\n(.*?)^```$", re.M | re.S)


def commands(page):
    """[(command, expected output)] of the page."""
    found = []
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def shape(expected):
    """A pattern for outputs that differ from this one in numbers only."""
    words = []
    for word in expected.split():
        if word == "...":
            words.append(r"(?:\S+ )*?")
            continue
        pattern = "".join(
            r"0x[0-9a-f]+" if part.startswith("0x") else NUMBER if part[0].isdigit() else re.escape(part)
            for part in re.findall(rf"0x[0-9a-f]+|{NUMBER}|\D", word)
        )
        words.append(pattern + " ")
    return re.compile("".join(words))


def agrees(expected, output):
    return shape(expected).fullmatch(" ".join(output.split()) + " ") is not None


def can_record(flowback):
    told = json.loads(subprocess.run([flowback, "doctor", "--json"], capture_output=True, text=True,
                                     timeout=LIMIT_SECONDS, check=False).stdout)
    return any(way["usable"] for way in told["recording"] if way["engine"] in ("pt", "emulate"))


def run(command, folder, flowback):
    """Standard output and messages of a command line, as a terminal has them."""
    path = f"{os.path.dirname(os.path.abspath(flowback))}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": folder, "LC_ALL": "C"}
    return subprocess.run(["bash", "-c", f"ulimit -c unlimited 2>/dev/null; {command} 2>&1"], cwd=folder,
                          capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment, check=False).stdout


def check_shapes():
    """The comparison itself notices a difference."""
    for expected, output, same in [
        ("a 12 b", "a  7\nb", True),
        ("a 12 b", "a 7 c", False),
        ("a 12 b", "a x b", False),
        ("a 12 b", "a 7 b more", False),
        ("a ... b", "a x y b", True),
        ("a ...", "b", False),
        ("at 0x1f, 1.5 s", "at 0xab0, 22.75 s", True),
    ]:
        assert agrees(expected, output) == same, (expected, output)


def main():
    check_shapes()
    flowback, orders, page = sys.argv[1:]
    if not can_record(flowback):
        print("SKIPPED: this machine can neither emulate nor trace")
        return 77
    with open(page, encoding="utf-8") as file:
        shown = commands(file.read())
    assert len(shown) >= 10, f"{page}: {len(shown)} commands"
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flowback-tutorial-") as folder:
        samples = os.path.join(folder, "build/release/samples")
        os.makedirs(samples)
        os.symlink(os.path.abspath(orders), os.path.join(samples, "orders"))
        for command, expected in shown:
            if command.startswith("flowback replay") and shutil.which("gdb") is None:
                print(f"skipped: {command}: gdb is not installed")
                continue
            output = run(command, folder, flowback)
            if agrees(expected, output):
                print(f"as shown: {command}")
                continue
            failed += 1
            print(f"FAILED: {command}\n--- the page has\n{expected}--- it printed\n{output[:3000]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
