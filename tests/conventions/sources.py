# SPDX-License-Identifier: MIT
"""What every source file keeps: a licence line, a bounded size, no path of one machine. Folders are bounded, too."""

import collections
import os
import re

MAX_LINES = 500
LONG_FILES = "tests/conventions/long_files.txt"
# More files in one folder, and its name does not show where a change belongs.
MAX_FILES = 45
LARGE_FOLDERS = "tests/conventions/large_folders.txt"

_SOURCES = (".cc", ".h", ".def", ".cmake", ".py", ".sh", "CMakeLists.txt", "Doxyfile", ".clang-tidy")
_SCRIPTS = ["demo", "test", ".ci/run"]
# The homes of people and build machines; examples use /home/me or /home/user.
_MACHINE_PATH = re.compile(r"(?<![\w.$}/<-])/(?:root/\.|(?:home/(?!user\b|me\b)\w+|work|mnt|srv)/[\w.])")


def _licence(project):
    for path in project.select(*_SOURCES) + [s for s in _SCRIPTS if project.exists(s)]:
        if not any("SPDX-License-Identifier: MIT" in line for line in project.lines(path)[:2]):
            yield f"{path}: its first line must say SPDX-License-Identifier: MIT"


def _reasons(project, table):
    """Returns the exceptions in a table: path -> reason."""
    reasons = {}
    if project.exists(table):
        for line in project.lines(table):
            if line and not line.startswith("#"):
                path, _, reason = line.partition(": ")
                reasons[path] = reason.strip()
    return reasons


def _length(project):
    reasons = _reasons(project, LONG_FILES)
    for path in project.select(".cc", ".h", ".py", ".sh", ".cmake", ".def"):
        length = len(project.lines(path))
        if length > MAX_LINES and not reasons.pop(path, ""):
            yield f"{path}: {length} lines; split it, or give its reason in {LONG_FILES}"
    for path in reasons:
        yield f"{LONG_FILES}: {path} is not over {MAX_LINES} lines (any more): remove it"


def _folders(project):
    reasons = _reasons(project, LARGE_FOLDERS)
    for folder, files in sorted(collections.Counter(map(os.path.dirname, project.files)).items()):
        if files > MAX_FILES and not reasons.pop(folder, ""):
            yield f"{folder}: {files} files, at most {MAX_FILES}; divide it, or give its reason in {LARGE_FOLDERS}"
    for folder in reasons:
        yield f"{LARGE_FOLDERS}: {folder} has no more than {MAX_FILES} files (any more): remove it"


def _paths(project):
    for path in project.select(*_SOURCES, ".md", ".txt", ".json", ".yml", *_SCRIPTS):
        for number, line in enumerate(project.lines(path), 1):
            found = _MACHINE_PATH.search(line)
            if found:
                yield f"{path}:{number}: names a path of one machine: {found[0]}"


def _disabled_tests(project):
    for path in project.cpp(under="tests/"):
        for number, line in enumerate(project.lines(path), 1):
            if re.search(r"\bDISABLED_\w", line):
                yield f"{path}:{number}: a test is disabled; mend it or remove it"


def check(project):
    for part in (_licence, _length, _folders, _paths, _disabled_tests):
        yield from part(project)
