#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py WRITE_PAGE [FOLDER]: the page of a report of waits made by hand, in a real browser, with a real mouse and
keys. With FOLDER pictures are left there, to be looked at."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline"))
import browser  # pylint: disable=wrong-import-position

WRITE_PAGE = os.path.abspath(sys.argv[1])
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None


class Page(browser.PageTest):
    size = (1280, 600)

    @classmethod
    def make(cls):
        for kind in ("busy", "none", "no-times"):
            subprocess.run([WRITE_PAGE, cls.path(kind), kind], check=True)

    @classmethod
    def path(cls, kind):
        return os.path.join(cls.folder.name, f"{kind}.html")

    def setUp(self):
        super().setUp()
        self.open(self.path("busy"))

    def click_wait(self, number):
        x, y = self.ask(f"""(() => {{
          const box = document.getElementById('canvas').getBoundingClientRect();
          const at = locks.placeOf(locks.waits[{number}]);
          return [box.left + at.x, box.top + at.y];
        }})()""")
        self.browser.click(x, y)
        self.browser.drawn()

    def picture(self, name):
        if PICTURES:
            self.browser.picture(os.path.join(PICTURES, f"locks-{name}.png"))

    def test_begins_with_the_sentences_the_sites_and_all_threads(self):
        self.assertIn("3 threads spent 41 % of their time waiting", self.text("said"))
        self.assertEqual(self.ask("locks.lanes.map((lane) => lane.name)"), ["srv 101", "srv 102", "srv 103", "srv 104"])
        self.assertIn("38.0 %\n3 waits\nspin_lock() called at 0x401050", self.text("panel"))
        self.assertEqual(self.ask("locks.arrows().length"), 3)
        for words in ("not waiting", "spinning", "sleeping", "holding"):
            self.assertIn(words, self.text("legend"))
        self.assertLessEqual(self.ask("document.documentElement.scrollWidth"), 1280)
        self.picture("all")

    def test_a_click_on_a_wait_shows_its_figures(self):
        self.click_wait(1)
        panel = self.text("panel")
        self.assertTrue(panel.startswith("spin_lock() called at 0x401050"), panel)
        for figure in ("thread\nsrv 103", "took\n380.0 us", "trips\n1,000", "held by\nsrv 101", "worker", "start_thread"):
            self.assertIn(figure, panel)
        self.picture("clicked")
        self.browser.key("Escape")
        self.assertTrue(self.text("panel").startswith("Waits by site"))

    def test_a_click_on_a_site_shows_its_waits_alone(self):
        self.ask("document.querySelector('tr[data-site=\"1\"]').click()")
        self.browser.drawn()
        self.assertEqual(self.ask("locks.state.site"), 1)
        self.assertIn("longest\n90.00 us", self.text("panel"))
        self.assertEqual(self.ask("locks.arrows().length"), 0)
        self.picture("site")

    def test_search_and_next(self):
        self.browser.key("/")
        for letter in "mutex":
            self.browser.key(letter)
        self.assertEqual(self.text("found"), "1 waits")
        self.browser.key("Enter")
        self.browser.drawn()
        self.assertTrue(self.text("panel").startswith("pthread_mutex_lock()"), self.text("panel"))
        self.assertLess(self.ask("locks.state.length"), 300000)

    def test_nothing_to_show(self):
        self.open(self.path("none"))
        self.assertIn("No thread waited for another one", self.text("said"))
        self.assertEqual(self.ask("locks.lanes.length"), 0)
        self.open(self.path("no-times"))
        self.assertIn("3,020 trips round loops", self.text("said"))
        self.assertIn("3,000 trips", self.text("panel"))
        self.picture("no-times")


if __name__ == "__main__":
    if browser.program() is None:
        print("left out: the page in a browser: chromium is not installed: apt-get install chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
