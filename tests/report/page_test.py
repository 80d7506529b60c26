#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py FLOWBACK PROJECT [FOLDER]: the report in a real browser. With FOLDER pictures of it are left there."""

import json
import os
import sys
import unittest

import reported

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline"))
import browser  # pylint: disable=wrong-import-position

FLOWBACK, PROJECT = sys.argv[1:3]
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
SECTIONS = ["In short", "Where the time went", "Timeline", "Slow calls", "Waits", "Crash", "Coverage", "Losses and limits"]


class ReportPage(browser.PageTest):
    @classmethod
    def make(cls):
        reports = reported.Reports(FLOWBACK, PROJECT, cls.folder.name)
        hostile = reports.copy("branches", "<img src=x onerror=alert(1)>.data")
        cls.page, cls.two, cls.bare = (os.path.join(cls.folder.name, name) for name in ("one.html", "two.html", "bare.html"))
        for words in ([reports.recording("changes"), "-o", cls.page], [hostile, reports.recording("changes"), "-o", cls.two],
                      [reports.copy("branches", "bare.data", images=False), "-o", cls.bare]):
            done = reports.run("report", *words)
            assert done.returncode == 0, done.stderr
        with open(cls.page, encoding="utf-8") as file:
            cls.data = reported.data_of(file.read())
        cls.answers = reported.sections(cls.data["recordings"][0])

    def setUp(self):
        super().setUp()
        self.resize(1200)
        self.open(self.page)

    def resize(self, width, height=800):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, name):
        if PICTURES:
            self.browser.drawn()
            self.browser.picture(os.path.join(PICTURES, name + ".png"))

    def place(self, expression):
        self.ask(f"({expression}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self.browser.drawn()
        return self.ask("(({left, top, width, height}) => [left + width / 2, top + height / 2])"
                        f"(({expression}).getBoundingClientRect())")

    def click(self, expression):
        self.browser.click(*self.place(expression))
        self.browser.drawn()

    def test_the_page_has_the_numbers_of_the_commands(self):
        self.assertEqual(self.ask("[...document.querySelectorAll('section > h2')].map((each) => each.innerText)"), SECTIONS)
        info = self.answers["info"]["data"]
        facts = self.ask("Object.fromEntries([...document.querySelectorAll('.facts div')].map((each) => "
                         "[each.querySelector('dt').innerText, each.querySelector('dd').firstChild.textContent]))")
        instructions = sum(stream["instructions"] for stream in info["streams"])
        self.assertEqual(int(facts["instructions"].replace(",", "")), instructions)
        self.assertEqual(int(facts["threads"]), len(info["threads"]))
        self.assertEqual(facts["lost"], "0.0 %")
        functions = self.answers["timeline"]["data"]["functions"]
        top = max(functions, key=lambda fn: fn["instructions"])
        row = self.ask("[...document.querySelector('#time tbody tr').cells].map((cell) => cell.innerText)")
        self.assertEqual(row[0].strip(), f"{100 * top['instructions'] / instructions:.1f} %")
        self.assertEqual(int(row[1].replace(",", "")), top["instructions"])
        self.assertTrue(row[-1].startswith(top["name"]), row)
        shown = self.ask("document.querySelector('#coverage [data-share=lines]').innerText")
        self.assertIn(f" {shown} of its lines", self.answers["coverage"]["data"]["sentences"][0])
        text = self.ask("document.body.innerText")
        for sentence in self.answers["coverage"]["data"]["sentences"] + self.answers["locks"]["data"]["sentences"][:1]:
            self.assertIn(sentence, text)

    def test_links_lead_to_sections(self):
        for name in ("coverage", "losses", "time"):
            self.click(f"document.querySelector('#contents a[href=\"#{name}\"]')")
            self.ask("new Promise((done) => setTimeout(done, 700))")
            top = self.ask(f"document.getElementById('{name}').getBoundingClientRect().top")
            self.assertLess(top, 700)
            self.assertGreaterEqual(top, -1)
        self.assertEqual(self.ask("document.querySelectorAll('a[href^=\"#\"]').length"),
                         self.ask("[...document.querySelectorAll('a[href^=\"#\"]')].filter((a) => document.querySelector(a.hash)).length"))

    def test_commands_are_copied(self):
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.click("document.querySelector('#locks .how button')")
        self.ask("new Promise((done) => setTimeout(done, 100))")
        self.assertEqual(self.ask("document.querySelector('#locks .how button').innerText"), "copied")
        self.assertEqual(self.ask("navigator.clipboard.readText()"), self.answers["locks"]["commands"][0])

    def test_keys_search_and_mark(self):
        name = max(self.answers["timeline"]["data"]["functions"], key=lambda fn: fn["instructions"])["name"]
        self.browser.key("/")
        for letter in name:
            self.browser.key(letter)
        self.browser.key("Enter")
        self.browser.drawn()
        self.assertIn("1 of", self.text("found"))
        self.assertIn(name, self.ask("document.querySelector('tr.found').innerText"))
        self.picture("searched")
        self.browser.key("Escape")
        self.browser.drawn()
        self.assertEqual(self.ask("document.querySelectorAll('tr.found').length"), 0)

    def test_the_flame_graph_zooms_by_mouse_and_keys(self):
        canvas = "report.charts.find((chart) => chart.graph)"
        self.place(canvas + ".canvas")
        root = self.ask(f"{canvas}.view.state.length")
        x, y = self.ask(f"(({{left, top}}) => [left + {canvas}.graph.xOf(1), top + {canvas}.graph.yOf(1)])({canvas}.canvas.getBoundingClientRect())")
        self.browser.mouse("mouseMoved", x, y)
        self.browser.drawn()
        path = self.answers["timeline"]["data"]["paths"]
        name = self.answers["timeline"]["data"]["functions"][path["fn"][1]]["name"] if path["fn"][1] >= 0 else "(in no"
        self.assertIn(name, self.text("tip"))
        self.browser.click(x, y)
        self.browser.key("+")
        self.browser.drawn()
        self.assertLess(self.ask(f"{canvas}.view.state.length"), root)
        self.browser.key("0")
        self.browser.drawn()
        self.assertEqual(self.ask(f"{canvas}.view.state.length"), root)
        # The wheel scrolls the page, and zooms with the key only.
        self.browser.wheel(x, y, -300)
        self.browser.drawn()
        self.assertEqual(self.ask(f"{canvas}.view.state.length"), root)
        self.place(canvas + ".canvas")
        x, y = self.ask(f"(({{left, top}}) => [left + 300, top + 20])({canvas}.canvas.getBoundingClientRect())")
        self.browser.wheel(x, y, -300, modifiers=2)
        self.browser.drawn()
        self.assertLess(self.ask(f"{canvas}.view.state.length"), root)

    def test_the_tab_key_shows_where_it_is(self):
        for _ in range(3):
            self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            self.browser.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        self.assertNotEqual(self.ask("getComputedStyle(document.activeElement).outlineStyle"), "none")

    def test_no_width_scrolls_sideways(self):
        for page in (self.page, self.two, self.bare):
            for width in (400, 900, 1600):
                self.resize(width)
                self.open(page)
                wide = self.ask("[document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide[0], wide[1], (page, width))

    def test_dark_light_and_paper(self):
        back = "getComputedStyle(document.body).backgroundColor"
        seen = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.drawn()
            seen.append(self.ask(back))
        self.assertEqual(len(set(seen)), 2)
        self.click("document.getElementById('theme')")
        self.assertEqual(self.ask(back), seen[0])
        self.click("document.getElementById('theme')")
        # Printed from the dark page.
        self.ask("window.addEventListener('beforeprint', () => setTimeout(() => {}, 0)); window.printed = null;"
                 f"window.addEventListener('beforeprint', () => {{ window.printed = {back}; }})")
        pdf = self.browser.call("Page.printToPDF", printBackground=True)["data"]
        self.assertGreater(len(pdf), 10000)
        self.assertEqual(self.ask("window.printed"), seen[0])
        self.assertEqual(self.ask(back), seen[1])
        self.browser.call("Emulation.setEmulatedMedia", features=[])

    def test_names_are_text(self):
        self.open(self.two)
        self.assertEqual(self.ask("document.images.length"), 0)
        self.assertIn("<img src=x", self.ask("document.querySelector('.recording h2').innerText"))
        self.assertEqual(self.ask("document.querySelectorAll('.recording').length"), 2)
        self.assertEqual(self.ask("new Set([...document.querySelectorAll('[id]')].map(({id}) => id)).size"),
                         self.ask("document.querySelectorAll('[id]').length"))

    def test_what_was_lost_is_not_known_without_info(self):
        info = self.answers["info"]
        error = {**{key: info[key] for key in ("name", "status", "seconds", "commands", "messages")},
                 "error": {"text": "info was ended by signal 9", "remedies": []}}
        coverage = {**self.answers["coverage"], "messages": [{"text": "a file is missing", "remedies": ["find it"]}]}
        others = [each for name, each in self.answers.items() if name not in ("info", "coverage")]
        data = {**self.data, "recordings": [{**self.data["recordings"][0], "sections": [error, coverage, *others]}]}
        path = os.path.join(self.folder.name, "no-info.html")
        with open(self.page, encoding="utf-8") as file:
            head, _, rest = file.read().partition(reported.HEAD)
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + reported.HEAD + json.dumps(data).replace("<", "\\u003c") + rest[rest.index("</script>"):])
        self.open(path)
        text = self.text("losses")
        for words in ("What was lost is not known", "info was ended by signal 9", "a file is missing", "Remedy: find it"):
            self.assertIn(words, text)
        self.assertIn("not known", self.ask("document.querySelector('.facts .bad').innerText"))
        self.assertIn("executed", self.text("coverage"))

    def test_a_recording_of_losses_alone(self):
        self.open(self.bare)
        text = self.text("losses")
        self.assertIn("missing", text)
        self.assertIn("Remedy: ", text)
        self.assertEqual(self.ask("document.querySelectorAll('.facts .bad').length"), 1)


if __name__ == "__main__":
    if browser.program() is None:
        print("left out: the page in a browser: chromium is not installed: apt-get install chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
