// SPDX-License-Identifier: MIT
// The columns, JSON keys and kinds of `decode`.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

std::vector<std::string> Loopy(std::vector<std::string> words) {
  words.insert(words.begin(), "decode");
  words.insert(words.end(), {Traces("hase-2018-04-04/loopy-20180404T162955.perf"), "--image",
                             Traces("hase-2018-04-04/loopy")});
  return words;
}

std::string FirstLine(const ProgramResult& result) {
  const std::vector<std::string> lines = Lines(result.out);
  return lines.empty() ? "" : lines[0];
}

std::vector<json> JsonLines(const ProgramResult& result) {
  std::vector<json> objects;
  for (const std::string& line : Lines(result.out, true)) objects.push_back(json::parse(line));
  return objects;
}

std::vector<std::string> Keys(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(Instructions, DefaultColumns) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Lines(result.out).size(), 57u);
  const std::string line = FirstLine(result);
  EXPECT_TRUE(line.starts_with("loopy 19233 [002] 969349.98756")) << line;
  EXPECT_NE(line.find(": 4000e8 _start+0x0 ("), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("loopy) mov r8, qword ptr [rsp]")) << line;
}

TEST(Instructions, FieldsComeInTheDocumentedOrder) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"-F", "flags,bytes,ip,tid,sym,symoff"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 57u);
  EXPECT_EQ(lines[0], "19233 4000e8 4c8b0424 _start 0x0 -");
  EXPECT_EQ(lines[1], "19233 4000ec 4983f801 again 0x0 -");
  EXPECT_EQ(lines[2], "19233 4000f0 7427 again 0x4 jcc,not-taken");
  EXPECT_EQ(lines[7], "19233 40010e 0f05 again 0x22 far-call,trace-end");
}

TEST(Instructions, AddressesAloneAreOnePerLine) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--fields", "ip"}));
  const std::vector<std::string> lines = Lines(result.out, true);
  ASSERT_EQ(lines.size(), 57u);
  EXPECT_EQ(lines[0], "4000e8");
  EXPECT_EQ(lines[56], "400133");
}

TEST(Instructions, TextIsDisassembly) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"-F", "ip,insn"}));
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GT(lines.size(), 8u);
  EXPECT_EQ(lines[2], "4000f0 je 0x400119");
  EXPECT_EQ(lines[7], "40010e syscall");
}

TEST(Instructions, RawStreamsHaveNoThread) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(
      {"decode", "--raw-pt", Traces("dynamorio-current/pt.bin"), "--image",
       Traces("dynamorio-current/hello"), "--cpu", "6/85/4", "-F", "comm,pid,tid,cpu,ip"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(FirstLine(result).starts_with("- - 0 - ")) << result.out;
}

TEST(Json, InstructionKeysAreStable) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--json"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<json> lines = JsonLines(result);
  ASSERT_EQ(lines.size(), 58u);
  EXPECT_EQ(lines[0]["schema"], "flowback.decode.instructions/1");
  EXPECT_EQ(lines[0]["clock"], "ns");
  EXPECT_EQ(lines[0]["emulated"], false);
  const std::vector<std::string> keys = {"comm",    "cpu",     "dso",    "insn", "ip",
                                         "stream",  "sym",     "symoff", "tid",  "time",
                                         "time_hi", "time_lo", "tsc",    "type"};
  std::vector<std::string> found = Keys(lines[1]);
  std::ranges::sort(found);
  EXPECT_EQ(found, keys);
  EXPECT_EQ(lines[1]["type"], "instruction");
  EXPECT_EQ(lines[1]["ip"], "4000e8");
  EXPECT_EQ(lines[1]["tid"], 19233);
  EXPECT_EQ(lines[1]["symoff"], 0);
  EXPECT_EQ(lines[1]["time"].get<uint64_t>() / 1000000, 969349987u);
  EXPECT_LE(lines[1]["time_lo"], lines[1]["time"]);
  EXPECT_GE(lines[1]["time_hi"], lines[1]["time"]);
  EXPECT_LE(lines[1]["time_hi"].get<uint64_t>() - lines[1]["time_lo"].get<uint64_t>(), 1000u);
}

TEST(Json, EveryKindHasASchemaAndParses) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::string kind : {"instructions", "lines", "blocks", "branches", "calls", "packets",
                                 "events", "digest", "summary"}) {
    const ProgramResult result = RunFlowback(Loopy({"--json", "--as", kind}));
    ASSERT_EQ(result.status, 0) << kind << result.err;
    const std::vector<json> lines = JsonLines(result);
    ASSERT_GT(lines.size(), 1u) << kind;
    EXPECT_EQ(lines[0]["schema"], "flowback.decode." + kind + "/1");
    for (size_t i = 1; i < lines.size(); ++i) EXPECT_TRUE(lines[i].contains("type")) << kind;
  }
}

