# SPDX-License-Identifier: MIT
"""A recording that was packed, in a folder that has nothing else: every command says what it said before.

  elsewhere_test.py FLOWBACK

The program, its library, its debug file, its sources, the recording and what was kept beside it are gone when the
bundle is read."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402
from asked import COMMANDS, say  # noqa: E402

FLOWBACK = sys.argv[1]

LIBRARY = """int twice(int n) { return n + n; }
int add(int sum, int n) {
  for (int i = 0; i < n; ++i) sum += twice(i);
  return sum;
}
"""
PROGRAM = """#include <pthread.h>
#include <stdio.h>
int add(int sum, int n);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *work(void *unused) {
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&lock);
    sum = add(sum, i % 7 ? 3 : 40);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  work(0);
  pthread_join(thread, 0);
  printf("%d\\n", sum);
  return 0;
}
"""

class Elsewhere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.here = os.path.join(cls.folder, "here")
        cls.there = os.path.join(cls.folder, "there")
        os.mkdir(cls.here)
        os.mkdir(cls.there)
        os.mkdir(os.path.join(cls.here, "jörg's sources"))
        cls.build()
        # As long a name as the bundle's: texts that have it are wrapped.
        run([FLOWBACK, "record", "-q", "-o", "long.data", "--", "./program"], cls.here)
        # The recorder keeps images; what it did not keep is found where it is.
        shutil.rmtree(os.path.join(cls.here, "long.data.images"))
        cls.before = [cls.say(words, "long.data", cls.here) for words in COMMANDS]
        cls.packed = run([FLOWBACK, "pack", "long.data", "-o", "../there/r.tar.zst"], cls.here).stdout
        shutil.rmtree(cls.here)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def build(cls):
        library = os.path.join("jörg's sources", "library.c")
        for name, text in (("program.c", PROGRAM), (library, LIBRARY)):
            with open(os.path.join(cls.here, name), "w", encoding="utf-8") as file:
                file.write(text)
        run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", "libadd.so", library], cls.here)
        run(["gcc", "-g", "-O1", "-o", "program", "program.c", "./libadd.so", "-lpthread"], cls.here)
        # The library's debug information is in a file of its own, found by its name.
        run(["objcopy", "--only-keep-debug", "libadd.so", "libadd.debug"], cls.here)
        run(["objcopy", "--strip-debug", "--add-gnu-debuglink=libadd.debug", "libadd.so"], cls.here)

    @classmethod
    def say(cls, words, name, folder, *more):
        return say(FLOWBACK, words, name, folder, *more)

    def test_every_command_says_the_same(self):
        for words, before in zip(COMMANDS, self.before):
            with self.subTest(" ".join(words)):
                self.assertEqual(before[0], 0, before[2])
                self.assertTrue(self.say(words, "r.tar.zst", self.there) == before)

    def test_without_a_cache(self):
        with tempfile.TemporaryDirectory() as temporary:
            os.environ["TMPDIR"] = temporary
            try:
                self.assertEqual(self.say(COMMANDS[1], "r.tar.zst", self.there, "--no-cache"), self.before[1])
            finally:
                del os.environ["TMPDIR"]
            self.assertEqual(os.listdir(temporary), [])

    def test_all_of_it_is_told(self):
        self.assertRegex(self.packed, r"^\.\./there/r\.tar\.zst has \d+ files of long\.data in [\d.]+ [kM]B")
        told = json.loads(run([FLOWBACK, "info", "--json", "r.tar.zst"], self.there).stdout)
        self.assertEqual(told["input"], "r.tar.zst")
        names = [member["name"] for member in told["bundle"]["members"]]
        self.assertEqual(told["bundle"]["input"], "long.data")
        for wanted in (r"recording/long\.data", r"recording/long\.data\.images/p\d+-libadd\.so", r"root/.*/program\.c",
                       r"root/.*/jörg's sources/library\.c", r"root/usr/lib/debug/.*"):
            self.assertTrue(any(re.fullmatch(wanted, name) for name in names), (wanted, names))
        text = run([FLOWBACK, "info", "r.tar.zst"], self.there).stdout
        self.assertIn("bundle of long.data by flowback", text)
        for name in names:
            self.assertIn(name, text)
        # As many files and bytes as `pack` reported, and the manifest and the index.
        self.assertEqual(len(names), int(re.search(r"has (\d+) files", self.packed)[1]) + 2)

    def test_gdb_opens_it(self):
        if shutil.which("gdb") is None:
            self.skipTest("there is no gdb")
        words = [FLOWBACK, "replay", "r.tar.zst", "--", "-q", "-nx", "-batch", "-ex", "break add", "-ex",
                 "reverse-continue", "-ex", "backtrace", "-ex", "list"]
        said = run(words, self.there).stdout
        self.assertRegex(said, r"add \(.*\) at .*library\.c:\d+")
        self.assertIn("sum += twice(i)", said)

    def test_is_packed_again(self):
        run([FLOWBACK, "pack", "r.tar.zst", "-o", "again.tar.zst"], self.there)
        members = [sorted((member["name"].split("-")[-1], member["size"])
                          for member in json.loads(run([FLOWBACK, "info", "--json", name], self.there).stdout)
                          ["bundle"]["members"] if not member["name"].endswith((".json", "/index")))
                   for name in ("r.tar.zst", "again.tar.zst")]
        self.assertEqual(members[0], members[1])
        self.assertEqual(self.say(COMMANDS[2], "again.tar.zst", self.there), self.before[2])

    def test_to_standard_output_and_without_sources(self):
        with open(os.path.join(self.there, "piped"), "wb") as file:
            done = subprocess.run([FLOWBACK, "pack", "r.tar.zst", "--strip-source", "-o", "-"], cwd=self.there,
                                  stdout=file, stderr=subprocess.PIPE, text=True, timeout=100, check=True)
        self.assertIn("- has ", done.stderr)
        told = json.loads(run([FLOWBACK, "info", "--json", "piped"], self.there).stdout)
        self.assertFalse([m for m in told["bundle"]["members"] if m["name"].endswith(".c")])
        self.assertEqual(self.say(COMMANDS[3], "piped", self.there)[1], self.before[3][1])

    def test_what_was_cut_is_read_as_far_as_it_goes(self):
        path = os.path.join(self.there, "r.tar.zst")
        told = json.loads(run([FLOWBACK, "info", "--json", path], self.there).stdout)
        with open(path, "rb") as file:
            whole = file.read()
        with open(os.path.join(self.there, "cut"), "wb") as file:
            file.write(whole[:len(whole) - 2000])
        said = run([FLOWBACK, "decode", "cut", "--as", "digest"], self.there)
        self.assertRegex(said.stderr, r"flowback: cut: .* at offset \d+; flowback uses the part before it\n  try: ")
        self.assertEqual(said.stdout, self.before[3][1])
        self.assertIsNone(told["bundle"]["damage"])
        with open(os.path.join(self.there, "cut"), "wb") as file:
            file.write(whole[:200])
        said = run([FLOWBACK, "info", "cut"], self.there, status=8)
        self.assertIn("  try: ", said.stderr)

    def test_names_and_folders(self):
        folder = os.path.join(self.there, "a folder")
        os.mkdir(folder)
        run([FLOWBACK, "record", "-q", "-o", b"odd-\xff %.data", "--", "true"], folder)
        run([FLOWBACK, "pack", b"odd-\xff %.data", "-o", "odd"], folder)
        run([FLOWBACK, "decode", "odd", "--as", "summary"], folder)
        said = run([FLOWBACK, "pack", b"odd-\xff %.data", "-o", "odd"], folder, status=2)
        self.assertIn("--force", said.stderr)
        run([FLOWBACK, "pack", b"odd-\xff %.data", "-o", "odd", "--force"], folder)
        with open(os.path.join(folder, os.fsdecode(b"odd-\xff %.data")), "rb") as file:
            said = subprocess.run([FLOWBACK, "pack", "-"], stdin=file, cwd=folder, capture_output=True, text=True,
                                  timeout=100, check=False)
        self.assertEqual(said.returncode, 2)
        self.assertIn("-o FILE", said.stderr)

    def test_does_not_overwrite_itself(self):
        said = run([FLOWBACK, "pack", "r.tar.zst", "-o", "r.tar.zst", "--force"], self.there, status=2)
        self.assertIn("is read here", said.stderr)


if __name__ == "__main__":
    os.environ["FLOWBACK_CACHE"] = tempfile.mkdtemp()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result.wasSuccessful() or sys.exit(1)
    finally:
        shutil.rmtree(os.environ["FLOWBACK_CACHE"])
