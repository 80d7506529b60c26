#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py PROGRAM PROJECT COMPILER [FOLDER]: `diff --html` in a real browser, with a real mouse and keys. With
FOLDER pictures of the page are left there."""

import json
import os
import re
import sys

import compared
from compared import by_name

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline"))
import browser  # noqa: E402  pylint: disable=wrong-import-position

PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
FUNCTIONS = "[...document.querySelectorAll('#functions tbody .name')].map((each) => each.innerText)"


class DiffPage(browser.PageTest):
    size = (1280, 900)

    @classmethod
    def make(cls):
        made = compared.Comparing
        made.take_folder(cls.addClassCleanup)
        hostile = "<img src=x onerror=alert(1)>.data"
        sides = [made.record("old.data", made.build("planted.c", "old/planted")),
                 made.record(hostile, made.build("planted.c", "new/planted", "-DNEW"))]
        cls.page = os.path.join(cls.folder.name, "page.html")
        done = made.flowback("diff", *sides, "--fail-if", "calls(Choose) > 1.5x", "--fail-if", "gone() > 4",
                             "--html", cls.page, status=1)
        assert done.stdout == "", done.stdout
        cls.told = made.diff(*sides)
        cls.sentences = made.flowback("diff", *sides).stdout.split("\n\n")[0].replace("\n  ", " ").splitlines()
        made.flowback("diff", *sides, "--html", cls.page, "-o", f"{cls.folder.name}/out", status=2)
        made.flowback("diff", *sides, "--html", sides[0], "--force", status=2)
        cls.from_pipe = made.flowback("diff", *sides, "--html=-").stdout

    def setUp(self):
        super().setUp()
        self.open(self.page)

    def click(self, expression):
        self.ask(f"({expression}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.browser.drawn()
        self.browser.click(*self.ask("(({left, top, width, height}) => [left + width / 2, top + height / 2])"
                                     f"(({expression}).getBoundingClientRect())"))
        self.browser.drawn()

    def test_the_page_has_the_sentences_and_numbers_of_the_command(self):
        said = self.ask("[...document.querySelectorAll('.said p')].map((each) => each.innerText)")
        self.assertEqual(said, self.sentences)
        titles = self.ask("[...document.querySelectorAll('section > h2')].map((each) => each.innerText)")
        self.assertEqual(titles, ["Limits", "Functions", "Directions of branches", "Lines", "Executed share of all code"])
        rows = self.ask("[...document.querySelectorAll('#functions tbody tr')].map((row) => "
                        "[...row.cells].map((cell) => cell.innerText.split('\\n')[0]))")
        functions = by_name(self.told)
        self.assertEqual({row[-1].split()[0] for row in rows}, set(functions))
        for row in rows:
            own = functions[row[-1].split()[0]]["self_instructions"]
            found = [int(re.sub("[^0-9-]", "", cell)) for cell in row[:3]]
            self.assertEqual(found, [own["new"] - own["old"], own["old"], own["new"]], row)
        limits = self.ask("[...document.querySelectorAll('#limits tbody tr')].map((row) => row.innerText)")
        self.assertEqual([limit.split()[0] for limit in limits], ["FAILED", "passed"])
        self.assertIn("sink += 100;", self.ask("document.getElementById('lines').innerText"))

    def test_headings_sort_and_buttons_choose(self):
        self.click("[...document.querySelectorAll('#functions th button')].at(-1)")
        falling = self.ask(FUNCTIONS)
        self.assertEqual(falling, sorted(falling, reverse=True))
        self.click("[...document.querySelectorAll('#functions th button')].at(-1)")
        self.assertEqual(self.ask(FUNCTIONS), falling[::-1])
        self.assertEqual(self.ask("document.querySelector('#functions th[aria-sort]').getAttribute('aria-sort')"), "ascending")
        self.click("document.querySelectorAll('#functions .tools button')[2]")
        self.assertEqual(self.ask(FUNCTIONS), ["Removed"])

    def test_keys_search_in_all_tables(self):
        self.browser.key("/", "/")
        for letter in "choose":
            self.browser.key(letter, letter)
        self.browser.drawn()
        self.assertEqual(self.ask(FUNCTIONS), ["Choose"])
        self.assertRegex(self.text("found"), "^[0-9]+ rows fit$")
        self.browser.key("Escape")
        self.browser.drawn()
        self.assertGreater(len(self.ask(FUNCTIONS)), 5)

    def test_it_fits_three_widths_in_both_themes(self):
        for width in (1280, 800, 420):
            self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            for theme in ("light", "dark"):
                self.ask(f"document.documentElement.dataset.theme = '{theme}'")
                self.browser.drawn()
                self.assertLessEqual(self.ask("document.documentElement.scrollWidth"), width)
                if PICTURES:
                    self.browser.picture(f"{PICTURES}/diff-{width}-{theme}.png")

    def test_names_are_text_and_nothing_comes_from_outside(self):
        self.assertEqual(self.ask("document.querySelectorAll('img').length"), 0)
        self.assertIn("<img src=x", self.text("title"))
        data = re.search(r'<script id="data" type="application/json">(.*?)</script>', self.from_pipe, re.S).group(1)
        self.assertEqual(json.loads(data)["sentences"], self.sentences)
        self.assertNotRegex(self.from_pipe, r"""(?:src|href)=["']?(?:https?:)?//""")


if browser.program() is None:
    print("left out: the page in a browser: chromium is not installed: apt-get install chromium")
    sys.exit(77)
compared.main("page_test")
