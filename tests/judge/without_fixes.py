#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the rules of docs/explanation/resync.md and their neighbours out of the decoder, one at a time, and says which tests fail.

    without_fixes.py --folder FOLDER [--traces SHARED] [--whole] [NAME...]

The sources are copied to FOLDER/source and built there once, with every rule behind a switch that FLOWBACK_WITHOUT
names; so nothing here changes in the checkout. Takes a quarter of an hour, and ends with 1 where a rule's absence fails
nothing. `--check` only looks whether each rule's text still stands in its file exactly once.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEADER = "without_fixes.h"
HEADER_TEXT = """#pragma once
#include <cstdlib>
#include <string_view>
inline bool Without(std::string_view name) {
  static const char* const without = std::getenv("FLOWBACK_WITHOUT");
  return without != nullptr && name == without;
}
"""


class Fix(NamedTuple):
    name: str
    file: str
    old: str
    new: str  # `Without` in it stands for the question whether this rule is out


FIXES = [
    Fix("calls forgotten at a loss's end", "decode/pt/engine/flow_sync.h",
        "  EndLoss(Offset(packet_));\n  returns_.Clear();\n",
        "  EndLoss(Offset(packet_));\n  if (!Without) returns_.Clear();\n"),
    Fix("MODE.Exec counts while lost", "decode/pt/engine/flow_bind.h",
        "TakeMode()) mode_.Take(*mode);\n", "TakeMode(); mode && !Without) mode_.Take(*mode);\n"),
    Fix("no transaction behind a contradiction", "decode/pt/engine/flow_sync.h",
        "    last_ip_.Doubt();\n    in_transaction_ = false;\n",
        "    last_ip_.Doubt();\n    if (!Without) in_transaction_ = false;\n"),
    Fix("last IP in doubt", "decode/pt/packets/last_ip.h",
        "void Doubt() { in_doubt_ = true; }", "void Doubt() { in_doubt_ = !Without; }"),
    Fix("no 48-bit address in 32-bit modes", "decode/pt/engine/flow_bind.h",
        ".address_mask) == 0) return ip;", ".address_mask) == 0 || Without) return ip;"),
    Fix("FUPs that only inform", "decode/pt/stream/packet_compound.h",
        "  bool FupTellsPlace(const Ask& followed_by_tip) const {\n",
        "  bool FupTellsPlace(const Ask& followed_by_tip) const {\n    if (Without) return true;\n"),
    Fix("TIP.PGE with its address in doubt", "decode/pt/engine/flow_packets.h",
        "  if (!ip && last_ip_.in_doubt()) {", "  if (!Without && !ip && last_ip_.in_doubt()) {"),
    Fix("TIP.PGD with the last IP in doubt", "decode/pt/engine/flow_packets.h",
        "    if (last_ip_.in_doubt()) return true;\n    Regain();",
        "    if (!Without && last_ip_.in_doubt()) return true;\n    Regain();"),
    Fix("deferred TIPs", "decode/pt/stream/packets_ahead.cc",
        "  if (!tips_come_at_once_) tips", "  if (Without) return true;\n  if (!tips_come_at_once_) tips"),
    Fix("PSB+ at another place", "decode/pt/engine/flow_sync.h",
        "header.ip && !WalkTo(*header.ip)) return false;",
        "header.ip && !Without && !WalkTo(*header.ip)) return false;"),
    Fix("PSB+ without a FUP", "decode/pt/engine/flow_sync.h",
        "!header.ip && !header.overflow)", "!header.ip && !header.overflow && !Without)"),
    Fix("PSB+ with a FUP while off", "decode/pt/engine/flow_sync.h",
        "  if (state_ == State::kOff && header.ip)", "  if (state_ == State::kOff && header.ip && !Without)"),
    Fix("PSB+ in another mode", "decode/pt/engine/flow_sync.h",
        "  if (header.mode && header.mode->Mode() != mode_.code())",
        "  if (header.mode && header.mode->Mode() != mode_.code() && !Without)"),
    Fix("TIP.PGE right behind a PSB+ with a FUP", "decode/pt/engine/flow_sync.h",
        "  return header.ip && !header.overflow && ahead_", "  return header.ip && !Without && !header.overflow && ahead_"),
    Fix("MODE.Exec ahead of a FUP", "decode/pt/stream/packet_compound.h",
        "    use.binds_mode = mode_ && !taken && !use.aborts;",
        "    use.binds_mode = mode_ && !taken && !use.aborts && (!Without || !followed_by_tip());"),
    Fix("TIP.PGD without an IP where no filter was set", "decode/pt/engine/flow_walk.h",
        "  if (!ip && !MayBeFiltered())", "  if (!ip && !MayBeFiltered() && !Without)"),
    Fix("PSB inside a misread packet", "decode/pt/engine/flow_sync.h",
        "  if (psb >= begin + size) return false;", "  if (psb >= begin + size || Without) return false;"),
    Fix("PEBS group that may have ended", "decode/pt/engine/flow_sync.h",
        "  const bool ambiguous = pebs_", "  const bool ambiguous = !Without && pebs_"),
    Fix("code that is known to be missing", "decode/flow/code_view.cc",
        "  if (Epoch().space->WhyNothing(", "  if (!Without && Epoch().space->WhyNothing("),
    Fix("programs whose records were lost", "decode/schedule/stream_input.cc",
        "  if (!changed.empty()) Build(", "  if (!changed.empty() && !Without) Build("),
    Fix("programs only where the trace shows them", "decode/flow/code_view.cc",
        "    if (next.program && !programs) break;",
        "    if (next.program && !programs && !Without) break;"),
    Fix("mappings behind lost records", "decode/code/process_code.h",
        "  void LoseRecords() { lost_ = true; }", "  void LoseRecords() { lost_ = !Without; }"),
    Fix("clock in doubt behind a gap", "decode/pt/time/clock.h",
        "    in_doubt_ = anchored_;", "    in_doubt_ = anchored_ && !Without;"),
    Fix("turns unseen in a pause", "decode/pt/time/clock.h",
        "  void OnPause() { unseen_turns_ = true; }", "  void OnPause() { unseen_turns_ = !Without; }"),
    Fix("a ratio sent after an MTC", "decode/pt/time/clock.cc",
        "folded_cycles_ == 0 && base_lo_ == base_hi_;", "folded_cycles_ == 0 && (Without || base_lo_ == base_hi_);"),
    Fix("packets that settle nothing", "decode/pt/engine/flow_sync.h",
        "    EndPacket(StandsForItself(packet) || told ?",
        "    EndPacket(Without || StandsForItself(packet) || told ?"),
    Fix("interrupts at places that no code leads to", "decode/pt/engine/flow_bind.h",
        "    if (on && !walks && compound_", "    if (!Without && on && !walks && compound_"),
    Fix("PSB inside a compound", "decode/pt/engine/flow_sync.h",
        "(!was_lost && compound_.fup_is_due()))", "(!was_lost && !Without && compound_.fup_is_due()))"),
    Fix("TSC's upper bits by a reference", "decode/pt/time/clock.cc",
        "reference_(config.tsc_reference)", "reference_(Without ? 0 : config.tsc_reference)"),
    Fix("moves between CPUs", "decode/schedule/cpu_moves.cc",
        "  Mover(recording, source, schedules, inputs).Run();",
        "  if (!Without) Mover(recording, source, schedules, inputs).Run();"),
    Fix("moves in the order of time", "decode/schedule/merge_stretches.cc",
        "    if (parts_.empty() || sources_[current_].done()) return false;\n",
        "    if (parts_.empty() || sources_[current_].done()) return false;\n    if (Without) return true;\n"),
]

