# SPDX-License-Identifier: MIT
"""Reports of the recordings that come with the project, which no emulator is needed for."""

import json
import os
import re
import shutil
import subprocess

HEAD = '<script id="data" type="application/json">'


class Reports:
    """Runs flowback with a cache of its own in `folder`."""

    def __init__(self, flowback, project, folder):
        self.program, self.project, self.folder = os.path.abspath(flowback), project, folder

    def recording(self, name):
        return f"{self.project}/tests/recordings/{name}.data"

    def run(self, *words, cwd=None):
        environment = {**os.environ, "FLOWBACK_CACHE": f"{self.folder}/cache", "COLUMNS": "120"}
        return subprocess.run([self.program, *words], capture_output=True, check=False, timeout=100, env=environment,
                              stdin=subprocess.DEVNULL, cwd=cwd, encoding="utf-8", errors="surrogateescape")

    def copy(self, name, to, images=True):
        """Copies a recording, with its files of code or without."""
        path = os.path.join(os.fsencode(self.folder), to if isinstance(to, bytes) else to.encode())
        source = os.fsencode(self.recording(name))
        shutil.copy(source, path)
        if images:
            shutil.copytree(source + b".images", path + b".images")
        return os.fsdecode(path)


def data_of(page):
    """The data that a page holds."""
    begin = page.index(HEAD) + len(HEAD)
    return json.loads(page[begin:page.index("</script>", begin)])


def sections(recording):
    return {section["name"]: section for section in recording["sections"]}


def tags(page):
    """The markup outside of scripts and styles."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return re.findall(r"<[^>]*>", bare)
