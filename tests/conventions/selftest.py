# SPDX-License-Identifier: MIT
"""Each check finds what it is for, and says nothing about a project that is in order."""

import os
import tempfile
import unittest

import documents
import layering
import limits
import names
import prose
import registries
import sources
import words
from project import Project

SPDX = "// SPDX-License-Identifier: MIT\n"


class Checks(unittest.TestCase):
    def findings(self, module, files, *more):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return "\n".join(module.check(Project(root), *more))

    def test_layering(self):
        header = {
            "capture/a.h": SPDX,
            "decode/pt/packets/p.h": SPDX,
            "decode/pt/c.h": SPDX,
            "decode/b.h": SPDX,
            "base/recorded/pt_config.h": SPDX,
            "cli/go/g.h": SPDX,
            "cli/reading/r.h": SPDX,
            "capture/record/target/t.h": SPDX,
            "capture/record/step/s.h": SPDX,
            "capture/record/r.h": SPDX,
        }
        include = '#include "{}"\n'.format
        cases = [
            ("decode/x.cc", include("capture/a.h"), "decode must not include capture"),
            ("capture/x.cc", include("decode/b.h"), "capture must not include decode"),
            ("capture/x.cc", include("decode/pt/packets/p.h"), ""),
            ("decode/pt/packets/x.cc", include("../../b.h"), "packets must not include decode"),
            ("cli/x.cc", include("capture/a.h") + include("decode/b.h"), ""),
            ("cli/reading/x.cc", include("cli/go/g.h"), "cli_ground must not include cli"),
            ("cli/listing/x.cc", include("cli/go/g.h"), "cli_listing must not include cli"),
            ("cli/go/x.cc", include("cli/go/g.h") + include("cli/reading/r.h"), ""),
            # A part of a room includes those below it.
            ("capture/record/step/x.cc", include("capture/record/target/t.h"), ""),
            ("capture/record/x.cc", include("capture/record/step/s.h"), ""),
            (
                "capture/record/target/x.cc",
                include("capture/record/step/s.h"),
                "capture/record/target must not include capture/record/step (s.h)",
            ),
            ("capture/record/step/x.cc", include("../r.h"), "capture/record/step must not include capture/record/. (r.h)"),
            ("capture/record/new/x.cc", include("capture/record/r.h"), "capture/record/new is no part of capture/record/"),
            # Behind a source nobody asks which hardware it was.
            ("cli/x.cc", include("decode/pt/c.h"), "cli must not include pt"),
            ("cli/x.cc", include("decode/pt/packets/p.h"), "cli must not include packets"),
            ("replay/x.cc", include("decode/pt/c.h"), "replay must not include pt"),
            ("decode/schedule/x.cc", include("decode/pt/c.h"), "schedule must not include pt"),
            ("decode/x.cc", include("decode/pt/c.h"), "decode must not include pt"),
            ("decode/pt/x.cc", include("decode/b.h"), ""),
            ("replay/x.cc", "void F(const PtConfig&);\n", "replay/x.cc:1: PtConfig is Intel PT's"),
            ("decode/x.cc", "int F() { return pt::Find(1); }\n", "pt::Find is Intel PT's"),
            ("cli/x.cc", "constexpr auto kWay = Resync::kPsb;\n", "kPsb is Intel PT's"),
            ("cli/x.cc", 'int i;  // a PSB\nauto word = "psb, PtConfig";\n', ""),
            ("capture/x.cc", "void F(const PtConfig&);\n", ""),
            ("cli/x.cc", include("base/recorded/pt_config.h"), "cli must not include pt_config"),
            ("capture/x.cc", include("base/recorded/pt_config.h"), ""),
            ("include/flowback/base/x.h", "#include <Zydis/Zydis.h>\n", "not ours or the standard's"),
            ("include/flowback/base/x.h", "#include <vector>\n", ""),
            ("replay/x.cc", "#include <intel-pt.h>\n", "may be included in"),
            ("decode/pt/libipt/x.cc", "#include <intel-pt.h>\n", ""),
            ("samples/x.cc", include("decode/b.h"), "public headers only"),
        ]
        for path, text, expected in cases:
            with self.subTest(path=path, text=text):
                found = self.findings(layering, {**header, path: text})
                self.assertIn(expected, found) if expected else self.assertEqual("", found)

    def test_names(self):
        glossary = {"GLOSSARY.md": "| word | is |\n| piece |\n| span |\n| window |\n\n| not | but |\n|---|---|\n| ~~checkpoint~~ | sync point |\n"}
        stack = "class Stack {\n};\n"
        cases = [
            ({"decode/a.h": stack, "replay/b.h": stack}, "Stack: the name of a class in decode/a.h and in replay/b.h"),
            ({"decode/a.h": stack, "replay/b.h": "struct alignas(32) Stack final : Base {\n};\n"}, "Stack: the name"),
            # Named ahead, nested, a file's own, or a test's.
            ({"decode/a.h": stack, "replay/b.h": "class Stack;\n"}, ""),
            ({"decode/a.h": stack, "replay/b.h": "class Other {\n  class Stack {\n  };\n};\n"}, ""),
            ({"decode/a.h": stack, "replay/b.cc": stack, "tests/c.h": stack}, ""),
            ({**glossary, "decode/a.h": "// From the checkpoint on.\n"}, "a.h:1: says checkpoint; GLOSSARY.md says sync"),
            ({**glossary, "decode/a.cc": "size_t kCheckpointSize;\n"}, "says checkpoint"),
            ({**glossary, "decode/a.cc": "size_t checkpoints_;\n"}, "says checkpoint"),
            ({**glossary, "docs/a.md": "A checkpoint.\n"}, "docs/a.md:1: says checkpoint"),
            ({"decode/a.h": "struct CodePiece {\n};\n"}, "decode/a.h: CodePiece is none of what GLOSSARY.md calls a piece"),
            ({"decode/a.h": "struct FlowPiece {\n};\nstruct Pieced {\n};\n", "tests/a.h": "struct CodePiece {\n};\n"}, ""),
            ({"decode/a.cc": "size_t window = 0;\n"}, "decode/a.cc:1: how many are worked on at once is in_flight"),
            ({"decode/a.h": "  const unsigned window_;\n"}, "in_flight"),
            ({"decode/a.cc": "StreamWindow window;\nsize_t windows_end;\n"}, ""),
            ({"decode/a.h": "  size_t piece_size = 0;\n"}, "is a segment"),
            ({"GLOSSARY.md": "| word | is |\n"}, "GLOSSARY.md: does not say what a window is"),
            ({**glossary, "decode/a.cc": "size_t checkpointed;\n", "tests/a.cc": "// checkpoint\n"}, ""),
        ]
        for files, expected in cases:
            with self.subTest(files=files):
                found = self.findings(names, files)
                self.assertIn(expected, found) if expected else self.assertEqual("", found)

    def test_registries(self):
        cases = [
            ({"include/flowback/model/events.def": "FLOWBACK_EVENT(kGone, \"gone\", \"x\")\n"}, "uses kGone"),
            (
                {"replay/writers/writers.def": 'FLOWBACK_WRITER(Flow, "x", WriteX, "all of it")\n'},
                "WriteX is not defined",
            ),
            (
                {
                    "replay/writers/writers.def": "",
                    "replay/writers/flow/write_x.cc": "void WriteX(const Flow& flow, TextSink& sink) {",
                },
                "none of its functions is in",
            ),
            ({"replay/analyses/analyses.def": "FLOWBACK_ANALYSIS(x)\n"}, "x has no"),
            ({"capture/formats/input/formats.def": 'FLOWBACK_FORMAT(Ctf, "CTF")\n'}, "MatchesCtf is not defined"),
            (
                {"capture/record/recorders.def": 'FLOWBACK_RECORDER(x, "x", 0, CheckX, MakeXRecorder)\n'},
                "MakeXRecorder is not defined",
            ),
            (
                {
                    "capture/formats/input/formats.def": "",
                    "capture/formats/x.cc": "Status ReadX(const Candidate& c, Recording& r) {",
                },
                "ReadX is not in",
            ),
            ({"cli/commands.def": 'FLOWBACK_COMMAND("go", RunGo, "x")\n'}, "defined 0 times"),
            ({"cli/commands.def": "", "cli/go.cc": "int RunGo(const Arguments& a) {"}, "RunGo is not in"),
            (
                {"decode/pt/source/engines.def": "FLOWBACK_DECODER(new, MakeNewDecoder)\n"},
                "MakeNewDecoder is not defined",
            ),
            ({"decode/sources.def": "FLOWBACK_SOURCE(new, OpenNewSource)\n"}, "OpenNewSource is not defined"),
            (
                {
                    "decode/pt/packets/packet_list.h": "using P = PacketList<Pad>;",
                    "decode/pt/packets/a.h": "struct Pad {\n kName = 1;\n}\nstruct Tip {\n kName = 2;\n}",
                },
                "packet Tip 0 times",
            ),
        ]
        for files, expected in cases:
            with self.subTest(expected=expected):
                self.assertIn(expected, self.findings(registries, files))

    def test_limits(self):
        def test(name, *values):
            return {"name": name, "properties": [{"name": "TIMEOUT", "value": v} for v in values]}

        self.assertEqual([], list(limits.findings([test("a.b", 60.0), test("c_NOT_BUILT")], 60)))
        cases = [
            ([test("a.b", 60.0), {"name": "c.d"}], "c.d: has no time limit"),
            ([test("a.b")], "a.b: has no time limit"),
            ([test("a.b", 61.0)], "a.b: its time limit of 61 s"),
            ([test("a.b", 0.0)], "a.b: its time limit of 0 s"),
            ([], "finds no tests"),
        ]
        for tests, expected in cases:
            with self.subTest(expected):
                self.assertIn(expected, "\n".join(limits.findings(tests, 60)))

    def test_sources(self):
        path = "/".join(["", "home", "jo", "x"])
        many = {f"a/{number}.json": "" for number in range(46)}
        reason = {sources.LARGE_FOLDERS: "a: data\n"}
        cases = [
            ({"a.cc": "int a;\n"}, "must say SPDX"),
            ({"a.cc": SPDX * 501}, "501 lines"),
            ({"a.cc": SPDX * 501, sources.LONG_FILES: "a.cc: one table\n"}, ""),
            ({"a.cc": SPDX, sources.LONG_FILES: "a.cc: one table\n"}, "remove it"),
            (many, "a: 46 files, at most 45"),
            ({**many, **reason}, ""),
            ({"a/0.json": "", **reason}, "remove it"),
            ({f"a/{number}.json": "" for number in range(45)} | {"a/b/45.json": ""}, ""),
            ({"a.cc": SPDX + f'open("{path}");\n'}, "path of one machine"),
            ({"tests/a.cc": SPDX + "TEST(A, DISABLED" + "_B) {}\n"}, "disabled"),
            ({"a.cc": SPDX, "build/b.cc": "", "other/CMakeCache.txt": "", "other/c.cc": ""}, ""),
        ]
        for files, expected in cases:
            with self.subTest(expected=expected):
                found = self.findings(sources, files)
                self.assertIn(expected, found) if expected else self.assertEqual("", found)

    def test_documents(self):
        good = {"ARCHITECTURE.md": "`cli/main.cc`", "README.md": "Few words.\n```\nx\n```\n", "cli/main.cc": ""}
        self.assertEqual("", self.findings(documents, good))
        # A clone alone has no such neighbour.
        linked = {"docs/README.md": "[a](x/a.md#two-x)", "docs/x/a.md": "# Two `x`!\n"}
        self.assertEqual("", self.findings(documents, {**good, **linked}))
        beside = {"CONTRIBUTING.md": "`../shared` beside `../shared/traces/README.md`, and `cli/../cli/main.cc`"}
        self.assertEqual("", self.findings(documents, {**good, **beside}))
        cases = [
            ({"CONTRIBUTING.md": "`cli/../cli/gone.cc`"}, "there is no cli/../cli/gone.cc"),
            ({"ARCHITECTURE.md": "`cli/gone.cc`"}, "there is no cli/gone.cc"),
            ({"ARCHITECTURE.md": "`replay/writers/<name>.cc`"}, "there is no replay/writers/<name>.cc"),
            ({"CONTRIBUTING.md": "`tests/gone.txt`"}, "CONTRIBUTING.md: there is no tests/gone.txt"),
            ({"docs/a.md": "`docs/gone.txt`"}, "docs/a.md: there is no docs/gone.txt"),
            ({"ARCHITECTURE.md": "word " * 701}, "701 words"),
            ({"README.md": "word " * 151 + "\n```\nx\n```\n"}, "after 151 words"),
            ({"README.md": "No command."}, "at most 150"),
            ({"README.md": "\n```\n$ flowback fly\n```\n", "cli/commands.def": ""}, "shows `flowback fly`"),
            (
                {
                    "README.md": "From `./demo`:\n```\n$ flowback decode x | head -n 2\n```\n",
                    "demo": "show 3 decode x\n",
                },
                "./demo does not run",
            ),
            ({"docs/a.md": "[b](b.md)"}, "links to b.md"),
            ({"docs/a.md": "# One\n[b](#two)"}, "links to #two of docs/a.md"),
            ({"docs/a.md": "[b](b.md#one)", "docs/b.md": "# Two `x`\n"}, "links to #one of docs/b.md"),
            ({"docs/README.md": "[a](a.md)", "docs/a.md": "", "docs/x/b.md": ""}, "does not link to docs/x/b.md"),
            ({"docs/a.md": "```\nx\n```\n" + "word " * 25}, "docs/a.md:4: 125 characters"),
        ]
        for files, expected in cases:
            with self.subTest(expected=expected):
                self.assertIn(expected, self.findings(documents, {**good, **files}))

    def test_words(self):
        cases = [
            ("a.h", "// Of a thread.\n", "comments: 1 places"),
            ("a.h", "int a;  // What is kept.\n", "opening: What is kept."),
            ("a.h", "// Keeps what the kernel\n// tells of it.\n", "told: Keeps what the kernel tells of it."),
            ("a.py", 'def f():\n    """That of one is said."""\n', "a.py:2: opening: That of one is said."),
            ("a.py", "# Likewise.\n", "such: Likewise."),
            ("CMakeLists.txt", "# Which such one is it. Such a one.\n", "such: Such a one."),
            ("docs/a.md", "| a | What is it |\n", "documents: 1 places"),
            ("docs/a.md", "Words. The file " + "has words " * 15 + ".\n", "long: 1 places"),
            ("cli/a.cc", 'app.add_flag("--a", a, "tell of each"\n" thread");\n', "helps: 1 places"),
            ("cli/commands.def", 'FLOWBACK_COMMAND("a", RunA, "What is it", "")\n', "helps: 1 places"),
            ("base/a.cc", 'return Error("the record tells nothing here");\n', "messages: 1 places"),
            # A question, code, a name, a number of an option, an exception's license line.
            ("docs/a.md", "What is it? Read `What is`.\n```\nOf a\n```\n", ""),
            ("a.h", "// SPDX-License-Identifier: MIT\n// Returns it. Tells apart both.\nint of;\n", ""),
            ("cli/a.cc", 'app.add_flag("--a", a, "Record each thread");\n', ""),
            ("tests/a.cc", 'Check("the record tells nothing here");\n', ""),
        ]
        none = dict.fromkeys(words.LIMITS, 0)
        for path, text, expected in cases:
            with self.subTest(path=path, text=text):
                found = self.findings(words, {path: text}, none)
                self.assertIn(expected, found) if expected else self.assertEqual("", found)
        self.assertEqual("", self.findings(words, {"a.h": "// Of a thread.\n"}, {**none, "comments": 1}))
        self.assertEqual(list(prose.sentences("See e.g. This. (Then that.) `x` ends.")),
                         ["See e.g. This.", "Then that.", "`x` ends."])
        self.assertEqual(list(prose.sentences("Nothing is lost. flowback says so.")),
                         ["Nothing is lost.", "flowback says so."])


if __name__ == "__main__":
    unittest.main()
