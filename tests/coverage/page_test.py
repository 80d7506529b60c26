#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py FLOWBACK [FOLDER]: the coverage page of a recording that is made here, in a real browser. With FOLDER
pictures of it are left there."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline"))
import browser  # pylint: disable=wrong-import-position

FLOWBACK = os.path.abspath(sys.argv[1])
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None

MAIN = r"""
#include "part.h"
static int never_called(int n) {
  return n * 2;
}
int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += often(i);
  if (argc > 100) {
    sum += never_called(argc);
  }
  return sum == 0;
}
"""
PART = r"""
#include "part.h"
int often(int n) {
  if (n < 0) {
    return -1;
  }
  return n + 1; /* a line that is far longer than any window is wide: LONG */
}
int twice(int n) {
  return 2 * n;
}
""".replace("LONG", "x" * 400)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class CoveragePage(browser.PageTest):
    @classmethod
    def make(cls):
        path = lambda name: os.path.join(cls.folder.name, name)
        for name, text in (("main.c", MAIN), ("part.c", PART), ("part.h", "int often(int n);\nint twice(int n);\n")):
            with open(path(name), "w", encoding="utf-8") as file:
                file.write(text)
        run("gcc", "-g", "-O0", "-o", path("program"), path("main.c"), path("part.c"))
        run(FLOWBACK, "record", "-o", path("perf.data"), "--", path("program"))
        cls.page = path("page.html")
        run(FLOWBACK, "coverage", path("perf.data"), "--format", "html", "-o", cls.page)
        cls.json = [json.loads(line) for line in
                    run(FLOWBACK, "coverage", path("perf.data"), "--format", "json").splitlines()]

    def setUp(self):
        super().setUp()
        self.open(self.page)

    def picture(self, name):
        if PICTURES:
            self.browser.drawn()
            self.browser.picture(os.path.join(PICTURES, "coverage-" + name + ".png"))

    def names(self, table=0):
        """The last cells of the table's rows that are shown."""
        return self.ask(f"[...document.querySelectorAll('table.sorts')[{table}].rows].slice(1)"
                        ".filter((row) => row.offsetParent).map((row) => row.cells[row.cells.length - 1].innerText)")

    def click(self, expression):
        x, y = self.ask("(({left, top, width, height}) => [left + width / 2, top + height / 2])"
                        f"(({expression}).getBoundingClientRect())")
        self.browser.click(x, y)
        self.browser.drawn()

    def test_begins_with_the_program(self):
        self.assertEqual(self.ask("document.querySelector('h1').innerText"), "Coverage of program")
        self.assertEqual([os.path.basename(name) for name in self.names()], ["main.c", "part.c"])
        overview = self.ask("document.querySelector('.all').innerText")
        self.assertIn("lines", overview)
        # main, often and three of five: what the other formats say, too.
        bar = self.ask("(() => { const bar = document.querySelector('.all .bar');"
                       "return bar.firstChild.offsetWidth / bar.offsetWidth; })()")
        shown = self.ask("document.querySelector('.all b').innerText")
        self.assertAlmostEqual(100 * bar, float(shown.split()[0]), delta=1)
        self.picture("begin")

    def test_tables_sort(self):
        self.click("document.querySelectorAll('table.sorts th')[1]")
        shares = self.ask("[...document.querySelector('table.sorts').rows].slice(1).map((row) => Number(row.cells[1].dataset.v))")
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.click("document.querySelectorAll('table.sorts th')[1]")
        shares = self.ask("[...document.querySelector('table.sorts').rows].slice(1).map((row) => Number(row.cells[1].dataset.v))")
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(len(set(shares)), 2)
        self.click("document.querySelectorAll('table.sorts th')[4]")
        self.assertEqual(self.names(), sorted(self.names()))

    def test_search_leaves_out_what_does_not_fit(self):
        self.browser.key("/")
        for letter in "PART.c":
            self.browser.key(letter)
        self.browser.drawn()
        self.assertEqual([os.path.basename(name) for name in self.names()], ["part.c"])
        self.picture("searched")
        self.browser.key("Escape")
        self.browser.drawn()
        self.assertEqual(len(self.names()), 2)

    def test_next_uncovered_goes_through_the_program(self):
        lines = []
        for _ in range(4):
            self.browser.key("n")
            self.browser.drawn()
            lines.append(self.ask("document.querySelector('.here').innerText"))
            inside = self.ask("(({top, bottom}) => top > 0 && bottom < innerHeight)"
                              "(document.querySelector('.here').getBoundingClientRect())")
            self.assertTrue(inside, lines)
        for line, words in zip(lines, ("never_called(int n) {", "sum += never_called", "return -1", "int twice")):
            self.assertIn("#####", line)
            self.assertIn(words, line)
        self.assertEqual(self.text("found"), "4 of 4 uncovered places")
        self.browser.key("p")
        self.browser.drawn()
        self.assertIn("return -1", self.ask("document.querySelector('.here').innerText"))
        self.picture("uncovered")

    def test_a_function_leads_to_its_line(self):
        self.click("[...document.querySelectorAll('a')].find((link) => link.innerText.endsWith('part.c'))")
        self.ask("new Promise((done) => setTimeout(done, 50))")
        self.assertTrue(self.ask("[...document.querySelectorAll('details')].find((d) => d.id && d.innerText.includes('often')).open"))
        self.click("[...document.querySelectorAll('table a')].find((link) => link.innerText === 'twice')")
        self.ask("new Promise((done) => setTimeout(done, 50))")
        self.assertIn("int twice", self.ask("document.querySelector('.here').innerText"))

    def test_long_lines_scroll_and_keep_their_colour(self):
        self.ask("[...document.querySelectorAll('details')].forEach((d) => { d.open = true; })")
        wide = self.ask("""(() => {
          const pre = [...document.querySelectorAll('pre.source')].find((pre) => pre.innerText.includes('xxxx'));
          const line = [...pre.children].find((line) => line.innerText.includes('xxxx'));
          return [pre.clientWidth, pre.scrollWidth, line.offsetWidth, document.body.scrollWidth, innerWidth];
        })()""")
        self.assertGreater(wide[1], wide[0])
        self.assertGreaterEqual(wide[2], wide[1] - 20)
        self.assertLessEqual(wide[3], wide[4])

    def test_dark_and_light(self):
        seen = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.drawn()
            seen.append(self.ask("getComputedStyle(document.body).backgroundColor"))
            self.picture(scheme)
        self.assertEqual(len(set(seen)), 2)
        self.click("document.getElementById('theme')")
        self.assertEqual(self.ask("getComputedStyle(document.body).backgroundColor"), seen[0])


if __name__ == "__main__":
    if browser.program() is None:
        print("left out: the page in a browser: chromium is not installed: apt-get install chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
