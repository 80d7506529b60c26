# SPDX-License-Identifier: MIT
"""One word, one meaning: a class's name is one class's, and what GLOSSARY.md calls by another word is
called by that."""

import os
import re

GLOSSARY = "GLOSSARY.md"
# One word with one meaning where it is done for each instruction set, in a namespace of the set's.
_MEANT = {"Disassembler"}
# A header's own classes, not those that it only names or that stand inside others.
_CLASS = re.compile(
    r"^(?:class|struct)\s+(?:\[\[.*?\]\]\s*|alignas\([^)]*\)\s*)*(\w+)\s*(?:final\s*)?(?::[^:;][^;]*)?\{", re.M
)
# Words that had several meanings: the classes that are called by them, which are what GLOSSARY.md
# says.
_ONE_MEANING = {
    "Piece": {
        "FlowPiece",
        "PieceReader",  # of a piece's flow, and its text
        "PieceContext",
        "PieceText",
        "PieceTools",
        "FunctionPiece",  # of code, as yet
    },
    "Span": {"ClassSpan", "ClassSpans", "TimeSpan", "CommSpan", "SpanNeeds", "FlowInSpan"},
    "Window": {"StreamWindow"},
}
# Numbers that are called by them though they count something else.
_NUMBERS = {
    re.compile(r"\b(?:size_t|unsigned|int|uint\d+_t)\s+\w*window_?\b"): "how many are worked on at once is in_flight",
    re.compile(r"\b(?:size_t|unsigned|int|uint\d+_t)\s+piece_(?:size|bytes)_?\b"): "what is decoded by itself is a segment",
}
# What its reader hands on are chunks of text, and no segments.
_CHUNKS_OF_TEXT = "cli/listing/"
# GLOSSARY.md: | ~~word~~ | instead |
_WRONG_WORD = re.compile(r"^\| ~~(\w[\w ]*)~~ \| (.+?) \|", re.M)


def _rooms(project):
    """The headers whose classes are seen outside of one file."""
    for path in project.select(".h"):
        if not path.startswith(("tests/", "samples/")):
            yield path


def _classes(project):
    homes = {}
    for path in _rooms(project):
        for name in _CLASS.findall(project.text(path)):
            homes.setdefault(name, []).append(path)
    for name, paths in sorted(homes.items()):
        if len(paths) > 1 and name not in _MEANT:
            yield f"{name}: the name of a class in {' and in '.join(paths)}; each needs its own"


def _words(project):
    if not project.exists(GLOSSARY):
        return
    wrong = dict(_WRONG_WORD.findall(project.text(GLOSSARY)))
    for path in project.select(".h", ".cc", ".def", ".md"):
        # A test may say what it likes about others' words.
        if path.startswith(("tests/", _CHUNKS_OF_TEXT)) or os.path.basename(path) == GLOSSARY:
            continue
        for number, line in enumerate(project.lines(path), 1):
            for word, instead in wrong.items():
                # As a word, and as a part of a name: ChunkSize, chunk_size.
                if re.search(rf"((?<![A-Za-z]){word}|{word.capitalize()})s?(?![a-z])", line):
                    yield f"{path}:{number}: says {word}; {GLOSSARY} says {instead}"


def _meanings(project):
    glossary = project.text(GLOSSARY) if project.exists(GLOSSARY) else ""
    for word, meant in _ONE_MEANING.items():
        if glossary and f"\n| {word.lower()} |" not in glossary:
            yield f"{GLOSSARY}: does not say what a {word.lower()} is"
        for path in _rooms(project):
            for name in _CLASS.findall(project.text(path)):
                if re.search(rf"{word}(?![a-z])", name) and name not in meant:
                    yield f"{path}: {name} is none of what {GLOSSARY} calls a {word.lower()}"
    for path in project.cpp():
        if path.startswith("tests/"):
            continue
        for number, line in enumerate(project.lines(path), 1):
            for wrong, instead in _NUMBERS.items():
                if wrong.search(line):
                    yield f"{path}:{number}: {instead}"


def check(project):
    yield from _classes(project)
    yield from _meanings(project)
    yield from _words(project)
