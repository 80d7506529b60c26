// SPDX-License-Identifier: MIT
// `timeline --overview`: what it says beside what `timeline` says of the same recordings.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;

std::vector<std::string> OfGenerated(const std::string& name) {
  const auto folder = golden::TracesFolder() / "generated";
  return {folder / name / "perf.data", "--symfs", folder / "images"};
}

ProgramResult RunWith(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.begin(), "timeline");
  words.insert(words.end(), more.begin(), more.end());
  ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  return result;
}

json JsonWith(const std::vector<std::string>& words, std::vector<std::string> more) {
  more.push_back("--json");
  json parsed = json::parse(RunWith(words, more).out, nullptr, false);
  EXPECT_TRUE(parsed.is_object());
  return parsed;
}

std::string OnOneLine(const std::string& text) {
  return std::regex_replace(text, std::regex("\n  "), " ");
}

void ExpectSaysTheSame(const std::vector<std::string>& words,
                       const std::vector<std::string>& part) {
  std::vector<std::string> more = part;
  const json whole = JsonWith(words, more);
  more.push_back("--overview");
  const json overview = JsonWith(words, more);
  EXPECT_EQ(overview["schema"], "flowback.timeline.overview/1");
  for (const char* key : {"clock", "emulated", "begin", "end", "times", "cpus"})
    EXPECT_EQ(overview[key], whole[key]) << key;
  ASSERT_EQ(overview["threads"].size(), whole["threads"].size());
  uint64_t instructions = 0;
  for (size_t i = 0; i < whole["threads"].size(); ++i) {
    const json& thread = overview["threads"][i];
    for (const char* key : {"tid", "pid", "stream", "comm", "begin", "end", "times", "instructions",
                            "losses", "off_cpu_told"})
      EXPECT_EQ(thread[key], whole["threads"][i][key]) << key;
    instructions += thread["instructions"].get<uint64_t>();
    ASSERT_EQ(thread["strip"].size(), whole["threads"][i]["strip"].size());
    for (size_t column = 0; column < thread["strip"].size(); ++column)
      EXPECT_EQ(thread["strip"][column]["times"], whole["threads"][i]["strip"][column]["times"]);
  }
  EXPECT_EQ(overview["instructions"], instructions);
  uint64_t told = 0;
  for (const json& function : overview["functions"])
    told += function["self_instructions"].get<uint64_t>();
  EXPECT_EQ(overview["instructions_told"], told);
}

class OverviewOfReal : public ::testing::TestWithParam<RealRecording> {};

TEST_P(OverviewOfReal, SaysWhatTheTimelineSays) {
  FLOWBACK_NEEDS_TRACES();
  ExpectSaysTheSame(GetParam().words, {});
  const ProgramResult text = RunWith(GetParam().words, {"--overview"});
  EXPECT_NE(OnOneLine(WithoutGroups(text.out)).find(GetParam().count + " instruction"),
            std::string::npos)
      << text.out;
  EXPECT_EQ(text.err, RunWith(GetParam().words, {}).err);  // the same losses, the same images
}

INSTANTIATE_TEST_SUITE_P(Real, OverviewOfReal, ::testing::ValuesIn(RealRecordings()),
                         [](const auto& test) { return test.param.name; });

// Without its code, with overflows, of one thread among several.
TEST(OverviewCommand, SaysWhatIsLostAsTheTimelineDoes) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> without_code = {OfGenerated("pool-perthread").front()};
  for (const std::vector<std::string>& words : {without_code, OfGenerated("vcalls-ovf")}) {
    ExpectSaysTheSame(words, {});
    const std::string said = RunWith(words, {}).err;
    EXPECT_NE(said.find("lost "), std::string::npos) << said;
    EXPECT_EQ(RunWith(words, {"--overview"}).err, said);
  }
  ExpectSaysTheSame(without_code, {"--tid", "4805"});
  EXPECT_EQ(RunWith(without_code, {"--tid", "4805", "--overview"}).err,
            RunWith(without_code, {"--tid", "4805"}).err);
  std::vector<std::string> strict = OfGenerated("vcalls-ovf");
  strict.insert(strict.begin(), "timeline");
  strict.insert(strict.end(), {"--overview", "--strict"});
  EXPECT_EQ(RunFlowback(strict).status, 6);
}

