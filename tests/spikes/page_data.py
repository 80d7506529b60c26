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
    """A recording of the server, its page, and what the other outputs say of it."""

    def __init__(self, flowback, server, folder, name, cause, *words):
        path = lambda end: os.path.join(folder, name + end)
        self.recording, self.page = path(".data"), path(".html")
        run(flowback, "record", "-q", "-o", self.recording, "--",
            server, "--cause", cause, "--truth", path(".truth"), *words)
        run(flowback, "spikes", self.recording, "handle", "--html", self.page)
        self.json = json.loads(run(flowback, "spikes", self.recording, "handle", "--json", "--save-instances", path(".csv")))
        with open(path(".csv"), encoding="utf-8") as file:
            self.instances = list(csv.DictReader(file))
        self.data = data_of(self.page)
