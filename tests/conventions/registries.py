# SPDX-License-Identifier: MIT
"""Every row of a table is implemented and used, and everything that belongs in a table is there."""

import os
import re

PACKET_LIST = "decode/pt/packets/packet_list.h"
COMMANDS = "cli/commands.def"

# Table: how a row's first cell is used in the code, and the folders to look in.
USES = {
    "include/flowback/model/events.def": (r"\bEventKind::{0}\b", ["decode/", "capture/"]),
    "include/flowback/model/loss_causes.def": (r"\bLossCause::{0}\b", ["decode/", "capture/", "replay/"]),
    "include/flowback/model/code_modes.def": (r"\bCodeMode::{0}\b", ["decode/"]),
    "decode/pt/stream/errata.def": (r"(?:\.|->|::){0}\b", ["decode/"]),
}

# Table: the folder whose .cc files are its rows, one each.
FOLDERS = {
    "replay/analyses/analyses.def": "replay/analyses/",
}


def _code(project, folders):
    return "\n".join(project.text(path) for folder in folders for path in project.cpp(under=folder))


def _uses(project):
    for table, (pattern, folders) in USES.items():
        if not project.exists(table):
            continue
        code = _code(project, folders)
        for row in project.table(table):
            if not re.search(pattern.format(row[0]), code):
                yield f"{table}: nothing in {' '.join(folders)} uses {row[0]}"


def _folders(project):
    for table, folder in FOLDERS.items():
        if not project.exists(table):
            continue
        rows = {row[0].strip('"') for row in project.table(table)}
        files = {os.path.basename(f)[:-3] for f in project.select(".cc", under=folder)}
        for row in sorted(rows - files):
            yield f"{table}: {row} has no {folder}{row}.cc"
        for file in sorted(files - rows):
            yield f"{folder}{file}.cc: not in {table}"


def _packets(project):
    """A packet is a struct with a kName; the list names each exactly once."""
    if not project.exists(PACKET_LIST):
        return
    code = _code(project, [os.path.dirname(PACKET_LIST) + "/"])
    structs = re.findall(r"struct (\w+)[^{};]*\{[^}]*?\bkName =", code)
    listed = re.search(r"PacketList<(.*?)>;", project.text(PACKET_LIST), re.S)
    names = re.findall(r"\b[A-Z]\w+", re.sub(r"//.*", "", listed[1]))
    for name in structs:
        if names.count(name) != 1:
            yield f"{PACKET_LIST}: lists packet {name} {names.count(name)} times"
    for name in set(names) - set(structs):
        yield f"{PACKET_LIST}: {name} is no packet struct of its folder"


def _commands(project):
    if not project.exists(COMMANDS):
        return
    code = _code(project, ["cli/"])
    defined = re.findall(r"^int (Run\w+)\(const Arguments&", code, re.M)
    rows = project.table(COMMANDS)
    for name, function in (row[:2] for row in rows):
        if defined.count(function) != 1:
            yield f"{COMMANDS}: {name} runs {function}, defined {defined.count(function)} times in cli/"
    for function in sorted(set(defined) - {row[1] for row in rows}):
        yield f"cli/: {function} is not in {COMMANDS}"
    for row in rows:
        manual = f"docs/man/{row[0].strip(chr(34))}.roff"
        if project.exists("docs/man/flowback.1.in") and not project.exists(manual):
            yield f"{manual}: missing: each command has a manual page"


def _compare(table, listed, defined, folder):
    for name in sorted(set(listed) - set(defined)):
        yield f"{table}: {name} is not defined in {folder}"
    for name in sorted(set(defined) - set(listed)):
        yield f"{folder}: {name} is not in {table}"


def _decoders(project):
    table = "decode/pt/source/engines.def"
    if project.exists(table):
        listed = re.findall(r"\bMake\w+Decoder\b", "".join(map(str, project.table(table))))
        code = _code(project, ["decode/"])
        defined = re.findall(r"^std::unique_ptr<Decoder> (Make\w+Decoder)\(\)\s*\{", code, re.M)
        yield from _compare(table, listed, defined, "decode/")


def _sources(project):
    table = "decode/sources.def"
    if project.exists(table):
        listed = re.findall(r"\bOpen\w+Source\b", "".join(map(str, project.table(table))))
        code = _code(project, ["decode/"])
        defined = re.findall(r"^std::shared_ptr<const TraceSource> (Open\w+Source)\(const Recording& \w+\)\s*\{", code, re.M)
        yield from _compare(table, listed, defined, "decode/")


def _formats(project):
    table = "capture/formats/input/formats.def"
    if project.exists(table):
        ids = [row[0] for row in project.table(table)]
        code = _code(project, ["capture/formats/"])
        for kind, result in (("Matches", "bool"), ("Read", "Status")):
            defined = re.findall(rf"^{result} ({kind}\w+)\([^;{{}}]*Candidate&[^;{{}}]*\)\s*\{{", code, re.M)
            yield from _compare(table, [kind + name for name in ids], defined, "capture/formats/")


def _recorders(project):
    table = "capture/record/recorders.def"
    if project.exists(table):
        listed = re.findall(r"\bMake\w+Recorder\b", "".join(map(str, project.table(table))))
        code = _code(project, ["capture/record/"])
        defined = re.findall(r"^std::unique_ptr<Recorder> (Make\w+Recorder)\(const RecordOptions& \w+\)\s*\{", code, re.M)
        yield from _compare(table, listed, defined, "capture/record/")


def _writers(project):
    """A file write_*.cc is there for at least one row; other files may define rows as well."""
    table = "replay/writers/writers.def"
    if not project.exists(table):
        return
    listed = [row[2] for row in project.table(table)]
    defines = {
        path: re.findall(r"^(?:void|Status) (\w+)\([^;{}]*TextSink& \w+\)\s*\{", project.text(path), re.M)
        for path in project.select(".cc", under="replay/writers/")
    }
    defined = [name for names in defines.values() for name in names]
    yield from _compare(table, listed, set(defined) & set(listed), "replay/writers/")
    for path, names in defines.items():
        if os.path.basename(path).startswith("write_") and not set(names) & set(listed):
            yield f"{path}: none of its functions is in {table}"


def check(project):
    for part in (_uses, _folders, _packets, _commands, _decoders, _sources, _formats, _recorders, _writers):
        yield from part(project)
