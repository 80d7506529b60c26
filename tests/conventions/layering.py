# SPDX-License-Identifier: MIT
"""Checks includes: ARCHITECTURE.md's arrows, and one door for each third party."""

import os
import re

# Room: the folders (or files) that are it, and the rooms whose headers it may include beside its own.
_FIRST = ["base", "model"]
_CODE = ["instruction", "code"]
_BELOW_CLI = ["decode", "capture", "replay"]
ROOMS = {
    "base": (["include/flowback/base/"], []),
    "model": (["include/flowback/model/", "base/"], ["base"]),
    # What a kind of trace was recorded with: for its source, and for those who read and write it.
    "pt_config": (["base/recorded/pt_config.h"], ["base", "model"]),
    "branch_records": (
        ["base/recorded/branch_records.h", "base/recorded/branch_kinds.def"],
        ["base", "model"],
    ),
    "packets": (["decode/pt/packets/"], _FIRST),
    "instruction": (["decode/instruction/"], _FIRST),
    "code": (
        [
            "decode/code/",
            "include/flowback/decode/code_image.h",
            "include/flowback/decode/recording_code.h",
        ],
        _FIRST + ["instruction"],
    ),
    # Describes flow, of any hardware.
    "flow": (["decode/flow/"], _FIRST + ["instruction", "code"]),
    # Requests about trace and flow, of any hardware.
    "decode": (["decode/", "include/flowback/decode/"], _FIRST + _CODE),
    "schedule": (["decode/schedule/"], _FIRST + _CODE + ["decode"]),
    # A source of trace each. Only their own folders know the hardware.
    "pt": (["decode/pt/"], _FIRST + _CODE + ["flow", "packets", "pt_config", "decode"]),
    "branch_stack": (["decode/branch_stack/"], _FIRST + _CODE + ["flow", "branch_records", "decode"]),
    # It reads and writes packets of Intel PT, but never decodes.
    "capture": (["capture/", "include/flowback/capture/"], _FIRST + _CODE + ["packets", "pt_config", "branch_records"]),
    # Loaded by QEMU into the emulated process: it shares the packet generator with the recorders.
    "emulate": (["capture/emulate/"], _FIRST + ["packets", "instruction", "capture"]),
    # Linked into programs that record themselves.
    "self": (["capture/self/", "include/flowback/self.h", "include/flowback/self_region.h"], _FIRST + ["capture"]),
    "replay": (["replay/", "include/flowback/replay/"], _FIRST + _CODE + ["decode"]),
    # Values along a flow, from any source of flow.
    "values": (["replay/values/"], _FIRST + ["instruction"]),
    # The library's front door opens a recording and hands out everything below it.
    "session": (
        ["replay/session/", "include/flowback/session.h"],
        _FIRST + _CODE + _BELOW_CLI,
    ),
    # Recordings as debuggers see them: the replayed machine, and gdb's protocol to it.
    "debug": (["replay/debug/"], _FIRST + _CODE + ["decode", "replay", "session", "values"]),
    # What happened before a process died.
    "crash": (["replay/crash/"], _FIRST + _CODE + ["decode", "replay", "session", "debug", "values"]),
    "gdb": (["replay/gdb/"], _FIRST + _CODE + ["decode", "replay", "session", "writers", "debug", "values"]),
    # Editors' protocol to it. Names and the console's commands are those of gdb's server.
    "dap": (["replay/dap/"], _FIRST + _CODE + ["decode", "replay", "session", "debug", "gdb"]),
    # What the library writes for other programs and for people.
    "writers": (["replay/writers/", "include/flowback/writers.h", "include/flowback/flowback.h"], _FIRST + _CODE + _BELOW_CLI + ["session"]),
    # Recordings as tables of a database.
    "query": (["replay/query/"], _FIRST + _CODE + _BELOW_CLI + ["session", "writers"]),
    # Two recordings, compared.
    "diff": (["replay/diff/"], _FIRST + _CODE + ["decode", "replay"]),
    # What commands have in common knows no command.
    "cli_ground": (
        ["cli/command.h", "cli/commands.def", "cli/options/", "cli/reading/", "cli/text/"],
        _FIRST + _CODE + _BELOW_CLI + ["session", "writers"],
    ),
    "cli_listing": (["cli/listing/"], _FIRST + _CODE + _BELOW_CLI + ["session", "writers", "cli_ground"]),
    "cli": (
        ["cli/"],
        _FIRST + _CODE + _BELOW_CLI + ["session", "writers", "debug", "crash", "values", "gdb", "dap", "query", "diff", "cli_ground", "cli_listing"],
    ),
}

