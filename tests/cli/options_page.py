# SPDX-License-Identifier: MIT
"""docs/reference/options.md has each option of each command, as the program's help has it, and no document shows an
option that its command lacks.

options_page.py FLOWBACK PROJECT [--write]. With --write the page is written anew. Exit status: 0; 1 where something
differs."""

import difflib
import glob
import os
import re
import subprocess
import sys
import textwrap

PAGE = "docs/reference/options.md"
INTRODUCTION = """# Options

Every option of every command. `flowback COMMAND --help` shows the usual ones with examples, `--help-all` all of them.
`tests/cli/options_page.py FLOWBACK PROJECT --write` writes this page from the program.
"""
# Options of other programs that pages of the reference name by themselves, and of shells' completion.
FOREIGN = {"--zstd", "--buildid-mmap", "--emit-relocs", "--show-mmap-events", "--unsymbolized-profile"}
# For programs, not for people: help does not list it.
HIDDEN = {"--complete-function"}
OPTION = re.compile(r"(?<![\w/=-])(--[a-z][\w-]*|-[A-Za-z])(?![\w-])")
# A command line up to a pipe or a comment.
LINE = re.compile(r"\bflowback ([a-z]+)((?: [^`|;&#\n]*)?)")
# An option of so many commands is listed once.
SHARED_BY = 6


class Command:
    def __init__(self, flowback, name):
        self.name = name
        self.help = self._run(flowback, "--help-all")
        texts = self._run(flowback, "--texts")
        self.texts = dict(re.findall(rf"^{name} (-[^:]*|[A-Z]+): (.*)$", texts, re.M))
        self.options = set(OPTION.findall(" ".join(self.texts)))

    def _run(self, flowback, option):
        return subprocess.run([flowback, self.name, option], capture_output=True, text=True, timeout=20, check=True,
                              env=os.environ | {"COLUMNS": "200"}).stdout

    def rows(self):
        """(option with its value, text) of each."""
        for names, text in self.texts.items():
            value = re.search(rf"^  {re.escape(names)}(?: (\S+(?: \S+)*?))?(?:  |$)", self.help, re.M)
            yield " ".join(filter(None, [names, value and value[1]])), text


def cell(text):
    return text.replace("|", "\\|")


def commands(flowback):
    listed = subprocess.run([flowback, "help"], capture_output=True, text=True, timeout=20, check=True).stdout
    names = re.findall(r"^  ([a-z]+) ", listed.partition("commands:\n")[2].partition("\n\n")[0], re.M)
    return [Command(flowback, name) for name in names]


def who(names, all_names):
    """The commands of a shared option, in few words."""
    lacking = [name for name in all_names if name not in names]
    if not lacking:
        return "all of these"
    quoted = ", ".join(f"`{name}`" for name in (lacking if len(lacking) <= 4 else names))
    return f"all but {quoted}" if len(lacking) <= 4 else quoted


def page(known):
    users = {}
    for command in known:
        for row in command.rows():
            users.setdefault(row, []).append(command.name)
    shared = {row: names for row, names in users.items() if len(names) >= SHARED_BY}
    readers = [command.name for command in known if any(command.name in names for names in shared.values())]
    parts = [INTRODUCTION, "## Shared options\n" + "\n".join(textwrap.wrap(
        "The commands with shared options are " + ", ".join(f"`{name}`" for name in readers) + ".", 120))
             + "\n\n| option | use | commands |\n|---|---|---|\n"
             + "\n".join(f"| `{cell(option)}` | {cell(text)} | {who(names, readers)} |"
                         for (option, text), names in shared.items()) + "\n"]
    for command in known:
        rows = [f"| `{cell(option)}` | {cell(text)} |" for option, text in command.rows()
                if (option, text) not in shared]
        if rows:
            parts.append("\n".join([f"## `{command.name}`", "| option | use |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def shown(text):
    """(command, words) of each command line in a document."""
    for name, words in LINE.findall(text.replace("\\\n", " ")):
        yield name, words.partition(" -- ")[0].removesuffix(" --")


def strange(path, text, known):
    by_name = {command.name: command for command in known}
    for name, words in shown(text):
        if name in by_name:
            for option in OPTION.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "x", words)):
                if option not in by_name[name].options | HIDDEN:
                    yield f"{path}: shows `flowback {name}{words.rstrip()}`, which has no {option}"
    if path.startswith("docs/reference/"):
        every = set().union(*(command.options for command in known)) | FOREIGN | HIDDEN
        for quoted in re.findall(r"`(--[a-z][\w-]*)", text):
            if quoted not in every:
                yield f"{path}: names {quoted}, which no command has"


def main():
    flowback, project = sys.argv[1:3]
    known = commands(flowback)
    assert len(known) >= 17, [command.name for command in known]
    path = os.path.join(project, PAGE)
    new = page(known)
    if "--write" in sys.argv[3:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
    failed = []
    with open(path, encoding="utf-8") as file:
        old = file.read()
    if old != new:
        failed += [f"{PAGE} is not what the program has; write it with: {os.path.relpath(__file__, project)} FLOWBACK "
                   f"{project} --write"]
        failed += difflib.unified_diff(old.splitlines(), new.splitlines(), PAGE, "the program", lineterm="", n=0)
    for document in ["README.md", *sorted(glob.glob("docs/**/*.md", root_dir=project, recursive=True))]:
        with open(os.path.join(project, document), encoding="utf-8") as file:
            failed += strange(document, file.read(), known)
    print("\n".join(failed) or f"{sum(len(command.texts) for command in known)} options of {len(known)} commands")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