# Each test program, and which of its tests are quick enough to run for each rule: together half a minute. Each rule's
# absence makes one of them fail; with --whole all of their tests are run, which takes minutes for each.
PROGRAMS = {
    "behaviour_test": "*",
    "code_test": "ProcessCode*",
    "pt_test": "Clock*:CodeView*:FlowEngine*:TimesTest*",
    "schedule_test": "MergeStretches*",
    "judge_seeds_test": "*/0:*/1:*/6",
    "judge_raw_test": "*/hello_*:*/retmix_*",
    "judge_threads_test": "*/hello:*/switch_cyc:*WithLostRecords/execs",
    "cli_test": "CpuMovesOf*:*/CpuMoves.*/0:*/CpuMoves.*/1",
}


def changed_sources():
    """The text of each file with a rule, with all of its rules behind switches."""
    texts = {}
    for fix in FIXES:
        text = texts.setdefault(fix.file, (ROOT / fix.file).read_text())
        if text.count(fix.old) != 1:
            raise SystemExit(f"{fix.file}: the text of '{fix.name}' stands there {text.count(fix.old)} times, not once:\n"
                             f"{fix.old}\nGive the rule's present text in {__file__}.")
        switch = re.sub(r"\bWithout\b", f'Without("{fix.name}")', fix.new)
        texts[fix.file] = text.replace(fix.old, switch)
    return {file: f'#include "{HEADER}"\n{text}' for file, text in texts.items()}


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def copy_sources(target):
    changed = changed_sources()

    def copy(source, to):
        if os.path.relpath(source, ROOT) in changed:
            return
        new = os.stat(source)
        old = os.stat(to) if os.path.exists(to) else None
        if old is None or (old.st_size, old.st_mtime_ns) != (new.st_size, new.st_mtime_ns):
            shutil.copy2(source, to)

    shutil.copytree(ROOT, target, copy_function=copy, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("build", ".git"))
    for file, text in changed.items():
        write(target / file, text)
    write(target / HEADER, HEADER_TEXT)


