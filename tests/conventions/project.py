# SPDX-License-Identifier: MIT
"""The project's files, as the convention checks see them."""

import os
import re

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Project:
    """A checkout; build folders and hidden ones (but for .ci) are not part of it."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(self._walk())

    def _walk(self):
        for folder, subfolders, names in os.walk(self.root):
            subfolders[:] = [s for s in subfolders if self._is_source(folder, s)]
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def _is_source(self, parent, name):
        if parent == self.root and name == "build":
            return False
        if (name.startswith(".") and name != ".ci") or name == "__pycache__":
            return False
        return not os.path.exists(os.path.join(parent, name, "CMakeCache.txt"))

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def lines(self, path):
        return self.text(path).splitlines()

    def select(self, *suffixes, under=""):
        return [f for f in self.files if f.startswith(under) and f.endswith(suffixes)]

    def cpp(self, under=""):
        return self.select(".cc", ".h", under=under)

    def includes(self, path):
        """(line number, is it <...>, what) of each #include."""
        for number, line in enumerate(self.lines(path), 1):
            match = _INCLUDE.match(line)
            if match:
                yield number, match[1] == "<", match[2]

    def table(self, path):
        """The argument lists of a .def file's rows: [["kNoSync", '"no sync point"', ...], ...]. A row
        may go on in lines that begin with a blank."""
        rows = re.findall(r"^FLOWBACK_\w+\(((?:[^\n]|\n )*?)\)\s*(?://.*)?$", self.text(path), re.M)
        return [[cell.strip() for cell in row.split(",")] for row in rows]
