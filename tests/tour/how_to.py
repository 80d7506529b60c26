# SPDX-License-Identifier: MIT
"""Runs the commands of one page of docs/how-to/, with programs that stand for the reader's.

how_to.py FLOWBACK CXX PAGE [--crash]. A command is a line of an indented block; lines of one block share a shell,
and so do the blocks of a page. Each must end with status 0, or with
that of a crash if it runs a program with --crash. A command is skipped, with the reason, if a row of
SKIPPED fits it, if its program is not installed, or if it reads what a skipped command would have written. With
--crash the programs crash, and the page must notice (ci.md). Exit status: 0; 1 where a command failed; 77 where this
machine cannot record."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "programs", "server.c")
LIMIT_SECONDS = 150
# The status of a program that aborts.
CRASHED = "134"
ARM_COMPILER = "aarch64-linux-gnu-g++"

# What a command must not have to run here, and why. Each row must fit a command of some page (check_rows).
SKIPPED = [
    (r"--engine (pt|lbr|brbe)\b", "needs tracing hardware"),
    (r"^docker ", "needs a container"),
    (r"-p PID\b|/proc/PID/", "needs a running process"),
    (r"^scp ", "needs another machine"),
    (r"--raw-pt pt\.bin", "needs a raw trace"),
    (r"\bnode\b", "takes a minute in the emulator"),
]

# Words of the shell, and the program under test.
SHELL = {"if", "ulimit", "flowback"}
# Pages that begin with a recording that the reader has.
RECORDED = {"never-ran.md": "orders", "offline.md": "server"}


def blocks(page):
    """[[command]] of the page: indented blocks, without their comments. Fenced blocks are code or sessions."""
    page = re.sub(r"^( *)```.*?^\1```$", "", page, flags=re.M | re.S)
    found = re.findall(r"(?<=\n\n)((?: {4,}\S.*\n)+)", page)
    return [[re.sub(r"\s+# .*", "", line.strip()) for line in block.splitlines()] for block in found]


def outputs(command):
    """The files that a command writes."""
    return re.findall(r" -o (\S+)", command)


class Page:
    def __init__(self, commands):
        self.commands = commands
        self.missing = set()

    def reason_to_skip(self, command):
        for pattern, reason in SKIPPED:
            if re.search(pattern, command):
                return reason
        program = command.split()[0]
        if re.fullmatch(r"[a-z][\w.+-]*", program) and program not in SHELL and shutil.which(program) is None:
            return f"{program} is not installed"
        lacking = self.missing & set(re.split(r"[\s=]+", command)) - set(outputs(command))
        return f"reads {sorted(lacking)[0]}, which was not recorded" if lacking else None

    def script(self):
        """(lines of a shell's script, skipped commands): each command is followed by a line with its status."""
        lines, skipped = [], []
        for number, command in enumerate(self.commands):
            reason = self.reason_to_skip(command)
            if reason:
                skipped.append((command, reason))
                self.missing |= set(outputs(command))
                continue
            self.missing -= set(outputs(command))
            lines += [command, f'printf "\\n@@ {number} %d\\n" $?']
        return "\n".join(lines) + "\n", skipped


def compile_programs(cxx, folder, page):
    """The reader's programs and sources, under the names that the pages have."""
    shutil.copy(SOURCE, os.path.join(folder, "program.c"))
    shutil.copy(SOURCE, os.path.join(folder, "orders.cc"))
    if page == "arm.md":
        cxx = ARM_COMPILER
    for name, source in (("program", "program.c"), ("orders", "orders.cc")):
        subprocess.run([cxx, "-g", "-O1", "-x", "c++", "-o", name, source], cwd=folder, check=True,
                       timeout=LIMIT_SECONDS)
    for name in ("server", "run-tests"):
        shutil.copy(os.path.join(folder, "program"), os.path.join(folder, name))


def can_record(flowback):
    doctor = json.loads(subprocess.run([flowback, "doctor", "--json"], capture_output=True, text=True,
                                       timeout=LIMIT_SECONDS, check=False).stdout)
    return any(way["usable"] for way in doctor["recording"] if way["engine"] == "emulate")


def shell(script, folder, flowback):
    path = f"{os.path.dirname(os.path.abspath(flowback))}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": folder, "LC_ALL": "C"}
    return subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT_SECONDS,
                          env=environment, check=False)


def judge(page, result, crashes):
    """Prints each command with its result; returns how many failed."""
    parts = re.split(r"\n@@ (\d+) (\d+)\n", result.stdout)
    failed = 0
    for output, number, status in zip(parts[0::3], parts[1::3], parts[2::3]):
        command = page.commands[int(number)]
        good = status == (CRASHED if command.endswith(" --crash") else "0")
        print(f"{'runs' if good else f'FAILED, status {status}'}: {command}")
        if not good:
            failed += 1
            print(output[-2000:])
    if crashes:
        noticed = result.returncode == 134 and "was killed by SIGABRT" in parts[-1] and "run.tar.zst has" in parts[-1]
        print(f"{'runs' if noticed else 'FAILED'}: the crash ends the page with status {result.returncode}")
        if not noticed:
            print(parts[-1][-2000:])
        return failed + (not noticed)
    if parts[-1].strip():
        print(f"FAILED: the page ended early, status {result.returncode}\n{parts[-1][-2000:]}")
        return failed + 1
    return failed


def check_rows(folder):
    """Each row of SKIPPED has a command; RECORDED names pages."""
    pages = [name for name in os.listdir(folder) if name.endswith(".md")]
    commands = []
    for name in pages:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            commands += sum(blocks(file.read()), [])
    for pattern, _ in SKIPPED:
        assert any(re.search(pattern, command) for command in commands), f"no page has a command with {pattern}"
    assert set(RECORDED) <= set(pages), f"no such page: {set(RECORDED) - set(pages)}"


def main():
    flowback, cxx, path = sys.argv[1:4]
    name = os.path.basename(path)
    crashes = "--crash" in sys.argv[4:]
    check_rows(os.path.dirname(path))
    with open(path, encoding="utf-8") as file:
        page = Page(sum(blocks(file.read()), []))
    if not can_record(flowback):
        print("SKIPPED: this machine cannot emulate")
        return 77
    if name == "arm.md" and None in map(shutil.which, (ARM_COMPILER, "qemu-aarch64")):
        print(f"SKIPPED: {ARM_COMPILER} or qemu-aarch64 is not installed")
        return 77
    if crashes:
        page.commands = [command.replace("./run-tests", "./run-tests --crash") for command in page.commands]
    script, skipped = page.script()
    for command, reason in skipped:
        print(f"skipped: {command}: {reason}")
    if not script.strip():
        return 77 if skipped else print("no commands: other tests run its code") or 0
    with tempfile.TemporaryDirectory(prefix="flowback-how-to-") as folder:
        compile_programs(cxx, folder, name)
        recorded = RECORDED.get(name)
        if recorded:
            shell(f"flowback record -q -o my.data -- ./{recorded}", folder, flowback)
        failed = judge(page, shell(script, folder, flowback), crashes)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