def build(source):
    subprocess.run(["cmake", "--preset", "release"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "flowback", *PROGRAMS],
                   cwd=source, check=True, stdout=subprocess.DEVNULL)


def named(failed):
    """A few of the tests that fail, by the shortest names that tell them apart."""
    usual = r"^(Cases/Behaviour\.NativeSaysWhatIsExpected/|Cases/|Shard/GeneratedSeeds\.|Shared/)"
    names = sorted({re.sub(usual, "", test) for test in failed})
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def failing(program, tests, environment):
    """Which tests fail, and what the judges count as false: stretches, times, threads."""
    done = subprocess.run([program, f"--gtest_filter={tests}"], env=environment, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800)
    failed = set(re.findall(r"^\[  FAILED  \] (\S+?)(?:,.*)? \(\d+ ms\)$", done.stdout, re.M))
    counts = {}
    for what, number in re.findall(r"wrong (stretches|times|threads) (\d+)", done.stdout):
        counts[what] = counts.get(what, 0) + int(number)
    false = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number)
    if done.returncode not in (0, 1):
        return f"ends with {done.returncode}"
    if not failed and done.returncode == 0:
        return ""
    return named(failed) + (f" ({false} false)" if false else "")


def report(source, names, shared, whole):
    environment = dict(os.environ, FLOWBACK_SHARED=str(shared))
    missed = 0
    for name in names:
        environment["FLOWBACK_WITHOUT"] = name
        found = {}
        for program, tests in PROGRAMS.items():
            # The numbers in judge.md are those of full runs, but for the seeds, of which there are enough.
            environment["FLOWBACK_FULL"] = "1" if whole or program != "judge_seeds_test" else ""
            says = failing(source / "build/release/bin" / program, "*" if whole else tests, environment)
            if says:
                found[program] = says
        missed += name != "" and not found
        print(f"| {name or '(all in)'} | " + ("; ".join(f"`{p}`: {s}" for p, s in found.items()) or "nothing fails") + " |",
              flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look whether the rules' texts are still there")
    parser.add_argument("--folder", type=pathlib.Path, help="where to build")
    parser.add_argument("--traces", type=pathlib.Path, default=ROOT.parent / "shared", help="shared recordings")
    parser.add_argument("--whole", action="store_true", help="every test of the programs, for hours")
    parser.add_argument("names", nargs="*", help="rules; all when none is named")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {fix.name for fix in FIXES}
    if unknown:
        parser.error(f"no such rule: {', '.join(sorted(unknown))}")
    if arguments.check:
        changed_sources()
        print(f"{len(FIXES)} rules, each once in its file")
        return 0
    if arguments.folder is None:
        parser.error("--folder says where to build")
    source = arguments.folder.resolve() / "source"
    copy_sources(source)
    build(source)
    names = arguments.names or ["", *(fix.name for fix in FIXES)]
    return 1 if report(source, names, arguments.traces.resolve(), arguments.whole) else 0


if __name__ == "__main__":
    sys.exit(main())