TEST(OverviewCommand, SaysWhatItIsAndKeepsTheWidth) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* width : {"40", "80", "200"}) {
    setenv("COLUMNS", width, 1);
    const std::string out = RunWith(OfGenerated("vcalls"), {"--overview", "--top", "5"}).out;
    unsetenv("COLUMNS");
    for (const char* text :
         {"About ", " of the instructions were in ", "This is an overview", "without --overview"})
      EXPECT_NE(OnOneLine(out).find(text), std::string::npos) << text << out;
    for (const char* text : {"\ntime of threads\n", "\nby function, about\n"})
      EXPECT_NE(out.find(text), std::string::npos) << text << out;
    EXPECT_EQ(out.find("by call path"), std::string::npos);
    EXPECT_EQ(out.find("Nothing is missing"), std::string::npos);
    EXPECT_EQ(out.find('\033'), std::string::npos);
    const size_t most = std::max<size_t>(std::stoul(width), 90);
    for (const std::string& line : Lines(out, true)) EXPECT_LE(line.size(), most) << line;
  }
}

TEST(OverviewCommand, RefusesWhatNeedsCalls) {
  FLOWBACK_NEEDS_TRACES();
  const std::string input = OfGenerated("hello").front();
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--function", "main"},
                                             {"--depth", "3"},
                                             {"--max-depth", "3"},
                                             {"--at", "50%"},
                                             {"--around", "3"},
                                             {"--svg", "x.svg"},
                                             {"--html", "x.html"}}) {
    std::vector<std::string> words = {"timeline", input, "--overview"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("--overview follows no calls"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(OverviewCommand, TellsOfAPart) {
  FLOWBACK_NEEDS_TRACES();
  const json whole = JsonWith(OfGenerated("big-sqlite3"), {"--time", "20%,60%"});
  const json part = JsonWith(OfGenerated("big-sqlite3"), {"--time", "20%,60%", "--overview"});
  for (const char* key : {"begin", "end", "times"}) EXPECT_EQ(part[key], whole[key]) << key;
  const auto told = whole["threads"][0]["instructions"].get<double>();
  EXPECT_NEAR(part["threads"][0]["instructions"].get<double>(), told, told / 20);
}

// Recordings of other kinds, made here: branch stacks; no times.
TEST(OverviewCommand, TellsOfWhatWasRecordedOtherwise) {
  const ScratchFolder folder;
  for (const std::string how : {"-b", "--no-tsc"}) {
    SCOPED_TRACE(how);
    const ProgramResult recorded = RunFlowback(
        {"record", "--engine", "emulate", "-o", folder.File("data"), how, "--", "true"});
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    ExpectSaysTheSame({folder.File("data")}, {});
    const json overview = JsonWith({folder.File("data")}, {"--overview"});
    const auto all = overview["instructions"].get<double>();
    EXPECT_GT(all, 10'000);
    EXPECT_GE(overview["instructions_told"].get<double>(), 0.9 * all);
    EXPECT_LE(overview["instructions_told"].get<double>(), 1.1 * all);
  }
}

// A sync point, a TIP.PGE to a RET, and a TIP.PGD: one instruction, or with less of it none. Then
// trace without a sync point.
TEST(OverviewCommand, TellsOfNextToNothing) {
  const ScratchFolder folder;
  std::string sync;
  for (int i = 0; i < 8; ++i) sync += "\x02\x82";
  sync += "\x02\x23";
  const std::string starts = std::string("\x51", 1) + std::string("\x00\x10\x40\x00", 4);
  const std::string stops = std::string("\x41", 1) + std::string("\x00\x20\x40\x00", 4);
  const std::string code = folder.Write("code", "\xc3");
  uint64_t most = 0;
  for (const std::string& trace :
       {sync + starts + stops, sync + starts, sync, std::string(64, '\0'), std::string(64, 'x')}) {
    const std::vector<std::string> words = {"--raw-pt", folder.Write("pt", trace), "--section",
                                            code + ":0:1:0x401000"};
    ExpectSaysTheSame(words, {});
    EXPECT_EQ(RunWith(words, {"--overview"}).err, RunWith(words, {}).err);
    most = std::max(most, JsonWith(words, {"--overview"})["instructions"].get<uint64_t>());
  }
  EXPECT_EQ(most, 1u);
}

}  // namespace
}  // namespace flowback::test
