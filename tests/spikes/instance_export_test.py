#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""instance_export_test.py FLOWBACK SERVER: `export --instance N` writes that instance, to the instruction.

The judge is the listing of the thread's blocks: the instance has the instructions from the first one that `spikes`
names on, as many as it and the list of instances say."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import truth

FLOWBACK, SERVER = sys.argv[1:3]


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        os.environ["FLOWBACK_CACHE"] = os.path.join(cls.folder.name, "cache")
        cls.run_command("record", "-q", "-o", "r.data", "--", SERVER, "--cause", "two-apart", "--requests", "200",
                        "--every", "20", "--threads", "2", "--seed", "3", "--truth", "truth.json")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    @staticmethod
    def run_command(*words):
        return subprocess.run([FLOWBACK, *words], check=True, capture_output=True, text=True).stdout

    def outliers(self, *words):
        """The slow instances, the slowest first, and the instructions of each by the list of instances."""
        found = json.loads(self.run_command("spikes", "r.data", "--json", "--save-instances", "i.csv", *words))["outliers"]
        with open("i.csv", encoding="utf-8") as file:
            listed = {int(row["instance"]): int(row["instructions"]) for row in csv.DictReader(file)}
        return found, [listed[one["instance"]] for one in found]

    def exported(self, number, *words):
        self.run_command("export", "r.data", "--instance", str(number), "-o", "exported", *words)
        with open("exported", encoding="utf-8") as file:
            return file.read()

    def blocks(self, outlier, count):
        """The blocks that the instance consists of."""
        listed = self.run_command("decode", "r.data", "--as", "blocks", "--json", "--tid", str(outlier["thread"]))
        first, position, blocks = outlier["first_instruction"], 0, []
        for line in listed.splitlines()[1:]:
            block = json.loads(line)
            if block["type"] != "block":
                continue
            if first <= position < first + count:
                blocks.append(block)
                self.assertLessEqual(position + block["instructions"], first + count, "ends with a block")
            position += block["instructions"]
        self.assertEqual(sum(block["instructions"] for block in blocks), count)
        return blocks

    def test_branches(self):
        outliers, counts = self.outliers("handle")
        for number, (outlier, count) in enumerate(zip(outliers, counts), 1):
            self.assertEqual(count, outlier["instructions"])
            taken = [(int(block["last_ip"], 16), int(block["next"], 16))
                     for block in self.blocks(outlier, count) if block["exit"] == "taken"]
            stacks = re.findall(r"^ +[0-9a-f]+ +(0x.*)$", self.exported(number, "--to", "brstack"), re.M)
            written = []
            for stack in stacks:
                entries = [entry.split("/")[:2] for entry in stack.split()]
                written += [(int(begin, 16), int(end, 16)) for begin, end in reversed(entries)]
            self.assertEqual(written, taken)

    def test_instructions(self):
        """As many as the ranges of the profile have, each as often as it ran."""
        outliers, counts = self.outliers("spiky::describe*", "--over", "p50")
        entries = truth.Addresses(SERVER).spans
        (begin, end) = next((at, at + size) for at, size, name in entries if name.startswith("spiky::describe("))
        listed = self.run_command("decode", "r.data", "--as", "instructions", "--json", "-F", "ip,sym,symoff",
                                  "--tid", str(outliers[0]["thread"]), "--function", "spiky::describe*")
        offsets = set()
        for line in listed.splitlines()[1:]:
            one = json.loads(line)
            if one["type"] == "instruction":
                offsets.add(begin + one["symoff"])
        for number, (outlier, count) in enumerate(zip(outliers, counts), 1):
            profile = self.exported(number, "--to", "bolt-preagg", "--object", os.path.basename(SERVER))
            own = 0
            for first, last, times in re.findall(r"^F ([0-9a-f]+) ([0-9a-f]+) (\d+)$", profile, re.M):
                inside = [at for at in offsets if int(first, 16) <= at <= int(last, 16)]
                own += int(times) * len(inside)
            blocks = self.blocks(outlier, count)
            base = int(blocks[0]["ip"], 16) - begin
            expected = 0
            for block in blocks:
                at, last = int(block["ip"], 16) - base, int(block["last_ip"], 16) - base
                expected += block["instructions"] if begin <= at and last < end else 0
            self.assertEqual(own, expected, f"instance {number}")

    def test_perf_has_the_same_branches(self):
        self.outliers("handle")
        self.run_command("export", "r.data", "--instance", "1", "--to", "perf", "-o", "p.data")
        again = self.run_command("export", "p.data", "--to", "brstack")
        pairs = [re.findall(r"(0x[0-9a-f]+/0x[0-9a-f]+)", text)
                 for text in (again, self.exported(1, "--to", "brstack"))]
        self.assertEqual(pairs[0], pairs[1])
        self.assertTrue(pairs[0])

    def test_refused(self):
        self.outliers("handle")
        for words, said in ((["--to", "brstack", "--instance", "0"], "can't understand '0'"),
                            (["--to", "bolt", "--instance", "1000"], "slow instances of handle"),
                            (["--to", "folded", "--instance", "1"], "does not apply to --to folded"),
                            (["--to", "bolt", "--instance", "1", "--no-cache"], "--no-cache leaves it out")):
            done = subprocess.run([FLOWBACK, "export", "r.data", "-o", "none", *words], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)
            self.assertFalse(os.path.exists("none"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
