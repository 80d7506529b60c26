# SPDX-License-Identifier: MIT
"""Recordings of spiky_server, their pages, and what the other outputs of `flowback spikes` say of them."""

import csv
import json
import os
import subprocess

CLASSES = ("executing", "off_cpu", "kernel", "lost", "filtered", "undecodable")


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def data_of(page):
    text = read(page)
    begin = text.index("\n", text.index('<script id="data"')) + 1
    return json.loads(text[begin:text.index("</script>", begin)])


class Made:
    """A recording of a command, the page of its calls of handle, and what the other outputs say of them."""

    def __init__(self, flowback, folder, name, *command):
        path = lambda end: os.path.join(folder, name + end)
        self.recording, self.page = path(".data"), path(".html")
        run(flowback, "record", "-q", "-o", self.recording, "--", *command)
        # By default waits on a busy machine may take the place of instructions.
        spikes = (flowback, "spikes", self.recording, "handle", "--by", "instructions")
        run(*spikes, "--html", self.page)
        self.json = json.loads(run(*spikes, "--json", "--save-instances", path(".csv")))
        with open(path(".csv"), encoding="utf-8") as file:
            self.instances = list(csv.DictReader(file))
        self.data = data_of(self.page)


class Server(Made):
    """A page of spiky_server, with a cause of slowness."""

    def __init__(self, flowback, server, folder, name, cause, *words):
        super().__init__(flowback, folder, name, server, "--cause", cause, "--truth", os.path.join(folder, name + ".truth"),
                         *words)


def rare_program(folder, calls, *words):
    """A program of these lines, whose handle() is slow once in a hundred calls."""
    lines = ["static volatile unsigned sum;",
             "__attribute__((noinline)) void handle(unsigned n) {",
             "  for (unsigned i = 0; i < 20; ++i) sum += i;",
             "  if (n % 100 == 99)",
             "    for (unsigned i = 0; i < 3000; ++i) sum += i;",
             "}",
             "int main(void) {",
             f"  for (unsigned i = 0; i < {calls}; ++i) handle(i);",
             "}"]
    source, program = os.path.join(folder, "rare.c"), os.path.join(folder, "rare")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    run("gcc", "-g", "-O1", *words, "-o", program, source)
    return program, source, lines