TEST(Json, Digest) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<json> lines = JsonLines(RunFlowback(Loopy({"--json", "--as", "digest"})));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["tid"], 19233);
  EXPECT_EQ(lines[1]["count"], 57);
  EXPECT_EQ(lines[1]["digest"], "58ca80eae7b4f27d");
}

TEST(Blocks, AddUpToTheInstructions) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--as", "blocks"}));
  ASSERT_EQ(result.status, 0) << result.err;
  uint64_t instructions = 0;
  for (const std::string& line : Lines(result.out)) {
    const std::vector<std::string> words = ::flowback::test::Words(line);
    ASSERT_EQ(words.size(), 5u) << line;
    instructions += std::stoull(words[1]);
  }
  EXPECT_EQ(instructions, 57u);
}

TEST(Packets, CoverTheStream) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--as", "packets", "--json"}));
  ASSERT_EQ(result.status, 0) << result.err;
  uint64_t next = 0;
  const std::vector<json> lines = JsonLines(result);
  for (size_t i = 1; i < lines.size(); ++i) {
    const json& line = lines[i];
    ASSERT_EQ(line["offset"], next);
    next += line[line["type"] == "packet" ? "size" : "bytes"].get<uint64_t>();
  }
  EXPECT_EQ(next, 1392u);
}

TEST(Packets, HaveTheManualsNames) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> lines = Lines(RunFlowback(Loopy({"--as", "packets"})).out);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0], "00000000 PSB");
  const auto has = [&](const std::string& end) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.ends_with(end); });
  };
  EXPECT_TRUE(has(" PSBEND"));
  EXPECT_TRUE(has(" TIP.PGE 0x4000e8"));
  EXPECT_TRUE(has(" MODE.Exec 64-bit"));
}

// Five threads on two CPUs: packets are listed by buffer, so that no thread is missing.
TEST(Packets, AreShownByBuffer) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = golden::TracesFolder() / "generated/spin-cyc/perf.data";
  const ProgramResult result = RunFlowback({"decode", "--as", "packets", file});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.out.contains("# stream 1: cpu1, 136222 bytes\n"));
  EXPECT_EQ(result.err, "");
}

TEST(Events, TellStartsAndStops) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> lines = Lines(RunFlowback(Loopy({"--as", "events"})).out);
  const auto with = [&](const std::string& text) {
    return std::ranges::count_if(lines,
                                 [&](const std::string& line) { return line.contains(text); });
  };
  EXPECT_EQ(with(" started "), 8);
  EXPECT_EQ(with(" stopped "), 7);
  EXPECT_EQ(with(" stopped-async "), 1);
}

TEST(Summary, CountsWhatTheBranchListHas) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<json> lines = JsonLines(RunFlowback(Loopy({"--json", "--as", "summary"})));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["type"], "thread");
  EXPECT_EQ(lines[2]["type"], "total");
  for (size_t i : {1, 2}) {
    EXPECT_EQ(lines[i]["instructions"], 57);
    EXPECT_EQ(lines[i]["far"], 7);
    EXPECT_EQ(lines[i]["bytes_decoded"].get<uint64_t>() +
                  lines[i]["bytes_padding"].get<uint64_t>() +
                  lines[i]["bytes_lost"].get<uint64_t>(),
              1392u);
  }
}

TEST(Selection, ByTimeKeepsWhatLiesInside) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> all = Lines(RunFlowback(Loopy({"-F", "time,ip"})).out);
  ASSERT_FALSE(all.empty());
  const ProgramResult some =
      RunFlowback(Loopy({"-F", "time,ip", "--time", "969349.987573,969349.987575"}));
  ASSERT_EQ(some.status, 0) << some.err;
  std::vector<std::string> expected;
  for (const std::string& line : all)
    if (line >= "969349.987573" && line < "969349.987575000000001") expected.push_back(line);
  ASSERT_FALSE(expected.empty());
  ASSERT_LT(expected.size(), all.size());
  EXPECT_EQ(Lines(some.out), expected);
}

// The program ran in the first 0.06 % of the recording.
TEST(Selection, PerCentOfTheRecording) {
  FLOWBACK_NEEDS_TRACES();
  const size_t all = Lines(RunFlowback(Loopy({"-F", "ip"})).out).size();
  const size_t first = Lines(RunFlowback(Loopy({"-F", "ip", "--time", ",0.045%"})).out).size();
  const size_t both = Lines(RunFlowback(Loopy({"-F", "ip", "--time", "0%,100%"})).out).size();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, all);
  EXPECT_EQ(both, all);
}

