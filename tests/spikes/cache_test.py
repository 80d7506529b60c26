#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cache_test.py FLOWBACK SERVER: `spikes` says the same from the cache as without, and never takes from it what is
damaged, of another region, or of a recording that has changed."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, SERVER = sys.argv[1:3]
QUESTIONS = (
    ["handle"],
    ["handle", "--by", "kernel"],
    ["handle", "--over", "p99", "--top", "2"],
    ["handle", "--time", "20%,80%"],
    ["--start", "handle", "--stop", "spiky::describe*"],
    ["--auto"],
)
FORMS = ([], ["--json"], ["--html", "page"])


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = self.path("cache")
        self.server = self.path("server")
        self.recording = self.path("r.data")
        shutil.copy(SERVER, self.server)
        self.record(self.recording, "7")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def record(self, recording, seed, cause="two-apart"):
        subprocess.run([FLOWBACK, "record", "-q", "-o", recording, "--", self.server, "--cause", cause, "--requests", "1500",
                        "--seed", seed, "--truth", self.path("truth.json")], check=True, capture_output=True,
                       env=dict(os.environ, FLOWBACK_CACHE=self.path("store")))

    def said(self, *words, cached=True, status=0):
        """The text or JSON, the list of instances, the page if one is asked for, and the warnings."""
        csv = self.path("instances.csv")
        way = ["--cache-dir", self.cache] if cached else ["--no-cache"]
        done = subprocess.run([FLOWBACK, "spikes", self.recording, *words, "--save-instances", csv, *way], check=False,
                              capture_output=True, text=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, status, done.stderr)
        written = []
        for path in [csv, self.path("page")] if "page" in words else [csv]:
            with open(path, encoding="utf-8") as file:
                written.append(file.read())
        return done.stdout, *written, done.stderr

    def kept(self, kind):
        """The kept files of a kind, by path, and which file on the disk each is."""
        files = [os.path.join(self.cache, name) for name in os.listdir(self.cache) if name.startswith(kind + "-")]
        return {path: os.stat(path).st_ino for path in files}

    def test_all_forms_are_the_same(self):
        for question in QUESTIONS:
            for form in FORMS:
                with self.subTest(question=question, form=form):
                    fresh = self.said(*question, *form, cached=False)
                    for _ in range(2):
                        self.assertEqual(self.said(*question, *form), fresh)

    def test_the_second_time_nothing_is_found_out_again(self):
        self.said("handle")
        lists, comparisons = self.kept("instances"), self.kept("spikes")
        self.assertEqual((len(lists), len(comparisons)), (1, 1))
        self.said("handle", "--json")
        self.assertEqual((self.kept("instances"), self.kept("spikes")), (lists, comparisons))
        # Another question about the same instances compares them anew.
        self.said("handle", "--over", "p90")
        self.assertEqual(self.kept("instances"), lists)
        self.assertEqual(len(self.kept("spikes")), 2)

    def test_another_recording_with_the_same_files(self):
        """The two share copies of the program's files."""
        self.said("handle")
        before = self.kept("instances"), self.kept("spikes")
        self.record(self.path("other.data"), "8")
        self.said("handle")
        self.assertEqual((self.kept("instances"), self.kept("spikes")), before)

    def test_no_cache(self):
        self.said("handle", cached=False)
        self.assertFalse(os.path.exists(self.cache))

    def test_damaged_files(self):
        fresh = self.said("--auto")
        for kind in ("instances", "spikes", "loops"):
            (path,) = self.kept(kind)
            with open(path, "rb") as file:
                whole = file.read()
            places = [*range(0, 64, 8), *range(64, len(whole), len(whole) // 12 + 1)]
            for at in places:
                with open(path, "wb") as file:
                    file.write(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
                self.assertEqual(self.said("--auto"), fresh, f"{kind}: byte {at} of {len(whole)}")
                # It was made anew.
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), whole)
            for size in (0, 63, 64, len(whole) // 2, len(whole) - 1):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                self.assertEqual(self.said("--auto"), fresh, f"{kind}: {size} bytes of {len(whole)}")

    def test_another_region(self):
        self.said("handle")
        (first,) = self.kept("instances")
        other = self.said("spiky::describe*", cached=False)
        self.said("spiky::describe*")
        (second,) = set(self.kept("instances")) - {first}
        shutil.copyfile(first, second)
        self.assertEqual(self.said("spiky::describe*"), other)

    def test_another_recording_of_the_name(self):
        before = self.said("handle")
        self.record(self.recording, "8", "rare-branch")
        self.assertEqual(self.said("handle"), self.said("handle", cached=False))
        self.assertNotEqual(self.said("handle")[0], before[0])

    def test_code_that_is_missing_later(self):
        self.said("handle")
        shutil.rmtree(self.recording + ".images")
        os.remove(self.server)
        # Without the code nobody knows which function was called.
        self.assertEqual(self.said("handle", status=2), self.said("handle", cached=False, status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
