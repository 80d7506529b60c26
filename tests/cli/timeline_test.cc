// SPDX-License-Identifier: MIT
// `timeline`: what it says of recordings with known results.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;

std::vector<std::string> Generated(const std::string& name) {
  const auto folder = golden::TracesFolder() / "generated";
  return {folder / name / "perf.data", "--symfs", folder / "images"};
}

ProgramResult RunTimeline(std::vector<std::string> words, std::vector<std::string> more = {}) {
  words.insert(words.begin(), "timeline");
  words.insert(words.end(), more.begin(), more.end());
  ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  return result;
}

json TimelineJson(const std::vector<std::string>& words, std::vector<std::string> more = {}) {
  more.push_back("--json");
  const ProgramResult result = RunTimeline(words, more);
  json parsed = json::parse(result.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << result.out.substr(0, 500);
  return parsed;
}

// Sentences as they were before they were wrapped.
std::string Unwrapped(const std::string& text) {
  return std::regex_replace(text, std::regex("\n  "), " ");
}

uint64_t SumOf(const json& times) {
  uint64_t sum = 0;
  for (const json& time : times) sum += time.get<uint64_t>();
  return sum;
}

// Law 2, and the same for instructions, as a reader of the JSON can check them.
void ExpectAddsUp(const json& timeline) {
  uint64_t lives = 0;
  uint64_t instructions = 0;
  for (const json& thread : timeline["threads"]) {
    const uint64_t life = thread["end"].get<uint64_t>() - thread["begin"].get<uint64_t>();
    EXPECT_EQ(SumOf(thread["times"]), life);
    lives += life;
    instructions += thread["instructions"].get<uint64_t>();
  }
  uint64_t own = 0;
  uint64_t own_instructions = 0;
  for (const json& path : timeline["paths"]) {
    own += SumOf(path["own_times"]);
    own_instructions += path["self_instructions"].get<uint64_t>();
    EXPECT_LE(path["self_lo"], path["self"]);
    EXPECT_GE(path["self_hi"], path["self"]);
  }
  EXPECT_EQ(own, lives);
  EXPECT_EQ(own_instructions, instructions);
  EXPECT_EQ(timeline["paths"][0]["total"], lives);
}

class TimelineOfReal : public ::testing::TestWithParam<RealRecording> {};

TEST_P(TimelineOfReal, AddsUp) {
  FLOWBACK_NEEDS_TRACES();
  const json timeline = TimelineJson(GetParam().words);
  EXPECT_EQ(timeline["schema"], "flowback.timeline/1");
  ExpectAddsUp(timeline);
  uint64_t instructions = 0;
  for (const json& thread : timeline["threads"])
    instructions += thread["instructions"].get<uint64_t>();
  EXPECT_EQ(std::to_string(instructions), GetParam().count);
  const ProgramResult text = RunTimeline(GetParam().words);
  EXPECT_NE(Unwrapped(WithoutGroups(text.out)).find(GetParam().count + " instruction"),
            std::string::npos)
      << text.out;
}

INSTANTIATE_TEST_SUITE_P(Real, TimelineOfReal, ::testing::ValuesIn(RealRecordings()),
                         [](const auto& test) { return test.param.name; });

TEST(TimelineCommand, BeginsWithSentences) {
  FLOWBACK_NEEDS_TRACES();
  const std::string out = RunTimeline(Generated("pool-perthread")).out;
  for (const char* sentence :
       {" of 5 threads, from ", "Together they lived ", "Most of the executing was in ",
        "The longest call of pool 4805 was ", "Not known: "})
    EXPECT_NE(Unwrapped(out).find(sentence), std::string::npos) << sentence << out;
  EXPECT_LT(out.find("Not known: "), out.find("\ntime of threads\n"));
  EXPECT_LT(out.find("\ntime of threads\n"), out.find("\nby function\n"));
  EXPECT_LT(out.find("\nby function\n"), out.find("\nby call path\n"));
}

// In a file nothing is coloured; a line is no longer than it may be.
TEST(TimelineCommand, KeepsTheWidth) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* width : {"40", "80", "200"}) {
    setenv("COLUMNS", width, 1);
    const std::string out = RunTimeline(Generated("vcalls")).out;
    unsetenv("COLUMNS");
    EXPECT_EQ(out.find('\033'), std::string::npos);
    const size_t most = std::max<size_t>(std::stoul(width), 90);
    for (const std::string& line : Lines(out, true)) EXPECT_LE(line.size(), most) << line;
  }
}

