# SPDX-License-Identifier: MIT
"""The marks in the sources of programs that die: `// CAUSE smash` at the line that a report must or must not name.

A mark is a word in capitals, and mostly the way in which the program dies. A line may have several."""

import os
import re


class Marks:
    """The marks of one or several sources."""

    def __init__(self, *sources):
        self.found = {}
        for source in sources:
            with open(source, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    for kind, how in re.findall(r"// (FAULT|CAUSE|AND|INNOCENT)\b(?: (\w+))?", line):
                        self.found.setdefault((kind, how), []).append((os.path.basename(source), number))

    def line(self, kind, how=""):
        """The number of the only line that has the mark."""
        ((_, number),) = self.found[kind, how]
        return number

    def places(self, how, *kinds):
        """As ["falls.cc:12", ...], by kind and line."""
        return [f"{name}:{number}" for kind in kinds for name, number in self.found.get((kind, how), [])]