TEST(Selection, ByThreadNameAndCpu) {
  FLOWBACK_NEEDS_TRACES();
  EXPECT_EQ(Lines(RunFlowback(Loopy({"--tid", "19233"})).out).size(), 57u);
  EXPECT_EQ(Lines(RunFlowback(Loopy({"--comm", "loopy"})).out).size(), 57u);
  EXPECT_EQ(Lines(RunFlowback(Loopy({"--cpu-list", "2"})).out).size(), 57u);
  for (const auto& words :
       {std::vector<std::string>{"--tid", "1"}, {"--comm", "other"}, {"--cpu-list", "0-1"}}) {
    const ProgramResult nothing = RunFlowback(Loopy(words));
    EXPECT_EQ(nothing.status, 2) << nothing.out;
    EXPECT_NE(nothing.err.find("leave nothing"), std::string::npos) << nothing.err;
  }
}

TEST(Output, GoesToTheNamedFile) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::string file = folder.File("out.txt");
  const ProgramResult result = RunFlowback(Loopy({"-F", "ip", "-o", file}));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(ReadFile(file), RunFlowback(Loopy({"-F", "ip"})).out);
}

TEST(Output, AFullDiskIsAnError) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"-o", "/dev/full"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("/dev/full: writing failed"), std::string::npos) << result.err;
}

// Writing fails, or the program is killed meanwhile: an older file stays whole, and no part of a
// new one is left.
TEST(Output, ThatIsNotWholeTakesNoPlace) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const int unnamed = open(folder.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without names";
  close(unnamed);
  const std::string file = folder.File("out.txt");
  std::string command = " exec " + ProgramFile();
  for (const std::string& word : Loopy({"--no-cache", "-o", file})) command += " '" + word + "'";
  const std::string fails = "trap '' XFSZ; ulimit -f 1;" + command + " 2>/dev/null";
  const std::string dies = "ulimit -c 0; ulimit -f 1;" + command + " 2>/dev/null";
  for (const std::string& line : {fails, dies}) {
    EXPECT_NE(std::system(line.c_str()), 0) << line;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << line;
  }
  folder.Write("out.txt", "older");
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  for (const std::string& line : {fails, dies}) {
    EXPECT_NE(std::system(line.c_str()), 0) << line;
    EXPECT_EQ(ReadFile(file), "older") << line;
  }
  EXPECT_EQ(RunFlowback(Loopy({"-o", file})).status, 0);
  EXPECT_EQ(ReadFile(file), RunFlowback(Loopy({})).out);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0640));
}

// `| head`: megabytes of text remain unwritten, and that is no error.
TEST(Output, AClosedPipeEndsTheWorkAtOnce) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const RunOptions head{.close_output_after = 1, .folder = {}};
  const ProgramResult result =
      RunFlowback({"decode", folder / "big-gzip/perf.data", "--symfs", folder / "images"}, head);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(result.out.empty());
  EXPECT_FALSE(result.timed_out);
}

TEST(Emulated, IsSaidWhereTimesAre) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::string file = folder.File("perf.data");
  const ProgramResult recorded =
      RunFlowback({"record", "--engine", "step", "-o", file, "--", "true"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto first = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"decode", file});
    const std::vector<std::string> lines = Lines(RunFlowback(words).out, true);
    return lines.empty() ? std::string() : lines[0];
  };
  EXPECT_TRUE(first({}).starts_with("# emulated")) << first({});
  EXPECT_TRUE(first({"--as", "events"}).starts_with("# emulated"));
  EXPECT_EQ(json::parse(first({"--json"}))["emulated"], true);
  EXPECT_FALSE(first({"-F", "ip"}).starts_with("#"));
  EXPECT_NE(RunFlowback({"info", file}).out.find("(emulated)"), std::string::npos);
}

// What looks like a CBR reaches into a PSB: that is where all kinds of output go on.
TEST(Packets, GoOnAtAPsbIntoWhichDamageReaches) {
  const ScratchFolder folder;
  std::string psb;
  for (int i = 0; i < 8; ++i) psb += "\x02\x82";
  psb += "\x02\x23";  // PSBEND
  const std::string trace = folder.Write("trace", psb + "\x02\x03" + psb);
  const ProgramResult result = RunFlowback({"decode", "--raw-pt", trace, "--as", "packets"});
  EXPECT_TRUE(result.out.contains("# loss: unknown or damaged packet, 0 bytes at offset 0x14"))
      << result.out;
  EXPECT_TRUE(result.out.contains("\n00000014 PSB\n00000024 PSBEND\n")) << result.out;
}

}  // namespace
}  // namespace flowback::test
