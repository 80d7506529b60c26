#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py FLOWBACK [FOLDER]: the page of a recording that is made here, in a real browser, with
a real mouse and keys. With FOLDER pictures of it are left there, to be looked at."""

import json
import os
import re
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

import browser

FLOWBACK = os.path.abspath(sys.argv[1])
PICTURES = sys.argv[2] if len(sys.argv) > 2 else None

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
static volatile unsigned sum;
__attribute__((noinline)) void inner_work(unsigned n) { for (unsigned i = 0; i < n; ++i) sum += i; }
__attribute__((noinline)) void middle_work(unsigned n) { for (int i = 0; i < 4; ++i) inner_work(n); }
__attribute__((noinline)) void outer_work(unsigned n) { middle_work(n); middle_work(2 * n); inner_work(n); }
static void* thread_work(void* n) { outer_work(FACTOR * (unsigned)(long)n); return NULL; }
int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, thread_work, (void*)(3000 * (i + 1)));
  outer_work(5000);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
"""


def skip(why):
    print(f"left out: the page in a browser: {why}")
    sys.exit(77)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Page(browser.PageTest):
    @classmethod
    def make(cls):
        path = lambda name: os.path.join(cls.folder.name, name)
        with open(path("work.c"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        for name, factor in (("work", 1), ("waits", 50)):
            run("gcc", "-g", "-O1", "-pthread", f"-DFACTOR={factor}", "-o", path(name), path("work.c"))
        cls.recording = path("work.data")
        run(FLOWBACK, "record", "-o", cls.recording, "--", path("work"))
        cls.page = path("work.html")
        run(FLOWBACK, "timeline", cls.recording, "--html", cls.page)
        cls.json = json.loads(run(FLOWBACK, "timeline", cls.recording, "--json"))

    def setUp(self):
        super().setUp()
        self.open(self.page)

    def state(self, key):
        return self.browser.ask(f"timeline.state.{key}")

    def place(self, name):
        """In the window, the middle of the longest call of the function, and what is known of it."""
        found = self.browser.ask("""(() => {
          let best = null;
          for (const lane of timeline.lanes) {
            if (!lane.thread) continue;
            const calls = lane.thread.calls;
            calls.fn.forEach((fn, i) => {
              if (timeline.data.functions[fn].name !== NAME) return;
              if (best && best.duration >= calls.duration[i]) return;
              best = { duration: calls.duration[i], instructions: calls.instructions[i],
                       time: calls.begin[i] + calls.duration[i] / 2, lane, depth: calls.depth[i] };
            });
          }
          if (!best) return null;
          const box = document.getElementById('canvas').getBoundingClientRect();
          return { x: box.left + timeline.xOf(best.time), y: box.top + timeline.yOf(best.lane, best.depth),
                   duration: best.duration, instructions: best.instructions };
        })()""".replace("NAME", json.dumps(name)))
        self.assertIsNotNone(found, name)
        return found

    def panel(self):
        return self.browser.ask("document.getElementById('panel').innerText")

    def picture(self, name):
        if PICTURES:
            self.browser.drawn()
            self.browser.picture(os.path.join(PICTURES, name + ".png"))

    def test_begins_with_the_sentences_and_all_threads(self):
        said = self.browser.ask("document.getElementById('said').innerText")
        self.assertIn("4 threads", said)
        self.assertIn("emulated", said)
        self.assertEqual(self.browser.ask("timeline.data.threads.length"), 4)
        self.assertEqual(self.state("length"), self.json["end"] - self.json["begin"])
        self.picture("all")

    def test_click_tells_the_figures_of_a_call(self):
        call = self.place("outer_work")
        self.browser.click(call["x"], call["y"])
        self.browser.drawn()
        panel = self.panel()
        self.assertTrue(panel.startswith("outer_work"), panel)
        self.assertIn(f"{call['instructions']:,}", panel)
        self.assertIn("work.c:", panel)
        self.assertIn("void outer_work", panel)
        sums = next(f for f in self.json["functions"] if f["name"] == "outer_work")
        self.assertEqual(sums["calls"], 4)
        self.assertIn("calls\n4", panel.replace("\t", "\n"))
        self.picture("clicked")

    def test_cycles(self):
        self.assertNotIn("IPC", self.browser.ask("timeline.data.functions.some(f => f.cycles) ? 'IPC' : ''"))
        recording = os.path.join(self.folder.name, "cycles.data")
        page = os.path.join(self.folder.name, "cycles.html")
        run(FLOWBACK, "record", "--cyc", "-o", recording, "--", os.path.join(self.folder.name, "work"))
        run(FLOWBACK, "timeline", recording, "--html", page)
        self.open(page)
        call = self.place("outer_work")
        self.browser.click(call["x"], call["y"])
        self.browser.drawn()
        panel = self.panel().replace("\t", "\n")
        self.assertTrue(panel.startswith("outer_work"), panel)
        # They are the emulator's, not a processor's.
        self.assertNotIn("cycles", panel)
        self.assertNotIn("IPC", panel)
        bounds = self.browser.ask("window.timeline.ownCycles([100, 90, 120, 40, 0])")
        self.assertEqual(bounds, "~100, proven 90 to 120")
        self.assertEqual(self.browser.ask("window.timeline.ownCycles([100, 99, 101, 40, 0])"), "100, proven 99 to 101")
        self.assertEqual(self.browser.ask("window.timeline.ownCycles([100, 90, 500, 40, 7])"), "~100, at least 90")

    def test_wheel_zooms_at_the_mouse_and_back(self):
        call = self.place("outer_work")
        before = self.state("length")
        x, y = round(call["x"]), round(call["y"])  # a page is told whole pixels
        time_there = f"timeline.timeOf({x} - document.getElementById('canvas').getBoundingClientRect().left)"
        time = self.browser.ask(time_there)
        for _ in range(5):
            self.browser.wheel(x, y, -240)
        self.browser.drawn()
        self.assertLess(self.state("length"), before / 10)
        self.assertAlmostEqual(self.browser.ask(time_there), time, delta=self.state("length") / 500)
        self.picture("zoomed")
        for _ in range(20):
            self.browser.wheel(x, y, 240)
        self.assertEqual(self.state("length"), before)

    def test_drag_moves_what_is_under_the_mouse(self):
        call = self.place("outer_work")
        for _ in range(4):
            self.browser.wheel(call["x"], call["y"], -240)
        call = self.place("outer_work")
        self.browser.drag(600, 500, -120, 0)
        self.browser.drawn()
        self.assertAlmostEqual(self.place("outer_work")["x"], call["x"] - 120, delta=3)
        self.assertEqual(self.panel(), "Click a call for its figures.")

    def test_double_click_shows_one_call(self):
        call = self.place("outer_work")
        self.browser.click(call["x"], call["y"], count=2)
        self.browser.drawn()
        self.assertAlmostEqual(self.state("length"), 1.1 * call["duration"], delta=call["duration"] / 100)

    def test_keys_zoom_and_move(self):
        before = self.state("length")
        for key in "+++":
            self.browser.key(key)
        self.assertLess(self.state("length"), before / 3)
        begin = self.state("begin")
        self.browser.key("ArrowRight")
        self.assertGreater(self.state("begin"), begin)
        self.browser.key("a")
        self.assertAlmostEqual(self.state("begin"), begin, delta=1)
        self.browser.key("-")
        self.browser.key("0")
        self.assertEqual(self.state("length"), before)

    def test_search_goes_from_call_to_call(self):
        self.browser.key("/")
        for letter in "MIDDLE_w":
            self.browser.key(letter)
        self.browser.drawn()
        calls = next(f for f in self.json["functions"] if f["name"] == "middle_work")["calls"]
        self.assertEqual(self.browser.ask("timeline.state.matches.length"), calls)
        self.assertIn(f"{calls} calls", self.browser.ask("document.getElementById('found').innerText"))
        self.browser.key("Enter")
        self.browser.drawn()
        self.assertTrue(self.panel().startswith("middle_work"))
        self.assertIn("1 of", self.browser.ask("document.getElementById('found').innerText"))
        self.picture("searched")
        self.browser.key("Escape")
        self.assertEqual(self.browser.ask("timeline.state.matches.length"), 0)

    def test_matches_stand_out_from_the_rest(self):
        self.browser.key("/")
        for letter in "outer_work":
            self.browser.key(letter)
        self.browser.drawn()
        call, other = self.place("outer_work"), self.place("main")
        seen = [self.pixel(each) for each in (call, other)]
        for _ in "outer_work":
            self.browser.key("Backspace")
        self.browser.key("Escape")
        self.browser.drawn()
        self.assertEqual(self.pixel(call), seen[0])
        self.assertNotEqual(self.pixel(other), seen[1])

    def pixel(self, call):
        """The colour above the middle of a call's name."""
        return self.ask(f"""(() => {{
          const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
          return [...canvas.getContext('2d').getImageData({call['x']} - box.left, {call['y']} - 6 - box.top, 1, 1).data];
        }})()""")

    def test_small_map_and_back(self):
        whole = self.state("length")
        call = self.place("outer_work")
        for _ in range(4):
            self.browser.wheel(call["x"], call["y"], -240)
        self.browser.drawn()
        begin, length = self.state("begin"), self.state("length")
        box = self.ask("(({left, top, width, height}) => [left, top, width, height])"
                       "(document.getElementById('map').getBoundingClientRect())")
        to = box[0] + self.ask(f"timeline.map.xOf({whole} / 4)")
        time.sleep(0.6)  # what follows soon is one movement
        self.browser.click(to, box[1] + box[3] / 2)
        self.browser.drawn()
        middle = self.state("begin") + self.state("length") / 2
        self.assertAlmostEqual(middle, whole / 4, delta=whole / 300)
        self.assertEqual(self.state("length"), length)
        self.browser.key("b")
        self.browser.drawn()
        self.assertEqual(self.state("begin"), begin)
        self.browser.key("b")
        self.browser.drawn()
        self.assertEqual(self.state("length"), whole)

    def test_rows_close_up(self):
        heights = "timeline.lanes.filter((lane) => lane.thread).map((lane) => lane.height)"
        before = self.ask(heights)
        self.assertTrue(all(height > 60 for height in before), before)
        self.ask("timeline.view.show(0, 1000)")
        self.browser.drawn()
        after = self.ask(heights)
        self.assertEqual(len([height for height in after if height < 20]), 3, after)  # no thread but the first one
        self.browser.key("0")
        self.browser.drawn()
        self.assertEqual(self.ask(heights), before)

    def test_absolute_times(self):
        call = self.place("outer_work")
        self.browser.click(call["x"], call["y"])
        self.browser.drawn()
        at = re.search(r"at\n([\d.]+)", self.panel().replace("\t", "\n")).group(1)
        text = run(FLOWBACK, "timeline", self.recording, "--at", at, "--around", "200000", "--json")
        self.assertIn("outer_work", text)
        self.assertEqual(self.ask("timeline.moment(0)"),
                         f"{self.json['begin'] // 10**9}.{self.json['begin'] % 10**9:09}")
        self.browser.key("t")
        self.browser.drawn()
        self.picture("absolute")

    def test_flame_graph_has_all_call_paths(self):
        self.browser.key("g")
        self.browser.drawn()
        paths = self.ask("timeline.data.paths")
        whole = sum(thread["instructions"] for thread in self.json["threads"])
        self.assertEqual(paths["instructions"][0], whole)
        of = self.ask("timeline.data.functions.findIndex((fn) => fn.name === 'outer_work')")
        self.assertEqual(sum(count for fn, count in zip(paths["fn"], paths["calls"]) if fn == of), 4)
        path = max((i for i, fn in enumerate(paths["fn"]) if fn == of), key=lambda i: paths["instructions"][i])
        box = self.ask("(({left, top}) => [left, top])(document.getElementById('flame').getBoundingClientRect())")
        x, y = (self.ask(f"timeline.graph.{axis}Of({path})") for axis in "xy")
        self.browser.click(box[0] + x, box[1] + y)
        self.browser.drawn()
        self.assertTrue(self.panel().startswith("outer_work"), self.panel())
        self.assertIn(f"{paths['instructions'][path]:,} instructions", self.text("tip"))
        self.picture("flame")
        self.browser.click(box[0] + x, box[1] + y, count=2)
        self.browser.drawn()
        self.assertEqual(self.ask("timeline.graph.view.state.length"), paths["instructions"][path])
        self.browser.key("b")
        self.browser.drawn()
        self.assertEqual(self.ask("timeline.graph.view.state.length"), whole)
        self.browser.key("g")
        self.browser.drawn()
        self.assertTrue(self.ask("document.getElementById('canvas').offsetParent !== null"))

    def test_a_span_has_sums(self):
        """All of the time, chosen by hand: what the command says of it."""
        box = self.ask("(({left, right, top}) => [left, right, top])(document.getElementById('canvas').getBoundingClientRect())")
        left, right, y = box[0] + 151, box[1] - 1, box[2] + 300
        self.browser.mouse("mouseMoved", left, y)
        self.browser.mouse("mousePressed", left, y, button="left", clickCount=1, modifiers=8)
        for x in (left + 50, right - 50, right):
            self.browser.mouse("mouseMoved", x, y, button="left", buttons=1, modifiers=8)
        self.browser.mouse("mouseReleased", right, y, button="left", clickCount=1, modifiers=8)
        self.browser.drawn()
        whole = self.json["end"] - self.json["begin"]
        sums = self.state("sums")
        for number, name in enumerate(("executing", "off_cpu", "kernel")):
            self.assertAlmostEqual(sums["classes"][number], self.json["times"][name], delta=whole / 50)
        self.assertIn("Selected time", self.panel())
        # All time of the threads is some call's own, but for what was in no call.
        own = sum(each["own"] for each in sums["functions"])
        self.assertAlmostEqual(own, sum(self.json["times"].values()), delta=whole / 20)
        self.picture("span")
        call = self.place("outer_work")
        self.browser.click(call["x"], call["y"])
        self.browser.key("m")
        self.browser.drawn()
        self.assertAlmostEqual(self.ask("timeline.state.span.to - timeline.state.span.from"), call["duration"], delta=1)
        self.browser.key("f")
        self.browser.drawn()
        self.assertAlmostEqual(self.state("length"), 1.1 * call["duration"], delta=call["duration"] / 50)

    def test_the_summary_ends_with_a_whole_line(self):
        high, line = self.ask("(() => { const said = document.getElementById('said');"
                              "return [said.clientHeight, parseFloat(getComputedStyle(said).lineHeight)]; })()")
        self.assertAlmostEqual(high / line, round(high / line), delta=0.05)

    def test_keys_are_listed(self):
        self.assertFalse(self.ask("document.getElementById('keys').offsetParent !== null"))
        self.browser.key("?")
        self.browser.drawn()
        self.assertIn("flame graph", self.text("keys"))
        self.picture("keys")

    def test_dark_and_light(self):
        background = "getComputedStyle(document.body).backgroundColor"
        seen = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.drawn()
            seen.append(self.browser.ask(background))
            self.picture(scheme)
        self.assertEqual(len(set(seen)), 2)
        box = self.browser.ask("(({x, y}) => [x, y])(document.getElementById('theme').getBoundingClientRect())")
        self.browser.click(box[0] + 5, box[1] + 5)
        self.assertEqual(self.browser.ask(background), seen[0])

    def test_something_is_drawn_where_a_call_is(self):
        call = self.place("outer_work")
        pixel = self.browser.ask(f"""(() => {{
          const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
          return [...canvas.getContext('2d').getImageData({call['x']} - box.left, {call['y']} + 6 - box.top, 1, 1).data];
        }})()""")
        back = self.browser.ask("getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(pixel[:3], [int(n) for n in re.findall(r"\d+", back)])

    def test_stays_fluid_with_many_calls(self):
        """A hundred thousand calls in a row: a frame takes what its pixels take."""
        text = read(self.page)
        begin = text.index('<script id="data"')
        begin = text.index("\n", begin) + 1
        end = text.index("</script>", begin)
        data = json.loads(text[begin:end])
        many = 100000
        step = max((data["end"] - data["begin"]) // many, 2)
        data["end"] = data["begin"] + step * many
        calls = data["threads"][0]["calls"]
        for depth in range(0, 4):
            calls["begin"] += [step if i else step - sum(calls["begin"]) for i in range(many)]
        total = len(calls["begin"])
        for key, value in (("duration", step - 1), ("least", 0), ("most", step), ("fn", 0), ("instructions", 1),
                           ("whole", 1)):
            calls[key] += [value] * (total - len(calls[key]))
        calls["depth"] += [i // many + 30 for i in range(total - len(calls["depth"]))]
        path = os.path.join(self.folder.name, "many.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:begin] + json.dumps(data) + text[end:])
        self.open(path)
        milliseconds = self.browser.ask("""(() => {
          const begin = performance.now();
          for (let i = 0; i < 10; ++i) timeline.draw();
          return (performance.now() - begin) / 10;
        })()""")
        print(f"a frame of {total} calls: {milliseconds:.1f} ms")
        self.assertLess(milliseconds, 200)

    def test_names_stay_names(self):
        """A name that ends the script, and others, do nothing but be shown."""
        text = read(self.page)
        self.assertEqual(text.count("</script>"), 2)
        hostile = "</script><script>window.harm=1</script>\u2028\"'\\" + "x" * 400
        quoted = json.dumps(hostile).replace("<", "\\u003c")
        path = os.path.join(self.folder.name, "hostile.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"outer_work"', quoted))
        self.open(path)
        self.assertIsNone(self.browser.ask("window.harm"))
        call = self.place(hostile)
        self.browser.click(call["x"], call["y"])
        self.assertTrue(self.panel().startswith("</script>"))

    def waits(self, *words):
        """The timeline of the program whose other threads work for longer than the first one."""
        recording = os.path.join(self.folder.name, "waits.data")
        if not os.path.exists(recording):
            run(FLOWBACK, "record", "-o", recording, "--", os.path.join(self.folder.name, "waits"))
        return run(FLOWBACK, "timeline", recording, "--waits", *words)

    def test_waits(self):
        """The first thread waits for the end of the others."""
        legend = "document.getElementById('legend').innerText"
        self.assertNotIn("sleeping", self.ask(legend))
        told = json.loads(self.waits("--json"))
        page = os.path.join(self.folder.name, "waits.html")
        self.waits("--html", page)
        self.open(page)
        for words in ("spinning", "sleeping"):
            self.assertIn(words, self.ask(legend))
        # Kinds 6 and 7 of the strip are the waits.
        for kind, part in ((6, "spinning"), (7, "sleeping")):
            drawn = self.ask("timeline.data.threads.map(({spans}) => spans.length.reduce((sum, length, i) => "
                             f"sum + (spans.kind[i] === {kind} ? length : 0), 0)).reduce((a, b) => a + b)")
            self.assertEqual(drawn, told["waits"][part])
        whole = "timeline.data.threads.map(({spans}) => spans.length.reduce((a, b) => a + b, 0)).reduce((a, b) => a + b)"
        self.assertEqual(self.ask(whole), sum(told["times"].values()))
        x, y, length = self.ask("""(() => {
          const lane = timeline.lanes.find(({thread}) => thread && thread.waits.length);
          const wait = lane.thread.waits.reduce((a, b) => (b.length > a.length ? b : a));
          const box = document.getElementById('canvas').getBoundingClientRect();
          return [box.left + timeline.xOf(wait.begin + wait.length / 2), box.top + lane.y + 5 - timeline.state.top,
                  wait.length];
        })()""")
        self.browser.click(x, y)
        self.browser.drawn()
        self.assertIn("join", self.panel().splitlines()[0])
        self.assertIn("sleeping", self.panel())
        self.assertRegex(self.text("tip"), r"^waited [\d.]+ \S+ for \S*join\S*\(\) called at work.c:\d+$")
        self.picture("waits")
        self.browser.click(x, y, count=2)
        self.browser.drawn()
        self.assertAlmostEqual(self.state("length"), 1.1 * length, delta=length / 100)

    def test_waits_in_the_picture(self):
        path = os.path.join(self.folder.name, "waits.svg")
        self.waits("--svg", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        titles = [e.text or "" for e in root.iter() if e.tag.endswith("title")]
        self.assertTrue(any(t.startswith("waited ") and "join" in t for t in titles), titles)
        self.assertTrue(any(e.get("class") == "sleeping" for e in root.iter()))

    def test_the_picture_is_one_and_shows(self):
        path = os.path.join(self.folder.name, "work.svg")
        run(FLOWBACK, "timeline", self.recording, "--svg", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        titles = [e.text or "" for e in root.iter() if e.tag.endswith("title")]
        self.assertTrue(any(t.startswith("outer_work, ") for t in titles))
        text = read(path)
        self.assertNotIn("href", text)
        self.browser.open(path)
        self.picture("svg")
        self.assertGreater(self.browser.ask("document.querySelectorAll('rect').length"), 20)
        wide = self.browser.ask("Math.max(...[...document.querySelectorAll('rect')].map("
                                "(r) => r.getBoundingClientRect().right))")
        self.assertLessEqual(wide, 1200)


if __name__ == "__main__":
    if browser.program() is None:
        skip("chromium is not installed: apt-get install chromium")
    unittest.main(argv=sys.argv[:1])
