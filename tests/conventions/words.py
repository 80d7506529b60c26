# SPDX-License-Identifier: MIT
"""Comments, documents, help and messages are plain English, as far as a script can see.

words.py ROOT prints every finding and the counts; check.py words ROOT compares the counts with the
limits below. A finding is a sentence that begins with a forbidden word, or uses a forbidden
construction: both hide the noun that the sentence is about. Documents and help also have a limit
for long sentences."""

import re
import sys

from prose import comments, documents, helps, messages, sentences

# A sentence that begins so has no subject that a reader could know. Questions may.
OPENINGS = re.compile(r"(?:Of|That of|Those of|Those that|What (?:is|was|are|were|has|it|of|all|one|no|lies)|Whose|Who|Whom|"
                      r"The same (?:of|as))\b(?!-)")
CONSTRUCTIONS = {
    "told": re.compile(r"(?<!::)(?<!`)\b(?:tell|tells|told|telling)\b(?! (?:\w+ ){0,3}apart)(?!\w*[(`])", re.I),
    "said": re.compile(r"\b(?:is|are|was|were|be|been) said\b|\bsaid of\b", re.I),
    "such": re.compile(r"\bsuch (?:a )?ones?\b|\blikewise\b|\bthe same of\b|\bno such is\b", re.I),
    "of": re.compile(r"\bwhat of\b|\bthat of (?:a|an|the)\b.*\bthat of\b|\bof them what\b", re.I),
}
MAX_WORDS = 25
# Lists in brackets and names with several words make some sentences longer than they read.
TOLERANCE = 5

# How many findings may stand, of each kind of text. The counts only go down.
LIMITS = {"comments": 45, "documents": 8, "helps": 1, "messages": 2, "long": 30}

# (file, beginning of the sentence): why it stands.
EXCEPTIONS = {
}


def _finding(text):
    """The kinds of finding in one sentence, as a list of words."""
    if not text.endswith("?") and OPENINGS.match(text):
        yield "opening"
    bare = re.sub(r"`[^`]*`|\"[^\"]*\"", "x", text)
    for kind, pattern in CONSTRUCTIONS.items():
        if pattern.search(bare):
            yield kind


def _words(text):
    text = re.sub(r"\([^()]*\)", "", text)
    return len(re.findall(r"[^\W_][\w'./:<>-]*", re.sub(r"`[^`]*`|\]\([^)]*\)", "x", text)))


def findings(project):
    """(kind of text, file, line, kind of finding, sentence) of each."""
    for name, source in (("comments", comments), ("documents", documents), ("helps", helps),
                         ("messages", messages)):
        for path, line, text in source(project):
            for sentence in sentences(text):
                if any(path == file and sentence.startswith(start) for file, start in EXCEPTIONS):
                    continue
                for kind in _finding(sentence):
                    yield name, path, line, kind, sentence
                if name in ("documents", "helps") and _words(sentence) > MAX_WORDS + TOLERANCE:
                    yield "long", path, line, "long", sentence


def check(project, limits=None):
    by_text = {}
    for found in findings(project):
        by_text.setdefault(found[0], []).append(found)
    for name, limit in (limits or LIMITS).items():
        all_found = by_text.get(name, [])
        if len(all_found) > limit:
            yield f"{name}: {len(all_found)} places; at most {limit}. The last of them:"
            for _, path, line, kind, sentence in all_found[-10:]:
                yield f"{path}:{line}: {kind}: {sentence[:90]}"


if __name__ == "__main__":
    from project import Project

    counts = {}
    for text, path, line, kind, sentence in findings(Project(sys.argv[1])):
        counts[text, kind] = counts.get((text, kind), 0) + 1
        print(f"{text}: {path}:{line}: {kind}: {sentence}")
    for (text, kind), count in sorted(counts.items()):
        print(f"# {text:<10} {kind:<8} {count}")
    for text in sorted({text for text, _ in counts}):
        print(f"# {text:<10} {sum(n for (t, _), n in counts.items() if t == text)}")
