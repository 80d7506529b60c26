# SPDX-License-Identifier: MIT
"""Inputs: generated recordings of the shared folder, and real programs recorded here."""
import pathlib
import random
import shlex
import shutil
import subprocess

import cold
import recording
from processes import Skip, output

# perf's spelling; plain is what the fuzzing decoders can read.
VARIANTS = {
    "default": "intel_pt//u",
    "plain": "intel_pt/noretcomp=1,tsc=0,mtc=0/u",
    "cyc": "intel_pt/cyc=1/u",
}


def _source(functions):
    """C for the compiler to chew: loops, switches, calls."""
    of = random.Random(7)
    text = "int length(const char*);\n"
    for i in range(functions):
        text += (f"int f{i}(int a, int b) {{ int s = {i};"
                 f" for (int i = 0; i < a; ++i) switch (i % {3 + i % 7}) {{"
                 f" case 0: s += b * {of.randrange(99)}; break;"
                 f" case 1: s ^= a << {i % 13}; break;"
                 f" case 2: if (s > {of.randrange(999)}) s -= f{max(i - 1, 0)}(s & 7, b); break;"
                 f" default: s = s * {of.randrange(1, 99)} % {of.randrange(2, 997)}; }}"
                 f" return s + length(\"x{i}\"); }}\n")
    return text


def _text(size):
    """Words as often as in a language, one far more often than the next."""
    of = random.Random(11)
    words = ["".join(of.choices("etaoinshrdlu", k=of.randrange(2, 9))) for _ in range(4000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    text = " ".join(of.choices(words, weights, k=size // 4)).encode()
    return text[:size]


def _compiler():
    if shutil.which("gcc") is None:
        return "cc1"
    return subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True,
                          check=True).stdout.strip()


class Recorded:
    """One recording, and the options to decode its stream without it."""

    def __init__(self, name, file, options):
        self.name, self.file, self.options = name, file, options

    @property
    def trace_bytes(self):
        return pathlib.Path(self.options[self.options.index("--raw-pt") + 1]).stat().st_size


class Inputs:
    """Recordings in a folder, each made when it is first asked for."""

    def __init__(self, folder, binaries, large):
        self._folder, self._flowback, self._large = folder, str(binaries / "flowback"), large
        self._made = {}

    def _commands(self):
        """Fifty to a hundred million instructions each; large-gzip has four thousand million."""
        short, text = self._folder / "short", self._folder / "text"
        if not text.exists():
            text.write_bytes(_text(20_000_000))
            short.write_bytes(text.read_bytes()[:200_000])
        source = self._folder / "source.i"
        source.write_text(_source(4))
        return {
            "large-gzip": ["gzip", "-c", str(text)],
            "gzip": ["gzip", "-c", str(short)],
            "sqlite3": ["sqlite3", ":memory:", recording.QUERY.replace("300000", "6000")],
            "python3": ["python3", "-S", "-c", recording.SCRIPT.replace("120000", "9000")],
            "cc1": [_compiler(), "-quiet", "-O1", "-fpreprocessed", str(source), "-o", "/dev/null"],
        }

    def generated(self, name):
        """The raw-stream options of a recording of the shared folder."""
        if not (cold.generated_folder() / name).is_dir():
            raise Skip(f"{name} is not in {cold.generated_folder()}: set FLOWBACK_SHARED")
        return cold.options_of(name)

    def recorded(self, name, variant="default"):
        key = f"{name}-{variant}"
        if key not in self._made:
            self._made[key] = self._record(key, self._commands()[name], VARIANTS[variant])
        return self._made[key]

    def _record(self, key, command, event):
        if shutil.which(command[0]) is None:
            package = {"cc1": "gcc"}.get(pathlib.Path(command[0]).name, command[0])
            raise Skip(f"{command[0]} is not installed: apt-get install {package}")
        file, raw = self._folder / f"{key}.data", self._folder / key
        print(f"recording {key} ...", flush=True)
        output([self._flowback, "record", "--engine", "emulate", "-e", event, "-o", str(file),
                "--raw-dir", str(raw), "--", *command])
        words = shlex.split((raw / "command.txt").read_text().replace("\\\n", " "))
        return Recorded(key, str(file), words[words.index("--as") + 2:])

    def large(self):
        """The recording named on the command line, else one of gzip; over 100 MB of trace."""
        if self._large is not None:
            return Recorded(pathlib.Path(self._large).name, str(self._large), None)
        return self.recorded("large-gzip")
