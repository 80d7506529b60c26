# SPDX-License-Identifier: MIT
"""The documents stay true to the code, as far as a script can check."""

import os
import re

_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_ANCHORED = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
_QUOTED = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```\s*?$", re.M | re.S)


def _words(text):
    return len(re.findall(r"\w[\w'./-]*", text))


def _looks_like_path(text):
    if text.startswith("-") or re.search(r"^\.\w+$|/\d+$", text):
        return False  # an option, a file's ending, a schema with its number
    return re.fullmatch(r"[\w.<>*{},/-]+", text) and (
        "/" in text or re.search(r"\.(cc|h|def|md|txt|cmake|json)$", text)
    )


def _missing(project, text):
    """Whether the checkout lacks what `text` names; a <placeholder> or * needs its folder only.

    Paths outside the checkout are not checked: a clone alone has nothing beside it."""
    fixed = re.split(r"[<*{]", text)[0]
    if os.path.normpath(fixed).startswith(".."):
        return False
    if fixed != text:
        fixed = os.path.dirname(fixed)
    return fixed and not fixed.startswith("/") and not project.exists(fixed)


def _quoted_paths(project):
    """Paths in running text. Built files are no part of the checkout."""
    guides = ["ARCHITECTURE.md", "CONTRIBUTING.md"] + project.select(".md", under="docs/")
    for path in filter(project.exists, guides):
        for quoted in _QUOTED.findall(_FENCE.sub("", project.text(path))):
            built = quoted.startswith("build/")
            if _looks_like_path(quoted) and not built and _missing(project, quoted):
                yield f"{path}: there is no {quoted}"


def _architecture(project):
    text = project.text("ARCHITECTURE.md")
    if _words(_FENCE.sub("", text)) > 700:
        yield f"ARCHITECTURE.md: {_words(_FENCE.sub('', text))} words; at most 700 get read"


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


def _demo(project):
    """README's example is what ./demo runs: without shell variables, and `show` adds the head."""
    if not project.exists("demo"):
        return
    demo = project.text("demo").replace("%s", "build/demo.data").replace("$recording", "build/demo.data").replace('"', "")
    example = project.text("README.md").partition("From `./demo`")[2].partition("\n```\n")[2].partition("\n```\n")[0]
    for command in re.findall(r"^\$ flowback (.*)", example, re.M):
        shown = re.fullmatch(r"(.*) \| head -n (\d+)", command)
        if (f"show {shown[2]} {shown[1]}" if shown else command) not in demo:
            yield f"README.md: ./demo does not run `flowback {command}`"


def _links(project):
    for path in project.select(".md"):
        for link in _LINK.findall(_FENCE.sub("", project.text(path))):
            if not project.exists(os.path.join(os.path.dirname(path), link)):
                yield f"{path}: links to {link}, which does not exist"


def _anchor(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\]\([^)]*\)", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def _anchors(project):
    """A link to a part of a page names a heading of it."""
    for path in project.select(".md"):
        for page, anchor in _ANCHORED.findall(_FENCE.sub("", project.text(path))):
            target = os.path.normpath(os.path.join(os.path.dirname(path), page)) if page else path
            if not project.exists(target):
                continue
            headings = re.findall(r"^#+ (.*)", _FENCE.sub("", project.text(target)), re.M)
            if anchor not in map(_anchor, headings):
                yield f"{path}: links to #{anchor} of {target}, which has no such heading"


def _index(project):
    """docs/README.md leads to every page below docs/."""
    index = "docs/README.md"
    if not project.exists(index):
        return
    linked = {os.path.normpath(os.path.join("docs", link)) for link in _LINK.findall(project.text(index))}
    for path in project.select(".md", under="docs/"):
        if path != index and path not in linked:
            yield f"{index}: does not link to {path}"


def _widths(project):
    """Running text is read in terminals, and compared line by line; rows of tables and code are as long as they are."""
    for path in project.select(".md"):
        text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), project.text(path))
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > 120 and not re.match(r"\||\s{4}", line):
                yield f"{path}:{number}: {len(line)} characters; at most 120"


def check(project):
    for part in (_quoted_paths, _architecture, _readme, _demo, _links, _anchors, _index, _widths):
        yield from part(project)
