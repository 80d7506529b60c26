# SPDX-License-Identifier: MIT
"""Names that no compiler writes, but a file may have, in every format of calls: each reader gets them whole, escaped as
on a terminal, and below its limit of 32 KiB.

  names_test.py FLOWBACK CC"""

import csv
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402
import perfetto  # noqa: E402
import wire  # noqa: E402

FLOWBACK, CC = sys.argv[1], sys.argv[2]
SOURCE = """
__attribute__((noinline)) int quoted(int n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) int no_utf8(int n) { __asm__ volatile(""); return n + 2; }
__attribute__((noinline)) int longest(int n) { __asm__ volatile(""); return n + 3; }
__attribute__((noinline)) int longer(int n) { __asm__ volatile(""); return n + 4; }
int main(void) { return quoted(1) + no_utf8(2) + longest(3) + longer(4) == 20 ? 0 : 1; }
"""
# Bytes that are not UTF-8, U+FFFE, U+FFFF and a surrogate: XML holds none of them.
NO_TEXT = b"bad\xff\xfe\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80"
# A symbol's name is cut at 16 KiB already; escaped, it may still be longer than the limit.
NAMES = {"quoted": b"we\"ird\n'name'<&>,;\\", "no_utf8": NO_TEXT, "longest": b"std::map<" + b"int, " * 12288,
         "longer": b"longer" + b"\xfe" * 12000}
SHOWN = {"we\"ird\\n'name'<&>,;\\\\", r"bad\xff\xfe\ufffe\uffff\xed\xa0\x80"}
LIMIT = 32 * 1024


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(cls.folder, "odd.c"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
        words = [CC, "-g", "-O1", "-c", "odd.c"]
        run(words, cls.folder)
        renames = [b"--redefine-sym=" + old.encode() + b"=" + new for old, new in NAMES.items()]
        subprocess.run([b"objcopy", *renames, b"odd.o"], cwd=cls.folder, check=True)
        run([CC, "-o", "odd", "odd.o"], cls.folder)
        run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", "odd.data", "--", "./odd"], cls.folder)

    def export(self, form):
        run([FLOWBACK, "export", "--to", form, "-o", "out", "odd.data"], self.folder)
        with open(os.path.join(self.folder, "out"), "rb") as file:
            return file.read()

    def holds(self, names):
        """The four names are among these, and all below the limit."""
        names = set(names)
        self.assertLessEqual(SHOWN, names)
        self.assertEqual(len([name for name in names if re.fullmatch(r"std::map<(int, )*int, ?\.\.\.", name)]), 1)
        self.assertEqual(len([name for name in names if re.fullmatch(
            r"longer(\\xfe)+(\\?|\\x|\\xf)\.\.\. \[48006 bytes, \d+\]", name)]), 1)
        for name in names:
            self.assertLess(len(name.encode("utf-8")), LIMIT)

    def test_json(self):
        self.holds(event["name"] for event in json.loads(self.export("chrome"))["traceEvents"])
        self.holds(frame["name"] for frame in json.loads(self.export("speedscope"))["shared"]["frames"])
        self.holds(json.loads(self.export("firefox"))["shared"]["stringArray"])

    def test_protobuf(self):
        threads = perfetto.read(self.export("perfetto"))
        self.holds(name for thread in threads.values() for _, name, _ in thread.calls)
        profile = gzip.decompress(self.export("pprof"))
        self.holds(value.decode("utf-8") for number, value in wire.fields(profile) if number == 6)

    def test_text(self):
        rows = csv.DictReader(io.StringIO(self.export("csv").decode("utf-8"), newline=""))
        self.holds(row["function"] for row in rows)
        lines = self.export("callgrind").decode("utf-8").split("\n")
        self.holds(line.split(" ", 1)[1] for line in lines if line.startswith(("fn=(", "cfn=(")) and " " in line)

    def test_packets_of_ctf(self):
        self.export("ctf")
        run(["tar", "-xf", "out"], self.folder)
        folder = os.path.join(self.folder, "flowback-ctf")
        with open(os.path.join(folder, "thread-0"), "rb") as file:
            data = file.read()
        self.holds(each.decode("utf-8") for each in data.split(b"\0") if b"std::map" in each or each.startswith(
            (b"we\"ird", b"bad", b"longer")))
        if shutil.which("babeltrace2") is None:
            self.skipTest("this machine has no babeltrace2 (Debian: babeltrace2)")
        self.assertEqual(run(["babeltrace2", "flowback-ctf"], self.folder).stderr, "")

    def test_a_picture_and_a_database(self):
        picture = ElementTree.fromstring(self.export("flamegraph"))
        titles = picture.iter("{http://www.w3.org/2000/svg}title")
        # Code that is too cheap to be seen is left out.
        shown = {title.text.split("\n")[0] for title in titles}
        for name in shown:
            self.assertLess(len(name), LIMIT)
        self.export("sqlite")
        database = sqlite3.connect(os.path.join(self.folder, "out"))
        self.addCleanup(database.close)
        self.holds(name for (name,) in database.execute("SELECT name FROM symbols"))

    def test_markup_of_other_commands(self):
        limit = b"calls(" + NO_TEXT + b") > 0"
        for words, tag in [(["timeline", "--function", "bad*", "--svg", "out.svg", "odd.data"], "text"),
                           (["coverage", "--include", "*odd.c", "--format", "cobertura", "-o", "out.xml", "odd.data"],
                            "method"),
                           (["diff", "odd.data", "odd.data", "--fail-if", limit, "--junit", "out.junit"], "testcase")]:
            run([FLOWBACK, *words], self.folder, status=None)
            path = next(word for word in words if isinstance(word, str) and word.startswith("out."))
            elements = ElementTree.parse(os.path.join(self.folder, path)).iter()
            texts = [(each.tag.split("}")[-1], (each.text or "") + each.get("name", "")) for each in elements]
            self.assertTrue([text for name, text in texts if name == tag and r"\ufffe\uffff\xed\xa0\x80" in text], texts)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
