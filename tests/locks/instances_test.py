# SPDX-License-Identifier: MIT
"""Locks told apart by their addresses (record --locks), against what a program counts of each itself.

instances_test.py FLOWBACK PROGRAM CONTENDED
"""

import json
import os
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAM, CONTENDED = sys.argv[1:4]


class Instances(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.recorded = truth.Run(FLOWBACK, cls.folder.name, [PROGRAM], ("--locks",))
        cls.told = cls.recorded.locks()
        cls.text = truth.run(FLOWBACK, "locks", cls.recorded.path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def lock_at(self, address):
        found = [number for number, lock in enumerate(self.told["locks"]) if int(lock["address"], 16) == address]
        self.assertEqual(len(found), 1, hex(address))
        return found[0]

    def test_waits_of_each_lock_are_those_the_program_counted(self):
        for line in self.recorded.lines:
            with self.subTest(line["address"]):
                lock = self.lock_at(int(line["address"], 16))
                sums = [each for site in self.told["sites"] for each in site["locks"] if each["lock"] == lock]
                self.assertEqual(sum(each["waits"] for each in sums), line["waits"])
                if line["kind"] == "spin":
                    self.assertEqual(sum(each["trips"] for each in sums), line["trips"])
                else:
                    # The thread that holds it acquires it as often.
                    self.assertEqual(sum(each["acquisitions"] for each in sums), 2 * line["acquisitions"])

    def test_locks_are_named_by_their_symbols(self):
        names = {int(lock["address"], 16): lock["name"] for lock in self.told["locks"]}
        own = [names[int(line["address"], 16)] for line in self.recorded.lines]
        on_heap = own[6]
        self.assertEqual(own[:6] + own[7:], ["mutexes", "mutexes+0x40", "mutexes+0x80", "padded", "padded+0x40",
                                             "padded+0x80", "close_together"])
        self.assertTrue(on_heap.startswith("0x"), on_heap)
        heap = self.told["locks"][self.lock_at(int(self.recorded.lines[6]["address"], 16))]
        self.assertEqual((heap["file"], heap["symbol"]), (None, None))
        # Times show only roughly which of the two threads was first.
        self.assertRegex("".join(heap["first_use"]["callers"]), "HoldSpin|WaitForSpin")
        self.assertIn("first used at instances.cc:", self.text)

    def test_locks_in_one_cache_line_are_told(self):
        names = [lock["name"] for lock in self.told["locks"]]
        lines = [[names[lock] for lock in line] for line in self.told["shared_lines"]]
        own = [line for line in lines if not line[0].startswith(("_", "0x", "lib"))]
        self.assertEqual(own, [["close_together", "close_together+0x4"]])
        self.assertIn("close_together and close_together+0x4 share a cache line", self.text.replace("\n  ", " "))

    def test_each_wait_tells_its_lock(self):
        for wait in self.told["worst"]:
            self.assertIsNotNone(wait["lock"], wait)

    def test_the_holder_of_a_known_lock_is_certain(self):
        site = next(site for site in self.told["sites"] if "mutex_lock" in site["function"] and site["waits"] == 6)
        for holder in site["holders"]:
            # It is not while the holder may have begun to release it.
            self.assertGreater(holder["certain"], 0)

    def test_flow_is_the_same_without(self):
        digests = []
        for words in ((), ("--locks",)):
            path = os.path.join(self.folder.name, f"same{len(words)}.data")
            truth.run(FLOWBACK, "record", "-q", "--clock", "instructions", *words, "-o", path, "--", "/bin/echo", "x")
            digests.append(truth.run(FLOWBACK, "decode", "--as", "digest", path).split()[1:])
            events = truth.run(FLOWBACK, "decode", "--as", "events", path)
            self.assertEqual("lock-address" in events, bool(words))
            by_libipt = truth.run(FLOWBACK, "decode", "--as", "digest", "--engine", "libipt", path).split()[1:]
            self.assertEqual(digests[-1], by_libipt)
        self.assertEqual(digests[0], digests[1])

    def test_without_addresses_nothing_is_said_of_them(self):
        without = truth.Run(FLOWBACK, self.folder.name, [CONTENDED, "ttas", "2", "2"]).locks()
        self.assertNotIn("locks", without)
        self.assertNotIn("locks", without["sites"][0])

    def test_waits_are_the_same_with_addresses(self):
        for family in ("spinning", "queues"):
            recorded = truth.Run(FLOWBACK, self.folder.name, [CONTENDED, family, "2", "4"], ("--locks",))
            told = recorded.locks()
            for (_, function), lines in recorded.functions().items():
                if not function.startswith("lock_") or not lines[0]["knows_waits"]:
                    continue
                sites = [site for site in told["sites"] if truth.plain(site["function"]) == function]
                own = sum(line["waits"] for line in lines)
                with self.subTest(function):
                    self.assertLessEqual(sum(lock["waits"] for site in sites for lock in site["locks"]), own)

    def test_other_engines_refuse(self):
        for words in (("--engine", "step"), ("--engine", "emulate", "-b")):
            result = truth.subprocess.run([FLOWBACK, "record", "--locks", *words, "--", "true"], capture_output=True,
                                          text=True, timeout=60)
            self.assertEqual(result.returncode, 125)
            self.assertIn("record: --locks: ", result.stderr)


if __name__ == "__main__":
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(Instances)).wasSuccessful())
