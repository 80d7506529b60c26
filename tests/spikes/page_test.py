#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py FLOWBACK SERVER [FOLDER]: the page that `spikes --html` writes, in a real browser, with a real mouse and
keys. SERVER is spiky_server, built without optimisation. With FOLDER pictures are left there, to be looked at."""

import json
import os
import subprocess
import sys
import unittest

import page_data

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "timeline"))
import browser  # pylint: disable=wrong-import-position

FLOWBACK, SERVER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None


class Page(browser.PageTest):
    size = (1280, 800)

    @classmethod
    def make(cls):
        cls.made = page_data.Server(FLOWBACK, SERVER, cls.folder.name, "apart", "two-apart", "--threads", "2")
        cls.none = page_data.Server(FLOWBACK, SERVER, cls.folder.name, "none", "none")

    def setUp(self):
        super().setUp()
        self.open(self.made.page)

    def click(self, name, place):
        """Clicks in the window at a place of a picture that moves into sight."""
        self.ask(f"document.getElementById('{name}').scrollIntoView({{block: 'center'}})")
        at = self.ask(f"""(() => {{
          const box = document.getElementById('{name}').getBoundingClientRect(), at = {place};
          return [box.left + at.x, box.top + at.y];
        }})()""")
        self.browser.click(*at)
        self.browser.drawn()

    def press(self, *keys):
        for key in keys:
            self.browser.key(key)
        self.browser.drawn()

    def picture(self, name):
        if PICTURES:
            self.browser.picture(os.path.join(PICTURES, f"spikes-{name}.png"))

    def chosen(self):
        return self.ask("spikes.data.instances.number[spikes.state.chosen]")

    def path_of(self, name):
        """The number of the path of that name with most instructions of slow ones."""
        return self.ask(f"""(() => {{
          const named = spikes.paths.filter((path) => path.name.includes({json.dumps(name)})).map((path) => path.i);
          const slow = (i) => spikes.data.paths.slow[10 * i + 2];
          return named.sort((a, b) => slow(b) - slow(a))[0];
        }})()""")

    def test_answer_comes_first_and_fits(self):
        said = self.text("answer")
        for sentence in self.made.json["sentences"]:
            self.assertIn(sentence, said)
        self.picture("light")
        for name in ("answer", "bars", "strip", "flame"):
            self.assertLess(self.ask(f"document.getElementById('{name}').getBoundingClientRect().bottom"), 800, name)
        self.assertLessEqual(self.ask("document.documentElement.scrollWidth"), 1280)

    def test_marks_do_not_overlap(self):
        boxes = self.ask("[...document.querySelectorAll('#bars text')].map((e) => e.getBoundingClientRect())"
                         ".map((b) => [b.left, b.top, b.right, b.bottom])")
        box = self.ask("(({left, right, bottom}) => [left, right, bottom])(document.getElementById('bars').getBoundingClientRect())")
        words = self.ask("document.getElementById('bars').textContent")
        for name in ("min", "p50", "p90", "p99", "p99.9", "max", "slow: >"):
            self.assertIn(name, words)
        for i, (left, top, right, bottom) in enumerate(boxes):
            self.assertTrue(box[0] - 1 <= left and right <= box[1] + 1 and bottom <= box[2] + 1)
            for other in boxes[:i]:
                self.assertFalse(left < other[2] and other[0] < right and top + 2 < other[3] and other[1] + 2 < bottom)

    def assert_shown(self, number):
        """The panel has the figures of this instance."""
        row, panel = self.made.instances[number], self.text("panel")
        self.assertEqual(self.chosen(), number)
        self.assertTrue(panel.startswith(f"Instance {number}"), panel)
        self.assertIn(f"{int(row['instructions']):,}", panel)
        self.assertIn(row["tid"], panel)
        for name in ("executing", "off-CPU", "kernel", "lost", "filtered", "undecodable"):
            self.assertIn(name, panel)

    def test_slowest_is_shown_at_first(self):
        self.assert_shown(self.made.json["outliers"][0]["instance"])

    def test_click_in_the_strip_shows_the_instance(self):
        for outlier in self.made.json["outliers"][1:3]:
            number = outlier["instance"]
            self.click("strip", f"spikes.strip.place(spikes.indexOf.get({number}))")
            self.assert_shown(number)
            panel = self.text("panel")
            self.assertIn(outlier["sentence"], panel)
            self.assertIn(outlier["parting"], panel)
            self.assertIn(outlier["parting"], self.text("branch"))
            self.assertEqual(self.ask("document.getElementById('which').selectedOptions[0].textContent").split(":")[0],
                             f"{self.made.json['outliers'].index(outlier) + 1}. instance {number}")
        self.picture("clicked")

    def test_click_on_a_bar_shows_its_largest(self):
        bars = self.made.data["bars"]
        at = next(i for i, normal in enumerate(bars["normal"]) if normal > 1)
        place = f"""(() => {{
          const bar = document.querySelector('[data-bar="{at}"]').getBoundingClientRect();
          const box = document.getElementById('bars').getBoundingClientRect();
          return {{ x: bar.left + bar.width / 2 - box.left, y: bar.top + bar.height / 2 - box.top }};
        }})()"""
        self.click("bars", place)
        self.assert_shown(bars["largest"][at])
        self.assertIn("normal", self.text("panel"))

    def test_keys_go_from_instance_to_instance(self):
        slow = sorted((i for i in self.made.instances if i["group"] == "slow"),
                      key=lambda i: (-int(i["instructions"]), self.made.data["instances"]["number"].index(int(i["instance"]))))
        self.press("j")
        self.assert_shown(int(slow[1]["instance"]))
        self.press("k")
        self.assert_shown(int(slow[0]["instance"]))
        self.press("m")
        self.assert_shown(self.made.data["median"]["instance"])
        self.assertIn("the median normal one", self.text("panel"))
        self.assertEqual(self.ask("document.getElementById('which').value"), "null")
        self.ask("document.getElementById('strip').focus()")
        before = self.chosen()
        self.press("ArrowRight")
        self.assertNotEqual(self.chosen(), before)
        self.press("ArrowLeft")
        self.assertEqual(self.chosen(), before)
        tid = self.made.instances[before]["tid"]
        self.press("ArrowUp")
        if self.made.instances[self.chosen()]["tid"] == tid:
            self.press("ArrowDown")
        self.assertNotEqual(self.made.instances[self.chosen()]["tid"], tid)
        self.ask("document.getElementById('bars').focus()")
        self.press("ArrowLeft")
        self.assertIn(self.chosen(), self.made.data["bars"]["largest"])

    def test_strip_zooms(self):
        length = "spikes.strip.view.state.length"
        whole = self.ask(length)
        self.ask("document.getElementById('strip').focus()")
        self.press("+", "+")
        self.assertLess(self.ask(length), whole / 2)
        self.press("0")
        self.assertEqual(self.ask(length), whole)
        at = self.ask("(({x, y}) => [x, y])(document.getElementById('strip').getBoundingClientRect())")
        self.browser.wheel(at[0] + 300, at[1] + 50, -240)
        self.browser.drawn()
        self.assertEqual(self.ask(length), whole)
        self.browser.wheel(at[0] + 300, at[1] + 50, -240, modifiers=2)
        self.browser.drawn()
        self.assertLess(self.ask(length), whole)

    def test_flame_zooms_and_resets(self):
        path = self.path_of("discount")
        state = lambda key: self.ask(f"spikes.flame.state().{key}")
        self.click("flame", f"spikes.flame.place({path})")
        self.assertEqual(state("chosen"), path)
        self.assertLess(state("length"), state("whole"))
        self.picture("zoomed")
        words = self.text("path")
        slow, normal = (self.made.data["paths"][group] for group in ("slow", "normal"))
        self.assertIn(f"in {slow[10 * path]} of {self.made.json['slow']}", words)
        self.assertIn(f"in {normal[10 * path]} of {self.made.json['normal']}", words)
        self.assertRegex(words, r"slow: [\d,.]+ instructions, 1 entry each.*normal: [\d,.]+ instructions")
        self.assertIn("spiky_server.cc:", words)
        self.click("reset", "{ x: 5, y: 5 }")
        self.assertEqual(state("length"), state("whole"))
        whole = state("whole")
        self.click("modes", "(({ width, height }) => ({ x: width - 10, y: height / 2 }))"
                            "(document.getElementById('modes').getBoundingClientRect())")
        self.assertEqual(state("mode"), "normal")
        self.assertAlmostEqual(state("whole"), sum(normal[2::10]) / self.made.json["normal"], places=3)
        self.assertAlmostEqual(whole, sum(slow[2::10]) / self.made.json["slow"], places=3)

    def test_flame_tells_at_the_mouse(self):
        path = self.path_of("discount")
        at = self.ask(f"""(() => {{
          const box = document.getElementById('flame').getBoundingClientRect(), at = spikes.flame.place({path});
          return [box.left + at.x, box.top + at.y];
        }})()""")
        self.browser.mouse("mouseMoved", *at)
        self.browser.drawn()
        tip = self.text("tip")
        for words in ("discount(", "slow: ", "normal: ", "difference: +"):
            self.assertIn(words, tip)
        self.picture("tip")

    def test_flame_by_keys(self):
        self.ask("document.getElementById('flame').focus()")
        self.press("ArrowDown")
        first = self.ask("spikes.flame.state().chosen")
        self.assertEqual(self.ask(f"spikes.paths[{first}].parent"), 0)
        self.press("ArrowRight")
        self.assertNotEqual(self.ask("spikes.flame.state().chosen"), first)
        self.press("Enter")
        self.assertLess(self.ask("spikes.flame.state().length"), self.ask("spikes.flame.state().whole"))
        self.press("Escape")
        self.assertEqual(self.ask("spikes.flame.state().chosen"), 0)

    def test_search(self):
        self.press("/", *"DISCOUNT")
        self.assertRegex(self.text("found"), r"\d+ paths?, [\d.]+ % of the mean slow one")
        self.press("Enter")
        self.assertIn("1 of", self.text("found"))
        chosen = self.ask("spikes.paths[spikes.flame.state().chosen].name")
        self.assertIn("discount", chosen)
        self.picture("searched")
        self.assertGreater(self.ask("document.querySelectorAll('#tree tr.match').length"), 0)
        self.press("Escape")
        self.assertEqual(self.ask("spikes.flame.state().matches.length"), 0)

    def rows(self):
        """The tree's rows as it shows them: name, and the numbers."""
        return self.ask("[...document.querySelectorAll('#tree tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))")

    def test_trees_align(self):
        first = self.made.json["outliers"][0]
        head = self.rows()[0]
        slow = int(self.made.instances[first["instance"]]["instructions"])
        median = int(self.made.instances[self.made.data["median"]["instance"]]["instructions"])
        self.assertEqual([head[1], head[3], head[6]], [f"+{slow - median:,}", f"{slow:,}", f"{median:,}"])
        value = lambda words: abs(int(words.replace(",", "").replace("\u2212", "-").replace("+", "")))
        count = lambda words: 0 if words == "\u2013" else value(words)
        inside = [row for row in self.rows()[1:] if len(row) == 8]
        for row in inside:
            self.assertEqual(value(row[1]), abs(count(row[3]) - count(row[6])), row)
        levels = self.ask("[...document.querySelectorAll('#tree tbody tr')].map((row) => Number(row.ariaLevel || row.getAttribute('aria-level')))")
        second = [value(row[1]) for row, level in zip(self.rows(), levels) if level == 2 and len(row) == 8]
        self.assertEqual(second, sorted(second, reverse=True))
        self.picture("trees")

    def test_trees_fold(self):
        self.ask("document.querySelector('#tree tbody tr').focus()")
        before = len(self.rows())
        self.assertGreater(before, 3)
        self.press("ArrowLeft")
        self.assertEqual(len(self.rows()), 1)
        self.press("ArrowRight")
        self.assertEqual(len(self.rows()), before)
        self.press("ArrowDown")
        self.assertEqual(self.ask("[...document.querySelectorAll('#tree tbody tr')].indexOf(document.activeElement)"), 1)
        self.click("tree", "(() => { const box = document.querySelector('#tree').getBoundingClientRect(), "
                           "row = document.querySelector('#tree tbody tr').getBoundingClientRect(); "
                           "return { x: 60, y: row.top - box.top + 5 }; })()")
        self.assertEqual(len(self.rows()), 1)

    def test_smaller_ones_unfold(self):
        at = next(i for i, row in enumerate(self.rows()) if len(row) == 1 and "smaller" in row[0])
        before = len(self.rows())
        self.ask(f"document.querySelectorAll('#tree tbody tr')[{at}].focus()")
        self.press("Enter")
        self.assertGreater(len(self.rows()), before)

    def test_sources_are_shown(self):
        self.assertIn("CAUSE", self.ask("document.querySelector('#causes .source .here').textContent"))
        branch = self.made.data["explained"][0]["branch"]
        self.assertIn(f"of {self.made.json['slow']} slow and", self.text("branch"))
        here = self.ask("document.querySelector('#branch .source .here')?.textContent ?? null")
        if branch["source"]["lines"]:
            self.assertIn(str(branch["source"]["line"]), here)
        else:
            self.assertIn(branch["source"]["note"], self.text("branch"))

    def test_dark_and_light(self):
        colors = """[getComputedStyle(document.body).backgroundColor, ...['strip', 'flame'].map((name) =>
          [...document.getElementById(name).getContext('2d').getImageData(1, 1, 1, 1).data].join())]"""
        seen = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.drawn()
            seen.append(self.ask(colors))
            self.picture(scheme)
        for one, other in zip(*seen):
            self.assertNotEqual(one, other)
        self.click("theme", "{ x: 5, y: 5 }")
        self.assertEqual(self.ask(colors), seen[0])
        self.browser.call("Emulation.setEmulatedMedia", features=[])

    def test_none_slow(self):
        self.open(self.none.page)
        self.picture("none")
        self.assertIn("None of ", self.text("answer"))
        self.assertIn("nothing to compare", self.text("nothing"))
        for name in ("difference", "one", "branch"):
            self.assertTrue(self.ask(f"document.getElementById('{name}').hidden"))
        self.assertGreater(self.ask("document.querySelectorAll('#bars .hit').length"), 3)
        self.press("j", "m", "n", "/")
        self.click("strip", "spikes.strip.place(5)")
        self.assertTrue(self.text("panel").startswith("Instance "))

    def test_all_equal(self):
        """The marks of one value stand together, and none is cut."""
        page = os.path.join(self.folder.name, "equal.html")
        page_data.run(FLOWBACK, "spikes", self.none.recording, "handle", "--by", "off-cpu", "--html", page)
        self.open(page)
        words = self.ask("document.getElementById('bars').textContent")
        self.assertEqual(words, "min, p50, p90, p99, p99.9, max 0 ns")
        inside = self.ask("""(() => {
          const box = document.getElementById('bars').getBoundingClientRect();
          const text = document.querySelector('#bars text').getBoundingClientRect();
          return text.left >= box.left && text.right <= box.right;
        })()""")
        self.assertTrue(inside)

    def test_one_and_none_at_all(self):
        page = os.path.join(self.folder.name, "main.html")
        subprocess.run([FLOWBACK, "spikes", self.none.recording, "main", "--html", page], check=True, capture_output=True)
        self.open(page)
        self.assertIn("only one whole call", self.text("answer"))
        self.press("j", "k", "m", "0")
        before = os.path.getsize(page)
        for words, size in (([self.none.recording, "no_such_function", "--html", page], before),
                            ([self.none.recording, "no_such_function", "--html", page + ".new"], None)):
            done = subprocess.run([FLOWBACK, "spikes", *words], check=False, capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(os.path.getsize(words[-1]) if os.path.exists(words[-1]) else None, size)

    def test_names_stay_names(self):
        """A name that ends the script, and others, do nothing but be shown."""
        text = page_data.read(self.made.page)
        self.assertEqual(text.count("</script>"), 2)
        hostile = "</script><script>window.harm=1</script>\u2028\"'\\<img src=x onerror='window.harm=2'>" + "x" * 400
        quoted = json.dumps(hostile).replace("<", "\\u003c")
        path = os.path.join(self.folder.name, "hostile.html")
        name = next(n for n in self.made.data["names"] if "discount" in n)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(json.dumps(name), quoted))
        self.open(path)
        self.assertIsNone(self.ask("window.harm ?? null"))
        self.assertIn("</script><script>", "".join("".join(row) for row in self.rows()))
        self.click("flame", f"spikes.flame.place({self.path_of('</script>')})")
        self.assertTrue(self.text("path").startswith("</script>"))

    def test_recording_with_a_hostile_name(self):
        path = os.path.join(self.folder.name, "a<img src=x onerror=window.harm=1>\"'&b.data")
        os.symlink(self.made.recording, path)
        page = os.path.join(self.folder.name, "named.html")
        page_data.run(FLOWBACK, "spikes", path, "handle", "--html", page)
        self.open(page)
        self.assertIsNone(self.ask("window.harm ?? null"))
        self.assertIn("a<img src=x onerror=window.harm=1>\"'&b.data", self.text("title"))

    def test_stays_fluid_with_many(self):
        """As many instances as a page has at most: the page still answers. A frame takes 0.2 to 0.3 s
        beside other work."""
        text = page_data.read(self.made.page)
        begin = text.index("\n", text.index('<script id="data"')) + 1
        end = text.index("</script>", begin)
        data = json.loads(text[begin:end])
        instances, many = data["instances"], 70000
        step = max(max(instances["place"]) // many, 1)
        first = len(instances["number"])
        instances["number"] += range(first, many)
        instances["place"] += [i * step for i in range(many - first)]
        for key, value in instances.items():
            each = 6 if key == "times" else 1
            value += value[:each] * (many - len(value) // each)
        path = os.path.join(self.folder.name, "many.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:begin] + json.dumps(data) + text[end:])
        self.open(path)
        milliseconds = self.ask("""(() => {
          let least = Infinity;
          for (let i = 0; i < 10; ++i) {
            const begin = performance.now();
            spikes.strip.draw();
            least = Math.min(least, performance.now() - begin);
          }
          return least;
        })()""")
        print(f"a frame of {many} instances: {milliseconds:.1f} ms")
        self.assertLess(milliseconds, 2000)


if __name__ == "__main__":
    if browser.program() is None:
        print("left out: the page of spikes in a browser: chromium is not installed: apt-get install chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
