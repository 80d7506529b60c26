#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""callgrind_programs_test.py FLOWBACK CXX WHAT: calls of each function, of real programs, as valgrind's
callgrind counts them: a compressor, sqlite3 or python3. docs/explanation/callgrind.md says why some differ.

Only the program's own code is compared: under valgrind the C library and the dynamic linker see another
processor and other libraries.
"""

import json
import os
import re
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]
WHAT = sys.argv[3]

COMPRESSOR = r"""
#include <zlib.h>
#include <cstdio>
#include <vector>
int main() {
  std::vector<unsigned char> in(120000);
  unsigned s = 7;
  for (size_t i = 0; i < in.size(); ++i) {
    s = s * 1664525u + 1013904223u;
    in[i] = (i / 700) % 3 ? "abcdefgh"[(i * i / 5 + (s >> 30)) % 8] : s >> 24;
  }
  for (int level : {1, 6, 9}) {
    uLongf size = compressBound(in.size());
    std::vector<unsigned char> out(size), back(in.size());
    if (compress2(out.data(), &size, in.data(), in.size(), level) != Z_OK) return 1;
    uLongf length = back.size();
    if (uncompress(back.data(), &length, out.data(), size) != Z_OK || back != in) return 2;
  }
}
"""
SQL = """
create table t(a integer primary key, b text, c integer);
with recursive n(x) as (select 1 union all select x+1 from n where x<300) insert into t select x, hex(x*x), x%7 from n;
create index i on t(c);
select count(*), sum(a) from t where b like '%3%' and c=3;
select t.a, u.b from t join t u on u.a=t.c where t.a<20 and t.b>'3' and u.c>1 order by t.b limit 3;
"""
SCRIPT = """
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
words = [str(i * i) for i in range(200)]
lengths = {word: len(word) for word in words}
class Refused(Exception): pass
def risky(i):
    if i % 3 == 0: raise Refused(i)
    return i
total = 0
for i in range(50):
    try: total += risky(i)
    except Refused: total -= 1
print(fib(9), sum(lengths.values()), sorted(words)[:3], total)
"""


def compressor(folder):
    with open(folder + "/work.cc", "w", encoding="utf-8") as file:
        file.write(COMPRESSOR)
    library = "/usr/lib/x86_64-linux-gnu/libz.a"
    if not os.path.exists(library):
        callgrind.leave_out("a compressor against callgrind", "no libz.a: apt-get install zlib1g-dev")
    callgrind.run(CXX, "-g", "-O2", "-o", folder + "/work", folder + "/work.cc", library)
    return [folder + "/work"]


def sqlite3(folder):
    if not os.path.exists("/usr/bin/sqlite3"):
        callgrind.leave_out("sqlite3 against callgrind", "no sqlite3: apt-get install sqlite3")
    with open(folder + "/work.sql", "w", encoding="utf-8") as file:
        file.write(SQL)
    return ["/usr/bin/sqlite3", ":memory:", f".read {folder}/work.sql"]


def python3(folder):
    if not os.path.exists("/usr/bin/python3"):
        callgrind.leave_out("python3 against callgrind", "no python3: apt-get install python3")
    with open(folder + "/work.py", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    return [os.path.realpath("/usr/bin/python3"), "-I", "-S", "-B", folder + "/work.py"]


PROGRAMS = {"compressor": compressor, "sqlite3": sqlite3, "python3": python3}


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = cls.folder.name
        words = PROGRAMS[WHAT](folder)
        own, calls, _ = callgrind.count(folder + "/out", *words)
        cls.own, cls.calls = callgrind.by_name(own), callgrind.by_name(calls)
        callgrind.run(FLOWBACK, "record", "-o", folder + "/work.data", "--", *words)
        timeline = json.loads(callgrind.run(FLOWBACK, "timeline", folder + "/work.data", "--json"))
        cls.functions = {}
        for function in timeline["functions"]:
            sums = cls.functions.setdefault(function["name"], [0, 0])
            sums[0] += function["calls"]
            sums[1] += function["self_instructions"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def differing(self, names):
        """Returns the functions whose calls differ: {name: (ours, callgrind's)}."""
        both = [name for name in self.calls if name in self.functions and re.match(names, name)]
        self.compared = len(both)
        return {name: (self.functions[name][0], self.calls[name])
                for name in both if self.functions[name][0] != self.calls[name]}

    @unittest.skipUnless(WHAT == "compressor", "of the compressor")
    def test_compressor(self):
        """Statically linked, with all symbols: calls and own instructions."""
        names = r"deflate|inflate|longest_match$|fill_window$|_tr_|compress|uncompress|adler32|pqdownheap$|scan_tree|" \
                r"gen_bitlen|send_tree|compress_block|build_tree|bi_|read_buf|lm_init|updatewindow|main$"
        self.assertEqual(self.differing(names), {})
        self.assertGreater(self.compared, 20)
        for name in self.calls:
            if name in self.functions and re.match(names, name) and name != "main":
                self.assertEqual(self.functions[name][1], self.own[name], name)

    @unittest.skipUnless(WHAT == "sqlite3", "of sqlite3")
    def test_sqlite3(self):
        """One of sqlite3's functions calls itself at its end, which is a jump to its own begin."""
        differing = self.differing("sqlite3")
        self.assertGreater(self.compared, 500)
        ours, theirs = differing.pop("sqlite3WhereSplit", (0, 0))
        self.assertLessEqual(ours, theirs)
        self.assertEqual(differing, {})

    @unittest.skipUnless(WHAT == "python3", "of python3")
    def test_python3(self):
        """Entries that are looked up by address are found in another order, so a few differ a little."""
        differing = self.differing("_?Py")
        self.assertGreater(self.compared, 300)
        self.assertLessEqual(len(differing), self.compared // 20)
        for name, (ours, theirs) in differing.items():
            self.assertLessEqual(abs(ours - theirs), max(ours, theirs) // 5 + 3, name)


if __name__ == "__main__":
    callgrind.need_valgrind(f"{WHAT} against callgrind")
    unittest.main(argv=sys.argv[:1])