TEST(TimelineCommand, HasColorsWhereTheyAreAskedFor) {
  FLOWBACK_NEEDS_TRACES();
  EXPECT_NE(RunTimeline(Generated("vcalls"), {"--color", "always"}).out.find("\033[1;32m"),
            std::string::npos);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(RunTimeline(Generated("vcalls")).out.find('\033'), std::string::npos);
  unsetenv("NO_COLOR");
}

TEST(TimelineCommand, GoesCloser) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> words = Generated("pool-perthread");
  const json all = TimelineJson(words);
  const json one = TimelineJson(words, {"--tid", "4805"});
  ASSERT_EQ(one["threads"].size(), 1u);
  EXPECT_EQ(one["threads"][0]["tid"], 4805);
  EXPECT_EQ(TimelineJson(words, {"--thread", "4805"})["threads"], one["threads"]);
  ExpectAddsUp(one);
  const json half = TimelineJson(words, {"--time", "10%,20%"});
  ExpectAddsUp(half);
  EXPECT_LT(half["end"].get<uint64_t>() - half["begin"].get<uint64_t>(),
            (all["end"].get<uint64_t>() - all["begin"].get<uint64_t>()) / 5);
  const json function = TimelineJson(words, {"--function", "do_lookup_x"});
  ExpectAddsUp(function);
  uint64_t calls = 0;
  for (const json& path : function["paths"])
    if (path["depth"] == 1) calls += path["calls"].get<uint64_t>();
  for (const json& each : all["functions"]) {
    if (each["name"] != "do_lookup_x") continue;
    EXPECT_EQ(each["calls"], calls);
  }
  const std::string flat = RunTimeline(words, {"--depth", "1"}).out;
  EXPECT_EQ(flat.substr(flat.find("by call path")).find("    start_thread"), std::string::npos);
}

// As `--as calls` does, it lets a process begin anew where exec made it another program.
TEST(TimelineCommand, BeginsAnewBehindExec) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> words = Generated("execs");
  const json timeline = TimelineJson(words);
  ExpectAddsUp(timeline);
  std::vector<std::string> list = words;
  list.insert(list.begin(), {"decode", "--as", "calls", "--json"});
  const ProgramResult listed = RunFlowback(list);
  std::map<std::string, uint64_t> calls;
  for (const std::string& line : Lines(listed.out, true)) {
    const json one = json::parse(line);
    if (one.value("type", "") == "call" && one["function"].is_string())
      ++calls[one["function"].get<std::string>()];
  }
  ASSERT_FALSE(calls.empty()) << listed.out.substr(0, 600);
  size_t compared = 0;
  std::map<std::string, uint64_t> told;
  for (const json& function : timeline["functions"])
    if (function["named"]) told[function["name"]] += function["calls"].get<uint64_t>();
  for (const auto& [name, count] : told)
    if (calls.contains(name)) {
      EXPECT_EQ(count, calls[name]) << name;
      ++compared;
    }
  EXPECT_GT(compared, 10u);
}

TEST(TimelineCommand, SaysWhatNoFunctionIs) {
  FLOWBACK_NEEDS_TRACES();
  std::vector<std::string> words = Generated("hello");
  words.insert(words.begin(), "timeline");
  words.insert(words.end(), {"--function", "nosuch"});
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("no such function was called"), std::string::npos) << result.err;
}

// The instructions around a time are those that `decode` prints, with the same times and bounds.
TEST(TimelineCommand, ShowsInstructionsAroundATime) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> words = Generated("hello");
  std::vector<std::string> decode = words;
  decode.insert(decode.begin(), {"decode", "--json", "-F", "+srcline,+symoff"});
  std::vector<json> listed;
  for (const std::string& line : Lines(RunFlowback(decode).out, true)) {
    json one = json::parse(line);
    if (one.value("type", "") == "instruction") listed.push_back(std::move(one));
  }
  ASSERT_GT(listed.size(), 100'000u);
  for (const size_t at : {size_t{5}, listed.size() / 2, listed.size() - 3}) {
    const uint64_t time = listed[at]["time"].get<uint64_t>();
    const std::string word = std::to_string(time) + "ns";
    const ProgramResult result = RunTimeline(words, {"--at", word, "--around", "7", "--json"});
    size_t here = 0;
    size_t shown = 0;
    for (const std::string& line : Lines(result.out, true)) {
      const json one = json::parse(line);
      if (one.contains("schema")) {
        EXPECT_EQ(one["schema"], "flowback.timeline.instructions/1");
        continue;
      }
      const json& same = listed[one["number"].get<size_t>()];
      for (const char* key : {"ip", "insn", "time", "time_lo", "time_hi", "sym", "file", "line"})
        EXPECT_EQ(one[key], same[key]) << key << " of " << one;
      here += one["here"].get<bool>() ? 1 : 0;
      if (one["here"].get<bool>()) {
        EXPECT_EQ(one["time"], time);
      }
      ++shown;
    }
    EXPECT_EQ(here, 1u);
    EXPECT_GE(shown, 7u);
    EXPECT_LE(shown, 14u);
  }
  EXPECT_NE(RunTimeline(words, {"--at", "50%"}).out.find("\n>"), std::string::npos);
  EXPECT_EQ(RunFlowback({"timeline", words[0], "--at", "soon"}).status, 2);
}

