# SPDX-License-Identifier: MIT
"""Formats with each call: read back, they have the same calls, which lie within each other, and all
instructions that executed.

  calls_test.py FLOWBACK PROGRAM PARTS... : a program whose threads go from stack to stack"""

import collections
import csv
import functools
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402
import perfetto  # noqa: E402

FLOWBACK, PROGRAM, PARTS = sys.argv[1], sys.argv[2], sys.argv[3:]


def known(ask):
    """What is asked of a part more than once is found out once. No test changes it."""
    @functools.wraps(ask)
    def once(test, part):
        key = (ask.__name__, part)
        if key not in test.answers:
            test.answers[key] = ask(test, part)
        return test.answers[key]
    return once


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.recordings, cls.answers = {}, {}
        for part in PARTS:
            cls.recordings[part] = part + ".data"
            run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", part + ".data", "--", PROGRAM, part], cls.folder)

    def exported(self, form, part, *words):
        run([FLOWBACK, "export", "--to", form, "-o", "out", self.recordings[part], *words], self.folder)
        with open(os.path.join(self.folder, "out"), "rb") as file:
            return file.read()

    def export(self, form, part):
        return self.exported(form, part).decode("utf-8")

    @known
    def instructions(self, part):
        """As another way of decoding counts them, by thread."""
        said = run([FLOWBACK, "info", "--json", self.recordings[part]], self.folder).stdout
        return {each["tid"]: each["instructions"] for each in json.loads(said)["threads"]}

    def nested(self, events):
        """How often each function was entered, of (enters, name, time); a stack and the time never go back."""
        stack, last, entered = [], 0, collections.Counter()
        for enters, name, time in events:
            self.assertGreaterEqual(time, last)
            last = time
            if enters:
                stack.append(name)
                entered[name] += 1
            else:
                self.assertEqual(stack.pop(), name)
        self.assertEqual(stack, [])
        return entered

    @known
    def chrome(self, part):
        """The functions that each thread entered."""
        told = json.loads(self.export("chrome", part))
        by_thread = collections.defaultdict(list)
        for event in told["traceEvents"]:
            if event["ph"] in "BE":
                by_thread[event["tid"]].append((event["ph"] == "B", event["name"], event["ts"]))
        return {tid: self.nested(events) for tid, events in by_thread.items()}

    def test_chrome_names_processes_and_threads(self):
        for part in PARTS:
            events = json.loads(self.export("chrome", part))["traceEvents"]
            named = collections.Counter((each["name"], each["args"]["name"]) for each in events if each["ph"] == "M")
            self.assertEqual(named, {("process_name", "own_stacks"): 1,
                                     ("thread_name", "own_stacks"): len(self.instructions(part))})

    def speedscope(self, part):
        told = json.loads(self.export("speedscope", part))
        names = [frame["name"] for frame in told["shared"]["frames"]]
        threads = {}
        for profile in told["profiles"]:
            self.assertEqual((profile["type"], profile["unit"]), ("evented", "nanoseconds"))
            events = [(each["type"] == "O", names[each["frame"]], each["at"]) for each in profile["events"]]
            self.assertEqual(profile["startValue"], events[0][2])
            self.assertGreaterEqual(profile["endValue"], events[-1][2])
            threads[int(profile["name"].split()[-1])] = self.nested(events)
        return threads

    @known
    def csv(self, part):
        return list(csv.DictReader(io.StringIO(self.export("csv", part))))

    def test_all_formats_have_the_same_calls(self):
        for part in PARTS:
            with self.subTest(part):
                chrome = self.chrome(part)
                self.assertEqual(set(chrome), set(self.instructions(part)))
                self.assertEqual(self.speedscope(part), chrome)
                calls = collections.Counter((int(row["tid"]), row["function"]) for row in self.csv(part))
                for (tid, name), times in calls.items():
                    # A call on a stack that was left and come back to is entered again.
                    self.assertGreaterEqual(chrome[tid][name], times, name)

    @known
    def truth(self, part):
        """(whole calls, instructions, time in calls) of each thread, as the lines of csv have them."""
        sums = {}
        for row in self.csv(part):
            calls, instructions, first, last = sums.get(int(row["tid"]), (0, 0, 1 << 64, 0))
            begin = int(row["begin"])
            sums[int(row["tid"])] = (calls + 1, instructions + int(row["self"]), min(first, begin),
                                     max(last, begin + int(row["duration"])))
        return {tid: (calls, own, last - first) for tid, (calls, own, first, last) in sums.items()}

    @known
    def perfetto(self, part):
        return perfetto.read(self.exported("perfetto", part))

    def test_perfetto_has_the_same_calls_and_sums(self):
        for part in PARTS:
            with self.subTest(part):
                threads = self.perfetto(part)
                chrome = self.chrome(part)
                self.assertEqual({tid: self.nested(thread.calls) for tid, thread in threads.items()}, chrome)
                sums = {tid: (thread.whole_calls, thread.instructions, thread.calls[-1][2] - thread.calls[0][2])
                        for tid, thread in threads.items()}
                self.assertEqual(sums, self.truth(part))
                for tid, thread in threads.items():
                    counts = [value for _, value in thread.counter]
                    self.assertEqual(counts, sorted(counts))
                    self.assertEqual(counts[-1], self.instructions(part)[tid])
                    self.assertEqual(thread.process, "own_stacks")
                    self.nested(thread.states)

    def test_pprof_has_the_same_sums(self):
        if subprocess.run(["go", "tool", "-n", "pprof"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine has no `go tool pprof` (Debian: golang-go)")
        for part in PARTS:
            with self.subTest(part):
                self.exported("pprof", part)
                said = run(["go", "tool", "pprof", "-raw", "out"], self.folder).stdout
                samples = said[said.index("Samples:") : said.index("Locations")].splitlines()
                sums = collections.defaultdict(lambda: [0, 0, 0])
                for line, values in enumerate(samples):
                    if "tid:[" not in values:
                        continue
                    amounts = next(text for text in reversed(samples[:line]) if ":[" not in text)
                    sum_of = sums[int(values.split("[")[1].rstrip("]"))]
                    for i, amount in enumerate(amounts.split(":")[0].split()):
                        sum_of[i] += int(amount)
                self.assertEqual({tid: tuple(each) for tid, each in sums.items()}, self.truth(part))
                self.assertRegex(said, r"(?m)^1: .*/own_stacks [0-9a-f]{40} \[FN\]\[FL\]\[LN\]\[IN\]")

    def test_firefox_has_the_same_sums(self):
        for part in PARTS:
            with self.subTest(part):
                told = json.loads(self.export("firefox", part))
                texts = told["shared"]["stringArray"]
                sums, names = {}, {}
                for thread in told["threads"]:
                    self.tables_fit(thread, len(texts))
                    totals = [each for each in thread["markers"]["data"] if each]
                    self.assertEqual(len(totals), 1)
                    time = round(sum(thread["samples"]["weight"]) * 1e6)
                    sums[thread["tid"]] = (totals[0]["calls"], totals[0]["instructions"], time)
                    names[thread["tid"]] = {texts[each] for each in thread["funcTable"]["name"]}
                    # A process's threads, which often have one name, differ by their numbers.
                    title = thread["processName"] + f" {thread['tid']}" * (str(thread["tid"]) != thread["pid"])
                    self.assertEqual(thread["name"], title)
                    self.kinds_fit(told["meta"]["categories"], thread, texts)
                self.assertEqual(sums, self.truth(part))
                self.assertEqual(names, {tid: set(calls) for tid, calls in self.chrome(part).items()})

    def kinds_fit(self, categories, thread, texts):
        """System calls, libraries and the program have categories, and so colours, of their own."""
        kinds = {"System calls": 0, "Shared libraries": 0, "Program": 0}
        for frame, function in enumerate(thread["frameTable"]["func"]):
            resource = thread["funcTable"]["resource"][function]
            file = "" if resource < 0 else texts[thread["resourceTable"]["name"][resource]]
            name = texts[thread["funcTable"]["name"][function]]
            kind = ("System calls" if re.fullmatch(r"(\w+ \()?system call\)?", name) else
                    "Shared libraries" if ".so" in file else "Program")
            self.assertEqual(categories[thread["frameTable"]["category"][frame]]["name"], kind, (name, file))
            kinds[kind] += 1
        self.assertGreater(min(kinds.values()), 0)
        for marker in thread["markers"]["category"]:
            self.assertEqual(categories[marker]["name"], "Other")

    def tables_fit(self, thread, texts):
        """The rules of the format: columns of one length, numbers that exist, parents first, times that go on."""
        for name in ("samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"):
            for column in thread[name].values():
                self.assertTrue(not isinstance(column, list) or len(column) == thread[name]["length"], name)
        stacks, frames = thread["stackTable"], thread["frameTable"]
        for number, prefix in enumerate(stacks["prefix"]):
            self.assertTrue(prefix is None or 0 <= prefix < number)
        for numbers, most in ((stacks["frame"], frames["length"]), (frames["func"], thread["funcTable"]["length"]),
                              (thread["samples"]["stack"], stacks["length"]), (thread["funcTable"]["name"], texts),
                              (thread["funcTable"]["resource"], thread["resourceTable"]["length"]),
                              (thread["resourceTable"]["name"], texts), (thread["markers"]["name"], texts)):
            for number in numbers:
                self.assertTrue(number is None or -1 <= number < most)
        self.assertEqual(thread["samples"]["time"], sorted(thread["samples"]["time"]))

    def test_flamegraph_has_the_same_sums(self):
        for part in PARTS:
            with self.subTest(part):
                picture = ElementTree.fromstring(self.export("flamegraph", part))
                bars = [each for each in picture.iter("{http://www.w3.org/2000/svg}g") if each.get("class") == "c"]
                sums = {int(each.get("data-tid")): tuple(int(each.get("data-" + what))
                                                         for what in ("calls", "instructions", "time"))
                        for each in bars if each.get("data-tid")}
                self.assertEqual(sums, self.truth(part))
                places = sorted(tuple(int(bar.get("data-" + what)) for what in "bdw") for bar in bars)
                open_bars = []  # from the outermost one on
                for begin, depth, weight in places:
                    del open_bars[depth:]
                    self.assertEqual(len(open_bars), depth)
                    if open_bars:
                        self.assertGreaterEqual(begin, open_bars[-1][0])
                        self.assertLessEqual(begin + weight, open_bars[-1][1])
                    open_bars.append((begin, begin + weight))
                self.assertEqual(int(bars[0].get("data-w")), sum(self.instructions(part).values()))

    def test_flamegraph_draws_itself(self):
        chromium = shutil.which("chromium")
        if chromium is None:
            self.skipTest("this machine has no chromium")
        self.exported("flamegraph", PARTS[0])
        os.rename(os.path.join(self.folder, "out"), os.path.join(self.folder, "out.svg"))
        words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "file://" + self.folder + "/out.svg"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True).stdout
        # The script has run: what is too narrow for the whole picture is not shown.
        self.assertIn('style="display: none;"', said)
        self.assertIn("dl_relocate_object", said)

    def ctf(self, part):
        """What babeltrace2 reads, in the order of each thread: (kind, time, fields)."""
        self.exported("ctf", part)
        place = os.path.join(self.folder, "ctf")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        run(["tar", "-xf", "../out"], place)
        done = run(["babeltrace2", "--clock-cycles", "--no-delta", "flowback-ctf"], place)
        self.assertEqual(done.stderr, "")
        events = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            time, kind, tid, fields = re.fullmatch(
                r"\[(\d+)\] (\w+): \{ pid = -?\d+, tid = (-?\d+), thread = \".*?\" \}, \{ (.*) \}", line).groups()
            # Of a call only its function is looked at.
            numbers = ({} if kind == "call" else
                       {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)(?=,|$)", fields)})
            named = re.search(r'function = "(.*?)"(, object = |$)', fields)
            events[int(tid)].append((kind, int(time), named and named.group(1), numbers))
        return events

    def test_babeltrace_has_the_same_calls_and_sums(self):
        if shutil.which("babeltrace2") is None:
            self.skipTest("this machine has no babeltrace2 (Debian: babeltrace2)")
        for part in PARTS:
            with self.subTest(part):
                sums, entered, without = {}, {}, 0
                for tid, events in self.ctf(part).items():
                    calls = [each for each in events if each[0] in ("call", "return")]
                    entered[tid] = self.nested((kind == "call", name, time) for kind, time, name, _ in calls)
                    whole = [each for kind, _, _, each in calls if kind == "return" and each["goes_on"] == 0]
                    sums[tid] = (len(whole), sum(each["self_instructions"] for each in whole), calls[-1][1] - calls[0][1])
                    without += sum(each["duration"] for kind, _, _, each in events if kind == "no_flow")
                self.assertEqual(sums, self.truth(part))
                self.assertEqual(entered, self.chrome(part))
                states = [state for thread in self.perfetto(part).values() for state in thread.states]
                self.assertEqual(without, sum(-time if begins else time for begins, _, time in states))

    def test_sqlite_has_the_same_calls_and_sums(self):
        for part in PARTS:
            with self.subTest(part):
                self.exported("sqlite", part)
                database = sqlite3.connect(os.path.join(self.folder, "out"))
                self.addCleanup(database.close)
                self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                sums = {tid: tuple(each) for tid, *each in database.execute(
                    "SELECT tid, count(*), sum(self_insn_count), max(return_time) - min(call_time) FROM calls_view "
                    "GROUP BY tid")}
                self.assertEqual(sums, self.truth(part))
                calls = collections.Counter(database.execute(
                    "SELECT tid, symbol, call_time, elapsed_time, insn_count FROM calls_view"))
                self.assertEqual(calls, collections.Counter(
                    (int(row["tid"]), row["function"], int(row["begin"]), int(row["duration"]), int(row["instructions"]))
                    for row in self.csv(part)))
                # A call lies in its parent, and its path below the parent's.
                (wrong,) = database.execute(
                    "SELECT count(*) FROM calls c JOIN calls p ON p.id = c.parent_id WHERE c.call_time < p.call_time OR "
                    "c.return_time > p.return_time OR c.parent_call_path_id != p.call_path_id OR c.thread_id != p.thread_id"
                ).fetchone()
                self.assertEqual(wrong, 0)
                (wrong,) = database.execute(
                    "SELECT count(*) FROM calls c JOIN call_paths p ON p.id = c.call_path_id "
                    "WHERE p.parent_id != c.parent_call_path_id").fetchone()
                self.assertEqual(wrong, 0)
                (built,) = database.execute("SELECT count(*) FROM dsos_view WHERE length(build_id) = 40").fetchone()
                self.assertGreater(built, 2)

    def rows(self, part, *words):
        return list(csv.DictReader(io.StringIO(self.exported("csv", part, *words).decode("utf-8"))))

    def test_cuts_keep_what_they_say(self):
        """Held against all calls, of which the same are chosen here."""
        part = "threads"
        whole = self.csv(part)

        def key(row):
            return row["tid"], row["begin"], row["duration"], row["instructions"], row["function"]

        for least in (1000, 100000):
            chosen = self.rows(part, "--min-duration", f"{least / 1e9:.9f}s")
            self.assertEqual(collections.Counter(map(key, chosen)),
                             collections.Counter(key(row) for row in whole if int(row["duration"]) >= least))
        for most in (1, 3):
            chosen = self.rows(part, "--max-depth", str(most))
            self.assertEqual(collections.Counter(map(key, chosen)),
                             collections.Counter(key(row) for row in whole if int(row["depth"]) < most))
            self.assertEqual(sum(int(row["self"]) for row in chosen), sum(self.instructions(part).values()))
        function = next(row["function"] for row in whole if row["function"].startswith("_dl_relocate_object"))
        chosen = self.rows(part, "--function", function)
        tops = [row for row in chosen if row["depth"] == "0"]
        self.assertEqual({row["function"] for row in tops}, {function})
        self.assertEqual(len([row for row in chosen if row["function"] == function]),
                         len([row for row in whole if row["function"] == function]))
        self.assertEqual(sum(int(row["self"]) for row in chosen), sum(int(row["instructions"]) for row in tops))

    def test_a_cut_by_time(self):
        part = "threads"
        whole = self.csv(part)
        first = min(int(row["begin"]) for row in whole)
        last = max(int(row["begin"]) + int(row["duration"]) for row in whole)
        begin, end = first + (last - first) // 4, last - (last - first) // 4
        words = ["--time", f"{begin // 10**9}.{begin % 10**9:09},{end // 10**9}.{end % 10**9:09}"]

        def inside(rows):
            return collections.Counter((row["tid"], row["begin"], row["duration"], row["self"], row["function"])
                                       for row in rows if int(row["begin"]) >= begin
                                       and int(row["begin"]) + int(row["duration"]) <= end)

        chosen = self.rows(part, *words)
        self.assertEqual(inside(chosen), inside(whole))
        self.assertEqual(sum(inside(chosen).values()), len(chosen))
        for thread in perfetto.read(self.exported("perfetto", part, *words)).values():
            self.nested(thread.calls)
            for _, _, time in thread.calls:
                self.assertTrue(begin <= time <= end)

    def test_cuts_that_do_not_apply(self):
        part = PARTS[0]
        for words in (["--time", "0%,50%"], ["--max-depth", "3"], ["--calls-only"]):
            said = run([FLOWBACK, "export", "--to", "brstack", *words, self.recordings[part]], self.folder, status=None)
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertIn("does not apply to --to brstack", said.stderr)
        said = run([FLOWBACK, "export", "--to", "csv", "--function", "no_such", self.recordings[part]], self.folder,
                   status=None)
        self.assertEqual(said.returncode, 2, said.stderr)
        self.assertIn("no such function was called", said.stderr)
        threads = perfetto.read(self.exported("perfetto", part, "--calls-only"))
        self.assertFalse(any(thread.counter or thread.states for thread in threads.values()))
        self.assertTrue(all(thread.calls for thread in threads.values()))

    def test_a_full_disk_leaves_no_file(self):
        """A limit of the size of files stands for the disk."""
        words = ["bash", "-c", 'ulimit -f 40; trap "" XFSZ; exec "$@"', "bash", FLOWBACK, "export", "--to", "perfetto",
                 "-o", "cut.perfetto-trace", self.recordings[PARTS[0]]]
        said = run(words, self.folder, status=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("writing failed", said.stderr)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("cut.")])

    def test_standard_output(self):
        part = PARTS[0]
        words = [FLOWBACK, "export", "--to", "perfetto", "-o", "-", self.recordings[part]]
        said = subprocess.run(words, cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(said.stdout, self.exported("perfetto", part))

    def test_the_name_of_the_file_packs(self):
        part = PARTS[0]
        plain = self.exported("csv", part)
        for ending, unpack in (("gz", ["gzip", "-dc"]), ("zst", ["zstd", "-dcq"])):
            if shutil.which(unpack[0]) is None:
                self.skipTest(f"this machine has no {unpack[0]}")
            name = "out.csv." + ending
            run([FLOWBACK, "export", "--to", "csv", "-o", name, self.recordings[part]], self.folder)
            done = subprocess.run(unpack + [name], cwd=self.folder, capture_output=True, check=True)
            self.assertEqual(done.stdout, plain)
        self.assertEqual(self.exported("pprof", part)[:2], gzip.compress(b"")[:2])

    def test_no_instruction_is_left_out(self):
        for part in PARTS:
            with self.subTest(part):
                own = collections.Counter()
                for row in self.csv(part):
                    own[int(row["tid"])] += int(row["self"])
                    self.assertLessEqual(int(row["self"]), int(row["instructions"]))
                self.assertEqual(own, self.instructions(part))

    def test_callgrind_annotate_reads_it(self):
        if shutil.which("callgrind_annotate") is None:
            self.skipTest("this machine has no callgrind_annotate (Debian: valgrind)")
        for part in PARTS:
            with self.subTest(part):
                self.export("callgrind", part)
                said = subprocess.run(["callgrind_annotate", "--threshold=100", "--inclusive=no", "out"], cwd=self.folder,
                                      capture_output=True, text=True, check=True).stdout
                totals = next(line for line in said.splitlines() if "PROGRAM TOTALS" in line)
                self.assertEqual(int(totals.split()[0].replace(",", "")), sum(self.instructions(part).values()))
                own = collections.Counter()
                for row in self.csv(part):
                    own[row["function"]] += int(row["self"])
                top = own.most_common(1)[0]
                self.assertIn(f"{top[1]:,}", said)

    def test_a_part_and_what_has_no_calls(self):
        part = PARTS[0]
        tid = next(iter(self.instructions(part)))
        run([FLOWBACK, "export", "--to", "csv", "--tid", str(tid), "-o", "out", self.recordings[part]], self.folder)
        with open(os.path.join(self.folder, "out"), encoding="utf-8", newline="") as file:
            self.assertEqual({row["tid"] for row in csv.DictReader(file)}, {str(tid)})
        stacks = os.path.join(self.folder, "stacks.txt")
        with open(stacks, "w", encoding="utf-8") as file:
            file.write("  401000 0x401010/0x401000/P/-/-/1 0x401020/0x401008/P/-/-/1\n")
        said = run([FLOWBACK, "export", "--to", "chrome", stacks], self.folder, status=None)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn("what was called between them is not known", said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
