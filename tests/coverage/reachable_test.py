#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reachable_test.py FLOWBACK PROJECT: where trace was lost, nothing that executed is called "never executed", and what
control cannot reach is not called unknown. The recordings' own list of executed addresses is the judge; bytes are
taken out of their trace, too."""

import gzip
import os
import random
import re
import shutil
import struct
import sys
import tempfile
import unittest

from commands import output_of

FLOWBACK = os.path.abspath(sys.argv[1])
SHARED = os.environ.get("FLOWBACK_SHARED") or os.path.join(sys.argv[2], "..", "shared")
GENERATED = os.path.join(SHARED, "traces", "generated")
DAMAGED = ("hello", "retmix", "coverage", "signals-async", "strings", "dlopen-aslr")


def loads(path):
    """The loadable parts of an ELF file: offset, address, size."""
    with open(path, "rb") as file:
        data = file.read()
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, table + i * size)
        if kind == 1:
            yield offset, address, length


def executed(folder):
    """By image: the addresses, as linked, of what executed."""
    mapped = []
    with open(os.path.join(folder, "maps.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not line.startswith(("#", "exec")) and words[3].endswith(os.path.basename(words[4])):
                mapped.append((int(words[0], 16), int(words[1], 16), int(words[2], 16), words[3], words[4]))
    result = {}
    with gzip.open(os.path.join(folder, "coverage.txt.gz"), "rt") as file:
        addresses = [int(line.split()[0], 16) for line in file]
    for begin, size, offset, image, name in mapped:
        parts = list(loads(os.path.join(GENERATED, image)))
        for address in addresses:
            if begin <= address < begin + size:
                place = address - begin + offset
                result.setdefault(name, set()).update(place - first + linked for first, linked, length in parts
                                                      if first <= place < first + length)
    return result


class Reachable(unittest.TestCase):
    def setUp(self):
        if not os.path.isdir(GENERATED):
            self.skipTest(f"{GENERATED} is not there")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def told(self, recording, name):
        """What coverage says of each instruction of an object: a count, ##### or ?????."""
        text = output_of([FLOWBACK, "coverage", recording, "--symfs", os.path.join(GENERATED, "images"), "--object", name,
                    "--format", "annotate"])
        return {int(address, 16): mark for mark, address in
                re.findall(r"^ *([0-9]+|#####|\?\?\?\?\?)   ([0-9a-f]+)   ", text, re.MULTILINE)}

    def expect_true(self, recording, folder):
        shares = []
        for name, addresses in executed(folder).items():
            told = self.told(recording, name)
            self.assertEqual({each for each in addresses if told.get(each) == "#####"}, set(), name)
            marks = list(told.values())
            shares.append((name, len(marks), marks.count("?????")))
        return shares

    def test_overflows(self):
        folder = os.path.join(GENERATED, "vcalls-ovf")
        for name, total, unknown in self.expect_true(os.path.join(folder, "perf.data"), folder):
            print(f"{name}: {unknown} of {total} unknown")
            self.assertGreater(unknown, 0)
            self.assertLess(unknown, 0.85 * total)

    def test_bytes_taken_out(self):
        choice = random.Random(7)
        least = 1
        for name in DAMAGED:
            folder = os.path.join(GENERATED, name)
            with open(os.path.join(folder, "perf.data"), "rb") as file:
                data = bytearray(file.read())
            streams = [each for each in os.listdir(folder) if re.fullmatch(r"pt-[0-9]+\.bin", each)]
            with open(os.path.join(folder, max(streams, key=lambda s: os.path.getsize(os.path.join(folder, s)))),
                      "rb") as file:
                trace = file.read()
            at = data.find(trace)
            self.assertGreaterEqual(at, 0, name)
            for _ in range(12):
                size = choice.randrange(16, 200)
                place = at + choice.randrange(len(trace) // 10, len(trace) - size)
                data[place:place + size] = b"\x02\xff" * (size // 2) + b"\x02" * (size % 2)
            path = os.path.join(self.folder, "perf.data")
            with open(path, "wb") as file:
                file.write(data)
            with self.subTest(name=name):
                for each, count, lost in self.expect_true(path, folder):
                    print(f"{name}: {each}: {lost} of {count} unknown")
                    if "libc" in each:
                        least = min(least, lost / count)
        # Where the damage looks as if packets contradicted the code, nothing is excluded.
        self.assertGreater(least, 0)
        self.assertLess(least, 0.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
