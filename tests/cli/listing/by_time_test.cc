// SPDX-License-Identifier: MIT
// `decode --by-time`: the threads' listings, merged.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

Words Generated(const std::string& name, const Words& more) {
  const auto folder = golden::TracesFolder() / "generated";
  Words words = {"decode", folder / name / "perf.data", "--symfs", folder / "images"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The listing's lines by their first word; a comment is the thread's of the line before.
std::map<std::string, std::vector<std::string>> ByThread(const std::string& text) {
  std::map<std::string, std::vector<std::string>> threads;
  std::string thread;
  for (const std::string& line : Lines(text, true)) {
    if (line.starts_with("# thread") || line.starts_with("# stream")) continue;
    if (!line.starts_with('#')) thread = line.substr(0, line.find(' '));
    threads[thread].push_back(line);
  }
  return threads;
}

// How often the time, the second word, is less than that of a line before.
size_t StepsBack(const std::string& text) {
  size_t steps = 0;
  std::string last;
  for (const std::string& line : Lines(text)) {
    const std::string time = ::flowback::test::Words(line).at(1);
    if (time == "-") continue;
    if (time < last) ++steps;
    last = std::max(last, time);
  }
  return steps;
}

size_t Changes(const std::string& text) {
  size_t changes = 0;
  std::string last;
  for (const std::string& line : Lines(text)) {
    const std::string thread = line.substr(0, line.find(' '));
    changes += thread != last ? 1 : 0;
    last = thread;
  }
  return changes;
}

struct Case {
  std::string name;
  std::string recording;
  Words words;
};

class ByTime : public ::testing::TestWithParam<Case> {};

TEST_P(ByTime, IsTheThreadsListingsInTheOrderOfTime) {
  FLOWBACK_NEEDS_TRACES();
  const Words words = Generated(GetParam().recording, GetParam().words);
  const ProgramResult one_by_one = RunFlowback(words);
  const ProgramResult merged = RunFlowback(With(words, {"--by-time"}));
  ASSERT_EQ(merged.status, 0) << merged.err;
  EXPECT_EQ(merged.err, one_by_one.err);
  EXPECT_TRUE(ByThread(merged.out) == ByThread(one_by_one.out));
  EXPECT_GT(ByThread(merged.out).size(), 1u);
  EXPECT_EQ(StepsBack(merged.out), 0u);
  EXPECT_GT(Changes(merged.out), ByThread(merged.out).size());
  for (const Words& more : {Words{"--threads", "1"}, Words{"--threads", "4"},
                            Words{"--window", "1"}, Words{"--window", "2", "--threads", "3"}})
    EXPECT_TRUE(RunFlowback(With(With(words, {"--by-time"}), more)).out == merged.out) << more[1];
}

INSTANTIATE_TEST_SUITE_P(
    Generated, ByTime,
    ::testing::Values(
        Case{"per_cpu", "spin-cyc", {"--tid", "4768,4769", "-F", "tid,time,ip"}},
        Case{"per_thread",
             "pool-perthread",
             {"--tid", "4806,4807", "--time", ",50%", "-F", "tid,time,ip"}},
        Case{"blocks", "spin-cyc", {"--tid", "4768,4769", "--as", "blocks", "-F", "tid,time"}},
        Case{"branches", "spin-switchwide-power", {"--as", "branches", "-F", "tid,time"}},
        Case{"lines", "spin-cyc", {"--as", "lines", "-F", "tid,time,srcline"}},
        Case{"calls", "pool-perthread", {"--as", "calls", "-F", "tid,time"}},
        Case{
            "long_calls", "spin-cyc", {"--as", "calls", "-F", "tid,time", "--min-duration", "1us"}},
        Case{"calls_in_time",
             "pool-perthread",
             {"--as", "calls", "--time", "9340.0002,9340.124", "-F", "tid,time"}},
        Case{"calls_on_cpus_in_time",
             "spin-cyc",
             {"--as", "calls", "--time", "40%,60%", "-F", "tid,time"}},
        Case{"events", "spin-cyc", {"--as", "events", "-F", "tid,time"}},
        Case{"by_cpu", "spin-cyc", {"--by-cpu", "--as", "events", "-F", "tid,time"}},
        Case{"libipt", "spin-cyc", {"--engine", "libipt", "--as", "events", "-F", "tid,time"}}),
    [](const auto& test) { return test.param.name; });

// One run of a program, read as many streams that all run at the same time.
Words Copies(size_t count, const Words& more) {
  Words words = {"decode",
                 "--image",
                 Traces("dynamorio-v3_static_820k_sb/hello"),
                 "--cpu",
                 "6/85/4",
                 "--mtc-freq",
                 "3",
                 "--tsc-ctc",
                 "308/2",
                 "--nominal-freq",
                 "37"};
  for (size_t i = 0; i < count; ++i)
    words.insert(words.end(), {"--raw-pt", Traces("dynamorio-v3_static_820k_sb/pt.bin")});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ManyStreams, AreOpenedAFewAtATime) {
  FLOWBACK_NEEDS_TRACES();
  constexpr size_t kStreams = 12;
  const Words blocks = {"--as", "blocks", "-F", "tid,time"};
  const ProgramResult one = RunFlowback(With(Copies(kStreams, blocks), {"--by-time"}));
  ASSERT_EQ(one.status, 0) << one.err;
  for (const std::string window : {"1", "3"})
    EXPECT_TRUE(
        RunFlowback(With(Copies(kStreams, blocks), {"--by-time", "--window", window})).out ==
        one.out)
        << window;
  EXPECT_TRUE(ByThread(one.out) == ByThread(RunFlowback(Copies(kStreams, blocks)).out));
  // At each time each stream has its lines, the first one first.
  EXPECT_EQ(StepsBack(one.out), 0u);
  const std::vector<std::string> lines = Lines(one.out);
  std::string time;
  std::vector<size_t> at_once;
  for (const std::string& line : lines) {
    const std::vector<std::string> words = ::flowback::test::Words(line);
    if (words[1] != time) at_once.clear();
    time = words[1];
    const size_t stream = std::stoul(words[0]);
    if (!at_once.empty()) {
      EXPECT_LE(at_once.back(), stream);
    }
    at_once.push_back(stream);
  }
}

TEST(ManyStreams, TenThousand) {
  FLOWBACK_NEEDS_TRACES();
  Words words = {"decode",      "--image",  Traces("dynamorio-current/hello"),
                 "--cpu",       "6/85/4",   "-F",
                 "tid,time,ip", "--by-time"};
  constexpr size_t kStreams = 10'000;
  for (size_t i = 0; i < kStreams; ++i)
    words.insert(words.end(), {"--raw-pt", Traces("dynamorio-current/pt.bin")});
  const ProgramResult result = RunFlowback(words, {.memory_mib = 4096});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Lines(result.out).size(), 8 * kStreams);
  EXPECT_EQ(StepsBack(result.out), 0u);
}

TEST(Json, HasTheSameObjects) {
  FLOWBACK_NEEDS_TRACES();
  const Words words = Generated("spin-cyc", {"--as", "calls", "--json"});
  const auto objects = [](const std::string& text) {
    std::map<int, std::vector<std::string>> threads;
    for (const std::string& line : Lines(text, true))
      threads[json::parse(line).value("tid", -1)].push_back(line);
    return threads;
  };
  const ProgramResult merged = RunFlowback(With(words, {"--by-time"}));
  EXPECT_TRUE(objects(merged.out) == objects(RunFlowback(words).out));
  uint64_t last = 0;
  for (const std::string& line : Lines(merged.out)) {
    const json object = json::parse(line);
    if (!object.contains("tsc") || object["tsc"].is_null()) continue;
    EXPECT_GE(object["tsc"].get<uint64_t>(), last) << line;
    last = object["tsc"];
  }
  EXPECT_GT(last, 0u);
}

TEST(Columns, TellThreadAndTime) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::string kind : {"blocks", "branches", "events"}) {
    const ProgramResult plain =
        RunFlowback(Generated("spin-cyc", {"--tid", "4768,4769", "--as", kind, "--by-time"}));
    const ProgramResult named = RunFlowback(
        Generated("spin-cyc", {"--tid", "4768,4769", "--as", kind, "--by-time", "-F", "tid,time"}));
    EXPECT_EQ(plain.status, 0);
    EXPECT_TRUE(plain.out == named.out) << kind;
    EXPECT_FALSE(plain.out.contains("# thread"));
  }
}