# Rooms that are divided into parts, from the bottom up: subfolders, or single files. A part may include
# itself and those before it, so there are no circles. "." stands for the other files directly in the folder.
PARTS = {
    "base/": "linux . recorded",
    "capture/formats/": "input perf_records branches samples perf_data .",
    "capture/record/": "target image watch generate output perf_data control events event_recorder step emulate .",
    "decode/code/": "cache images core .",
    "decode/pt/": "flow_names.h packets time memo stream sinks engine state libipt . source",
    "replay/calls/": "unwind shadow_stack .",
    "replay/coverage/": ". report",
    "replay/crash/": "dump history .",
    "replay/debug/": "machine values source .",
    "replay/locks/": "loops wait_shares.h locks.h holders .",
    "replay/spikes/": "instances causes .",
    "replay/symbols/": "demangle elf frames lines . dwarf",
}

# What only the rooms of a kind of trace may say in code, and those who read and write it. Comments,
# and words that the user reads or types, may.
HARDWARE = re.compile(r"\bPtConfig\w*|\bpt::\w+|\bnamespace pt\b|\bk?(?:Psb|PSB)\w*")
KNOWS_HARDWARE = ("pt", "pt_config", "packets", "capture", "emulate")

# Start of a third party's header name: the folders that may include it.
DOORS = {
    "intel-pt.h": ["decode/pt/libipt/", "tests/"],
    "Zydis/": ["decode/instruction/", "tests/"],
    "capstone/": ["decode/instruction/", "tests/"],
    "llvm": ["decode/instruction/", "replay/symbols/", "tests/"],
    "libelf": ["decode/code/", "replay/symbols/", "tests/"],
    "gelf": ["decode/code/", "replay/symbols/", "tests/"],
    "lzma": ["replay/symbols/", "tests/"],
    "google/": ["replay/writers/calls/", "tests/"],
    "archive": ["capture/bundle/", "tests/"],
    "zstd": [
        "capture/formats/perf_records/record_decompressor.cc",
        "capture/bundle/",
        "replay/writers/text/packed_sink.cc",
        "tests/",
    ],
    "nlohmann/": ["capture/formats/input/json_document.cc", "capture/bundle/", "replay/dap/", "replay/writers/", "cli/", "tests/"],
    "CLI/": ["cli/"],
    "sqlite3": ["replay/query/", "replay/writers/calls/sqlite/", "tests/"],
    "editline/": ["cli/query/"],
    "gtest/": ["tests/"],
    "gmock/": ["tests/"],
    "benchmark/": ["tests/"],
}


def room_of(path):
    fits = [(len(p), room) for room, (places, _) in ROOMS.items() for p in places if path.startswith(p)]
    return max(fits)[1] if fits else None


def part_of(folder, path):
    """Returns the part of a divided room that the path lies in: a subfolder, a single file, or "."."""
    first, slash, _ = path[len(folder) :].partition("/")
    return first if slash or first in PARTS[folder].split() else "."


def _parts(where, path, target):
    """Holds one include against the order of the parts."""
    for folder, order in PARTS.items():
        if path.startswith(folder):
            part, parts = part_of(folder, path), order.split()
            if part not in parts:
                yield f"{where}: {folder}{part} is no part of {folder}: see PARTS in tests/conventions/layering.py"
            elif target.startswith(folder):
                other = part_of(folder, target)
                if other in parts and parts.index(other) > parts.index(part):
                    yield f"{where}: {folder}{part} must not include {folder}{other} ({os.path.basename(target)})"


def _resolve(project, path, name):
    for base in ("include", "", os.path.dirname(path)):
        candidate = os.path.normpath(os.path.join(base, name))
        if project.exists(candidate):
            return candidate
    return None


def _code(text):
    """The text without comments and strings, its lines kept."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)


def _hardware(project, path):
    for number, line in enumerate(_code(project.text(path)).splitlines(), 1):
        for word in HARDWARE.findall(line):
            yield f"{path}:{number}: {word} is Intel PT's: behind a TraceSource nobody asks which hardware it was"


def check(project):
    for path in project.cpp():
        room = room_of(path)
        if room is not None and room not in KNOWS_HARDWARE:
            yield from _hardware(project, path)
        for number, angle, name in project.includes(path):
            where = f"{path}:{number}"
            for start, folders in DOORS.items():
                if name.startswith(start) and not path.startswith(tuple(folders)):
                    yield f"{where}: <{name}> may be included in {' '.join(folders)} only"
            if path.startswith("include/"):
                standard = angle and "." not in name and "/" not in name
                if not standard and not name.startswith("flowback/"):
                    yield f"{where}: a public header includes {name}, which is not ours or the standard's"
            if path.startswith("samples/") and not angle and not name.startswith("flowback/"):
                # A sample may consist of several files, which lie side by side.
                if not os.path.isfile(os.path.join(project.root, os.path.dirname(path), name)):
                    yield f"{where}: a sample uses public headers only, not {name}"
            target = None if angle or room is None else _resolve(project, path, name)
            if target:
                yield from _parts(where, path, target)
            target_room = target and room_of(target)
            if target_room and target_room != room and target_room not in ROOMS[room][1]:
                yield f"{where}: {room} must not include {target_room} ({name})"
