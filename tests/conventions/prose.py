# SPDX-License-Identifier: MIT
"""Texts that people read, out of the project's files: (path, line, text) of each paragraph."""

import io
import re
import tokenize

_FENCE = re.compile(r"^( *)```.*?^ *```\s*?$", re.M | re.S)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
_PART = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ADD = re.compile(r"\b(?:add_option|add_flag|AddRepeatable|add_option_function)\s*(?:<\w+>)?\(")
# Programs whose names are written in small letters may begin a sentence, too.
_NAMES = r"(?:flowback|perf|gdb|gcc|gcov|clang|libipt|libffi|zstd|lcov|cJSON)\b"
_ABBREVIATIONS = r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bcf\.)"


def sentences(text):
    """A paragraph's sentences, each with its end."""
    text = re.sub(r"\s+", " ", text).strip()
    for part in re.split(r"(?<=[.!?])" + _ABBREVIATIONS + rf"[)\"*]*\s+(?=[(`\"*]?(?:[A-Z`]|{_NAMES}))", text):
        part = part.strip().lstrip("*_([").strip()
        if part:
            yield part


def _runs(lines, comment):
    """Joins comments that stand in lines after each other; an empty one ends a paragraph."""
    start, parts = 0, []
    for number, line in enumerate([*lines, ""], 1):
        text, alone = comment(line)
        if parts and (not alone or not text):
            yield start, " ".join(parts)
            parts = []
        if text and alone:
            start = start if parts else number
            parts.append(text)
        elif text:
            yield number, text


def _cpp(line):
    whole = re.match(r"\s*//(?:/|<)?\s?(.*)", line)
    if whole:
        return "" if "SPDX-" in whole[1] else whole[1].strip(), True
    code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    behind = re.search(r"//\s?(.*)", code)
    return (behind[1].strip(), False) if behind else ("", False)


def _hash(line):
    whole = re.match(r"\s*#(?!!)\s?(.*)", line)
    if whole:
        return "" if "SPDX-" in whole[1] else whole[1].strip(), True
    return "", False


def _python(text):
    """Comments, then the strings that stand alone: docstrings."""
    yield from _runs(text.splitlines(), _hash)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError):
        return
    before = tokenize.NEWLINE
    for token in tokens:
        if token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT):
            for part in re.split(r"\n\s*\n", token.string.strip("\"'")):
                yield token.start[0], part
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def comments(project):
    for path in project.select(".cc", ".h", ".def", ".c", ".S"):
        for line, text in _runs(project.lines(path), _cpp):
            yield path, line, text
    for path in project.select(".py"):
        for line, text in _python(project.text(path)):
            yield path, line, text
    scripts = [f for f in ("demo", "test", ".ci/run") if project.exists(f)]
    for path in project.select(".cmake", "CMakeLists.txt", ".sh", ".bash") + scripts:
        for line, text in _runs(project.lines(path), _hash):
            yield path, line, text


def _document(text):
    """Paragraphs, items of lists and cells of tables; code and headings are no prose."""
    text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    start, parts = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        begins = re.match(r"\s*(?:[*-]|\d+\.)\s+(.*)", line)
        ends = not bare or bare.startswith(("#", "|", ">")) or begins or (line.startswith("    ") and not parts)
        if parts and ends:
            yield start, " ".join(parts)
            parts = []
        if bare.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", bare.strip("|")):
                if not re.fullmatch(r"\s*[-:]*\s*", cell):
                    yield number, cell.strip()
        elif begins or (bare and not ends):
            start = start if parts else number
            parts.append(begins[1] if begins else bare)


def documents(project):
    for path in project.select(".md"):
        for line, text in _document(project.text(path)):
            yield path, line, text


def _literals(text):
    """(line, text) of each string, the parts of one that spans lines joined."""
    for match in _LITERAL.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, "".join(_PART.findall(match[0]))


def helps(project):
    """Texts of options and commands, topics, and the prose of manual pages."""
    for path in project.select(".cc", under="cli/"):
        text = project.text(path)
        for match in _ADD.finditer(text):
            end = text.find(");", match.end())
            line = text.count("\n", 0, match.start())
            for number, literal in list(_literals(text[match.start():end]))[1:]:
                yield path, line + number, literal
    for path in project.select("commands.def", "topics.def", "option_words.def"):
        for line, text in _literals("\n".join(re.sub(r"^//.*", "", part) for part in project.lines(path))):
            yield path, line, text
    for path in project.select(".roff"):
        for line, text in _runs(project.lines(path), lambda part: ("", True) if part.startswith((".", "'")) else (part, True)):
            yield path, line, re.sub(r"\\f[BIRP]|\\-", lambda m: "-" if m[0] == r"\-" else "", text)


def messages(project):
    """Strings with four words or more of code that ships, without the texts of options."""
    shown = set(project.select(".def", under="cli/"))
    for path in project.cpp() + project.select(".def"):
        if path.startswith(("tests/", "samples/")) or path in shown:
            continue
        text = re.sub(r"^\s*(//|#).*", "", project.text(path), flags=re.M)
        help_lines = [(m.start(), text.find(");", m.end())) for m in _ADD.finditer(text)]
        offsets = [0]
        for line in text.splitlines(keepends=True):
            offsets.append(offsets[-1] + len(line))
        for line, literal in _literals(text):
            at = offsets[line - 1]
            inside = any(start <= at + 200 and at <= end for start, end in help_lines if start <= at)
            if not inside and len(re.findall(r"[A-Za-z]{2,}", literal)) >= 4:
                yield path, line, literal
