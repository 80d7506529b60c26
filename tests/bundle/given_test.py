# SPDX-License-Identifier: MIT
"""Raw traces with the code that the command line names, and split debug files, packed: in a folder that has nothing
else, every command says what it said before.

  given_test.py FLOWBACK RECORDINGS"""

import json
import os
import shutil
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402
from asked import COMMANDS, say  # noqa: E402

FLOWBACK, RECORDINGS = sys.argv[1:3]
AUXTRACE = 71  # PERF_RECORD_AUXTRACE


def raw_traces(path):
    """The trace bytes in a perf.data file, by CPU or thread."""
    with open(path, "rb") as file:
        data = file.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end, traces = at + size, {}
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == AUXTRACE:
            bytes_, _, _, index = struct.unpack_from("<QQQI", data, at + 8)
            traces[index] = traces.get(index, b"") + data[at + length:at + length + bytes_]
            at += bytes_
        at += length
    return [traces[index] for index in sorted(traces)]


class Given(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.here, self.there = (os.path.join(self.folder, name) for name in ("here", "there"))
        os.mkdir(self.here)
        os.mkdir(self.there)

    def assert_same(self, name, options, commands, pack_options=()):
        """Packs the input, takes all files away, and asks the bundle. Returns its members' names."""
        before = [say(FLOWBACK, words, name, self.here, *options) for words in commands]
        self.assertTrue(any(status == 0 and out for status, out, _ in before), before)
        words = [FLOWBACK, "pack", *([] if "--raw-pt" in options else [name]), *options, *pack_options, "-o", "../there/it.tar.zst"]
        self.assertNotIn("not packed", run(words, self.here).stderr)
        os.rename(self.here, self.here + ".gone")
        shutil.rmtree(self.here + ".gone")
        # Nothing of the sources, either.
        for words, (status, out, err) in zip(commands, before):
            with self.subTest(" ".join(words)):
                asked = [word for word in words if word != "{}"] if "--raw-pt" in options else words
                said = say(FLOWBACK, [*asked[:1], "{}", *asked[1:]] if "--raw-pt" in options else asked, "it.tar.zst", self.there)
                # unittest would compare long texts for minutes.
                self.assertTrue(said == (status, out, err), (said[0], status, said[1][:500], out[:500], said[2], err))
        # Packed again, it has the same.
        run([FLOWBACK, "pack", "it.tar.zst", "-o", "again.tar.zst"], self.there)
        digest = ["decode", "{}", "--as", "lines"]
        self.assertTrue(say(FLOWBACK, digest, "again.tar.zst", self.there) == say(FLOWBACK, digest, "it.tar.zst", self.there))
        told = json.loads(run([FLOWBACK, "info", "it.tar.zst", "--json"], self.there).stdout)
        return [member["name"] for member in told["bundle"]["members"]]

    def raw(self):
        """A raw trace and its program, and what the recording says of the processor."""
        recording = os.path.join(RECORDINGS, "branches.data")
        for number, trace in enumerate(raw_traces(recording)):
            with open(os.path.join(self.here, f"pt{number}.bin"), "wb") as file:
                file.write(trace)
        images = recording + ".images"
        with open(os.path.join(images, "index"), encoding="utf-8") as index:
            name = next(line.split()[1] for line in index if line.startswith("image ") and line.rstrip().endswith("branches"))
        shutil.copy(os.path.join(images, name), os.path.join(self.here, "program"))
        commands = [[word for word in words if word != "{}"] for words in COMMANDS if words[0] not in ("spikes", "locks")]
        return [[words[0], *words[1:]] for words in commands]

    def test_a_raw_trace_and_its_image(self):
        commands = self.raw()
        options = ["--raw-pt", "pt0.bin", "--image", "./program", "--cpu", "6/158/9", "--tsc-ctc", "200/2", "--mtc-freq", "3",
                   "--nominal-freq", "33", "--time-conv", "10,1000,5000"]
        names = self.assert_same("pt0.bin", options, commands)
        self.assertIn("recording/pt0.bin", names)
        self.assertTrue(any(name.endswith("-program") for name in names), names)

    def test_a_raw_trace_and_a_section(self):
        commands = self.raw()
        said = run(["readelf", "-lW", "program"], self.here).stdout
        load = next(line.split() for line in said.splitlines() if line.strip().startswith("LOAD") and " E " in line)
        offset, address, size = load[1], load[2], load[4]
        options = ["--raw-pt", "pt0.bin", "--section", f"program:{offset}:{size}:{address}"]
        names = self.assert_same("pt0.bin", options, commands[:4])
        self.assertTrue(any(name.endswith("-program") for name in names), names)

    def split(self, compiler="gcc"):
        """A program whose debug information is in other files."""
        with open(os.path.join(self.here, "program.c"), "w", encoding="utf-8") as file:
            file.write("static inline __attribute__((always_inline)) int twice(int n) { return n * 2 + 1; }\n"
                       "__attribute__((noinline)) int add(int n) {\n  return twice(n) + 3;\n}\n"
                       "int main(int count, char **words) {\n  return add(count) == 0;\n}\n")
        run([compiler, "-g", "-gsplit-dwarf", "-O1", "-c", "program.c"], self.here)
        run([compiler, "-g", "-gsplit-dwarf", "-O1", "-o", "program", "program.o"], self.here)
        self.assertTrue(os.path.exists(os.path.join(self.here, "program.dwo")))
        run([FLOWBACK, "record", "-q", "-o", "r.data", "--", "./program"], self.here)
        shutil.rmtree(os.path.join(self.here, "r.data.images"))
        return [["decode", "{}", "--as", "instructions", "-F", "ip,srcline"], ["decode", "{}", "--as", "lines"],
                ["coverage", "{}", "--format", "annotate"], ["stack", "{}", "--at", "end"]]

    def test_a_split_debug_file(self):
        commands = self.split()
        listed = run([FLOWBACK, "decode", "r.data", "--as", "lines"], self.here).stdout
        self.assertIn("twice", listed)  # only the split file names what was inlined
        names = self.assert_same("r.data", [], commands)
        self.assertTrue(any(name.startswith("root/") and name.endswith("program.dwo") for name in names), names)

    def test_a_package_of_split_debug_files(self):
        tool = next((tool for tool in ("llvm-dwp-19", "llvm-dwp") if shutil.which(tool)), None)
        compiler = next((tool for tool in ("clang-19", "clang") if shutil.which(tool)), None)
        if tool is None or compiler is None:
            self.skipTest("there is no llvm-dwp, or no clang")
        commands = self.split(compiler)  # llvm-dwp 19 does not end with gcc's
        run([tool, "-e", "program", "-o", "program.dwp"], self.here)
        os.remove(os.path.join(self.here, "program.dwo"))
        self.assertIn("twice", run([FLOWBACK, "decode", "r.data", "--as", "lines"], self.here).stdout)
        names = self.assert_same("r.data", [], commands)
        self.assertTrue(any(name.endswith(".dwp") for name in names), names)


if __name__ == "__main__":
    os.environ["FLOWBACK_CACHE"] = tempfile.mkdtemp()
    try:
        result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    finally:
        shutil.rmtree(os.environ["FLOWBACK_CACHE"])
    for why in sorted({why for _, why in result.skipped}):
        print("left out:", why)
    sys.exit(not result.wasSuccessful())
