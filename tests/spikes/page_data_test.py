#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_data_test.py FLOWBACK SERVER: the data in the page of `spikes --html` against what the other outputs say. SERVER
is spiky_server, built without optimisation."""

import os
import sys
import tempfile
import unittest

import page_data

FLOWBACK, SERVER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = page_data.Server(FLOWBACK, SERVER, cls.folder.name, "apart", "two-apart", "--threads", "2")
        cls.none = page_data.Server(FLOWBACK, SERVER, cls.folder.name, "none", "none")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_report_is_that_of_json(self):
        self.assertGreater(self.made.json["slow"], 2)
        for made in (self.made, self.none):
            self.assertEqual(made.data["report"], made.json)

    def test_instances_are_those_of_the_csv(self):
        for made in (self.made, self.none):
            shown = made.data["instances"]
            self.assertEqual(sorted(shown["number"]), list(range(len(made.instances))))
            self.assertEqual(shown["stands"], [1] * len(made.instances))
            for i, number in enumerate(shown["number"]):
                row = made.instances[number]
                self.assertEqual([shown["tid"][i], shown["time"][i], shown["instructions"][i]],
                                 [int(row[key]) for key in ("tid", "time", "instructions")])
                self.assertEqual(made.data["begin"] + shown["place"][i], int(row["begin"]))
                self.assertEqual(shown["times"][6 * i:6 * i + 6], [int(row[key]) for key in page_data.CLASSES])
                self.assertEqual(("normal", "slow", "not-compared")[shown["group"][i]], row["group"])
                self.assertEqual(("whole", "begun-before", "cut-by-end", "lost")[shown["state"][i]], row["state"])

    def test_bars_add_up(self):
        for made in (self.made, self.none):
            bars = made.data["bars"]
            self.assertEqual((sum(bars["normal"]), sum(bars["slow"])), (made.json["normal"], made.json["slow"]))

    def test_paths_add_up(self):
        for group in ("slow", "normal"):
            flat = self.made.data["paths"][group]
            rows = [row for row in self.made.instances if row["group"] == group]
            self.assertEqual(sum(flat[2::10]), sum(int(row["instructions"]) for row in rows))
            for kind, name in enumerate(page_data.CLASSES):
                self.assertEqual(sum(flat[4 + kind::10]), sum(int(row[name]) for row in rows))

    def test_trees_add_up(self):
        data = self.made.data
        trees = [(outlier["instance"], tree["costs"]) for outlier, tree in zip(self.made.json["outliers"], data["explained"])]
        self.assertEqual(len(trees), 5)
        for number, costs in trees + [(data["median"]["instance"], data["median"]["costs"])]:
            row = self.made.instances[number]
            self.assertEqual(sum(cost[2] for cost in costs), int(row["instructions"]))
            for kind, name in enumerate(page_data.CLASSES):
                self.assertEqual(sum(cost[4 + kind] for cost in costs), int(row[name]))

    def test_branches_have_both_counts(self):
        for outlier, tree in zip(self.made.json["outliers"], self.made.data["explained"]):
            branch = tree["branch"]
            self.assertIn(f"after {branch['after']} branch", outlier["parting"])
            for way in branch["ways"]:
                self.assertLessEqual(way["slow"], self.made.json["slow"])
                self.assertLessEqual(way["normal"], self.made.json["normal"])
            self.assertGreater(branch["ways"][0]["slow"], 0)
            self.assertGreater(branch["ways"][1]["normal"], 0)
            source = branch["source"]
            self.assertTrue(any(line.strip() for line in source["lines"]) or source["note"])

    def test_source_is_that_of_the_causes(self):
        for cause, source in zip(self.made.json["causes"], self.made.data["causes"]):
            self.assertEqual((source["file"], source["line"]), (cause["file"], cause["line"]))
            with open(cause["file"], encoding="utf-8") as file:
                lines = [line.rstrip("\n") for line in file]
            first = source["first"]
            self.assertEqual(source["lines"], lines[first - 1:first - 1 + len(source["lines"])])

    def test_same_page_from_the_cache(self):
        folder, texts = os.path.join(self.folder.name, "cache"), []
        for words in (["--no-cache"], ["--cache-dir", folder], ["--cache-dir", folder], ["--threads", "1", "--no-cache"]):
            page = os.path.join(self.folder.name, "again.html")
            page_data.run(FLOWBACK, "spikes", self.made.recording, "handle", "--html", page, *words)
            texts.append(page_data.read(page))
        for text in texts[1:]:
            self.assertEqual(text, texts[0])

    def test_of_many_each_stands_for_those_like_it(self):
        program, _, _ = page_data.rare_program(self.folder.name, 30000)
        made = page_data.Made(FLOWBACK, self.folder.name, "many", program)
        shown = made.data["instances"]
        self.assertGreater(made.data["columns"], 0)
        self.assertEqual(sum(shown["stands"]), len(made.instances))
        self.assertLess(len(shown["number"]), 20000)
        slow = {int(row["instance"]) for row in made.instances if row["group"] == "slow"}
        self.assertEqual(len(slow), 300)
        self.assertEqual({number for number, group in zip(shown["number"], shown["group"]) if group == 1}, slow)
        self.assertIn(made.data["median"]["instance"], shown["number"])
        self.assertLessEqual({outlier["nearest"] for outlier in made.json["outliers"]}, set(shown["number"]))

    def test_changed_source_is_told(self):
        folder = os.path.join(self.folder.name, "changed")
        os.mkdir(folder)
        recording, page = os.path.join(folder, "rare.data"), os.path.join(folder, "rare.html")

        def shown():
            page_data.run(FLOWBACK, "spikes", recording, "handle", "--html", page)
            return page_data.data_of(page)["explained"][0]["branch"]["source"]

        for version in ("-gdwarf-4", "-gdwarf-5"):
            program, source, lines = page_data.rare_program(folder, 400, version)
            os.utime(source, (1, 1))
            page_data.run(FLOWBACK, "record", "-q", "-o", recording, "--", program)
            found = shown()
            self.assertEqual(found["note"], "")
            self.assertEqual(found["lines"][found["line"] - found["first"]], lines[found["line"] - 1])
            with open(source, "w", encoding="utf-8") as file:
                file.write("\n".join(["// new", *lines]) + "\n")
            os.utime(source, (4e9, 4e9))
            found = shown()
            # With the file's checksum, which DWARF 5 may have, it is known to be another one; the date alone warns.
            if found["lines"]:
                self.assertIn("was changed after", found["note"])
            else:
                self.assertIn("not the version that was compiled", found["note"])
            os.remove(source)
            found = shown()
            self.assertEqual(found["lines"], [])
            self.assertIn("cannot be read", found["note"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