TEST(TimelineCommand, SaysThatTimesAreEmulated) {
  const ScratchFolder folder;
  const ProgramResult recorded =
      RunFlowback({"record", "--engine", "emulate", "-o", folder.File("data"), "--", "true"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_NE(Unwrapped(RunTimeline({folder.File("data")}).out).find("The recording is emulated"),
            std::string::npos);
  EXPECT_EQ(TimelineJson({folder.File("data")})["emulated"], true);
  EXPECT_NE(RunTimeline({folder.File("data"), "--at", "50%"}).out.find("# emulated"),
            std::string::npos);
  ExpectAddsUp(TimelineJson({folder.File("data")}));
}

// They are ticks of the emulator's clock.
TEST(TimelineCommand, DoesNotTellTheCyclesOfAnEmulator) {
  const ScratchFolder folder;
  const ProgramResult recorded = RunFlowback(
      {"record", "--engine", "emulate", "--cyc", "-o", folder.File("data"), "--", "true"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::vector<std::string> around = {"--at", "50%", "--around", "100000"};
  const std::string text = RunTimeline({folder.File("data")}, around).out;
  EXPECT_TRUE(text.contains("\n# started\n")) << text.substr(0, 300);
  EXPECT_FALSE(text.contains(" cycles after tracing had stopped"));
  const std::string lines =
      RunTimeline({folder.File("data")}, {"--at", "50%", "--around", "100000", "--json"}).out;
  EXPECT_TRUE(lines.contains("\"cycles\":null,\"cycles_begin\":false"));
  EXPECT_FALSE(lines.contains("\"cycles_begin\":true"));
}

// Kept results of a recording are printed like fresh ones, with the warnings.
TEST(TimelineCommand, SaysTheSameFromTheCache) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::string from = Traces("dynamorio-v3_static_820k_sb/");
  const std::string once = ReadFile(from + "pt.bin");
  std::string damaged;
  while (damaged.size() < size_t{1} << 19)
    damaged += once.substr(0, 3000) + "\x02\x77" + once.substr(2000);
  std::vector<std::vector<std::string>> recordings = {
      {"--raw-pt", folder.Write("damaged", damaged), "--cpu", "6/85/4", "--image", from + "hello"}};
  for (const char* name : {"vcalls", "vcalls-ovf", "big-gzip"})
    recordings.push_back(Generated(name));
  const std::string picture = folder.File("picture");
  size_t files = 0;
  for (const std::vector<std::string>& recording : recordings)
    for (const std::vector<std::string>& how :
         std::vector<std::vector<std::string>>{{},
                                               {"--json"},
                                               {"--svg", picture},
                                               {"--html", picture},
                                               {"--time", "10%,60%"},
                                               {"--function", "*a*", "--top", "3"}}) {
      SCOPED_TRACE(recording.front() + " " + (how.empty() ? "" : how.front()));
      std::vector<std::string> words = {"timeline"};
      words.insert(words.end(), recording.begin(), recording.end());
      words.insert(words.end(), how.begin(), how.end());
      const auto told = [&](const std::string& cache) {
        std::vector<std::string> all = words;
        all.insert(all.end(), {"--cache-dir", folder.File("c"), cache});
        if (cache.empty()) all.pop_back();
        const ProgramResult result = RunFlowback(all);
        const bool drawn = how.size() == 2 && how[1] == picture;
        return std::to_string(result.status) + result.err + result.out +
               (drawn ? ReadFile(picture) : "");
      };
      const std::string made = told("--no-index");
      for (int run = 0; run < 2; ++run) EXPECT_TRUE(told("") == made);
      size_t kept = 0;
      for (const auto& entry : std::filesystem::directory_iterator(folder.File("c")))
        kept += entry.path().filename().string().starts_with("timeline-") ? 1 : 0;
      EXPECT_GE(kept, files);
      files = kept;
    }
  // A picture and a page are of one, and a function that is not there is of none.
  EXPECT_GE(files, 4 * recordings.size());
  EXPECT_LE(files, 5 * recordings.size());
}

// A picture is written where it may be, and nothing is read that it overwrites.
TEST(TimelineCommand, WritesPictures) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  std::vector<std::string> words = Generated("vcalls");
  RunTimeline(words, {"--svg", folder.File("a.svg")});
  const std::string svg = ReadFile(folder.File("a.svg"));
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg.substr(0, 100);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_FALSE(svg.contains(" cycles"));
  RunTimeline(Generated("spin-cyc"), {"--svg", folder.File("cycles.svg")});
  EXPECT_TRUE(ReadFile(folder.File("cycles.svg")).contains(" instructions, "));
  EXPECT_TRUE(ReadFile(folder.File("cycles.svg")).contains(" cycles, at least "));
  RunTimeline(words, {"--html", folder.File("a.html")});
  const std::string page = ReadFile(folder.File("a.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  const size_t begin = page.find('\n', page.find("<script id=\"data\"")) + 1;
  const json data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data["threads"].size(), 1u);
  const std::string input = folder.Write("data", ReadFile(words[0]));
  EXPECT_EQ(RunFlowback({"timeline", input, "--svg", input}).status, 2);
  EXPECT_EQ(RunFlowback({"timeline", input, "--svg", "x", "--html", "y"}).status, 2);
}

// What the trace counts is in calls, in pauses, or between the two; at the ends nothing is known.
TEST(Timeline, TellsTheCyclesThatTheTraceCounts) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* name : {"latency-cyc", "switch-cyc", "spin-cyc"}) {
    SCOPED_TRACE(name);
    const json timeline = TimelineJson(Generated(name));
    uint64_t own = 0;
    uint64_t instructions = 0;
    for (const json& path : timeline["paths"]) {
      if (path["self_cycles"].is_null()) continue;
      own += path["self_cycles"]["likely"].get<uint64_t>();
      instructions += path["self_cycles"]["instructions"].get<uint64_t>();
      for (const char* key : {"self_cycles", "cycles"}) {
        EXPECT_LE(path[key]["lo"], path[key]["likely"]);
        EXPECT_LE(path[key]["likely"], path[key]["hi"]);
      }
    }
    const json all = timeline["paths"][0]["cycles"];
    EXPECT_EQ(all["likely"], own);
    EXPECT_EQ(all["lo"], own);  // whoever took them, the threads did
    EXPECT_EQ(all["instructions"], instructions);
    uint64_t told = own;
    for (const json& thread : timeline["threads"])
      told += thread["paused_cycles"].get<uint64_t>() + thread["undivided_cycles"].get<uint64_t>();
    uint64_t counted = 0;
    std::vector<std::string> words = Generated(name);
    words.insert(words.begin(), {"decode", "--as", "packets"});
    static const std::regex kCyc("CYC +(0x[0-9a-f]+|[0-9]+)");
    std::smatch found;
    for (const std::string& line : Lines(RunFlowback(words).out))
      if (std::regex_search(line, found, kCyc)) counted += std::stoull(found[1], nullptr, 0);
    EXPECT_LE(told, counted);
    EXPECT_GT(told * 10, counted * 9);
    const std::string text = RunTimeline(Generated(name)).out;
    EXPECT_TRUE(text.contains(" instructions a cycle")) << text;
    EXPECT_TRUE(text.contains(" IPC ")) << text;
  }
  EXPECT_FALSE(RunTimeline(Generated("hello")).out.contains("IPC"));
}

TEST(Timeline, SingleInstructionsHaveTheirCycles) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result =
      RunTimeline(Generated("latency-cyc"), {"--at", "50%", "--around", "200", "--json"});
  uint64_t told = 0;
  for (const std::string& line : Lines(result.out)) {
    const json object = json::parse(line);
    if (object.value("type", "") != "instruction" || object["cycles"].is_null()) continue;
    EXPECT_TRUE(object["cycles_begin"]);
    told += object["cycles"].get<uint64_t>();
  }
  EXPECT_GT(told, 100u);
}

}  // namespace
}  // namespace flowback::test
