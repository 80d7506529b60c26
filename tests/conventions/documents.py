# SPDX-License-Identifier: MIT
"""The documents stay true to the code, as far as a script can tell."""

import os
import re

_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_QUOTED = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```\s*?$", re.M | re.S)


def _words(text):
    return len(re.findall(r"\w[\w'./-]*", text))


def _looks_like_path(text):
    return re.fullmatch(r"[\w.<>*{},/-]+", text) and (
        "/" in text or re.search(r"\.(cc|h|def|md|txt|cmake|json)$", text)
    )


def _missing(project, text):
    """A path with a <placeholder> or * needs its folder only."""
    fixed = re.split(r"[<*{]", text)[0]
    if fixed != text:
        fixed = os.path.dirname(fixed)
    return fixed and not fixed.startswith("/") and not project.exists(fixed)


def _architecture(project):
    text = project.text("ARCHITECTURE.md")
    if _words(_FENCE.sub("", text)) > 700:
        yield f"ARCHITECTURE.md: {_words(_FENCE.sub('', text))} words; at most 700 get read"
    for quoted in _QUOTED.findall(_FENCE.sub("", text)):
        if _looks_like_path(quoted) and _missing(project, quoted):
            yield f"ARCHITECTURE.md: there is no {quoted}"


def _readme(project):
    text = project.text("README.md")
    before = _words(text.partition("\n```")[0])
    if before > 150 or "\n```" not in text:
        yield f"README.md: the first command comes after {before} words; at most 150"
    if not project.exists("cli/commands.def"):
        return
    known = {row[0].strip('"') for row in project.table("cli/commands.def")}
    for command in re.findall(r"^\$?\s*(?:\S*/)?flowback ([a-z]+)\b", text, re.M):
        if command not in known:
            yield f"README.md: shows `flowback {command}`, which is not in cli/commands.def"


def _links(project):
    for path in project.select(".md"):
        for link in _LINK.findall(_FENCE.sub("", project.text(path))):
            if not project.exists(os.path.join(os.path.dirname(path), link)):
                yield f"{path}: links to {link}, which does not exist"


def check(project):
    for part in (_architecture, _readme, _links):
        yield from part(project)