TEST(Losses, StayBehindTheirThreadsLines) {
  FLOWBACK_NEEDS_TRACES();
  const Words words = Generated("vcalls-ovf", {"--as", "calls", "-F", "tid,time"});
  const ProgramResult merged = RunFlowback(With(words, {"--by-time"}));
  const ProgramResult one_by_one = RunFlowback(words);
  EXPECT_TRUE(one_by_one.out.contains("# loss: "));
  EXPECT_TRUE(ByThread(merged.out) == ByThread(one_by_one.out));
  EXPECT_EQ(StepsBack(merged.out), 0u);
  EXPECT_EQ(merged.err, one_by_one.err);
}

TEST(Usage, OtherKindsHaveNoOrderOfTime) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::string kind : {"packets", "digest", "summary"}) {
    const ProgramResult result = RunFlowback(Generated("hello", {"--as", kind, "--by-time"}));
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("--by-time does not apply"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("try: use it with --as instructions, "), std::string::npos);
  }
}

TEST(ClosedPipe, EndsTheWorkAtOnce) {
  FLOWBACK_NEEDS_TRACES();
  const RunOptions head{.close_output_after = 1, .folder = {}};
  const ProgramResult result = RunFlowback(Generated("big-sqlite3", {"--by-time"}), head);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(result.out.empty());
  EXPECT_FALSE(result.timed_out);
}

}  // namespace
}  // namespace flowback::test
