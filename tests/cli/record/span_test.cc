// SPDX-License-Identifier: MIT
// `record --from F --until G`: what is listed is what lies between, of a listing of everything.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

const std::string kTiny = SamplesFolder() + "/tiny";

struct Line {
  std::string symbol;
  bool first = false;  // the function's first instruction
  std::string text;
};

class SpanTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string engine = GetParam();
    const json diagnosis = json::parse(RunFlowback({"doctor", "--json"}).out);
    for (const json& verdict : diagnosis["recording"])
      if (verdict["engine"] == engine && verdict["usable"] != true)
        GTEST_SKIP() << engine << ": " << verdict["why"];
  }
  ProgramResult Record(std::vector<std::string> options, const std::string& program = kTiny) {
    const std::vector<std::string> first = {"record", "--engine", GetParam(), "-o", file_};
    options.insert(options.begin(), first.begin(), first.end());
    options.insert(options.end(), {"--", program});
    return RunFlowback(options);
  }
  // The listing of the file's only thread.
  std::vector<Line> Listing() const {
    std::vector<Line> lines;
    const ProgramResult listed =
        RunFlowback({"decode", file_, "--as", "instructions", "-F", "ip,sym,symoff"});
    EXPECT_EQ(listed.err, "");
    for (const std::string& text : Lines(listed.out)) {
      const std::vector<std::string> words = Words(text);
      lines.push_back({words.at(1).substr(0, words[1].find('.')), words.at(2) == "0x0", words[0]});
    }
    return lines;
  }
  // Returns the part of the whole listing between the functions.
  static std::vector<std::string> Between(const std::vector<Line>& all, const std::string& from,
                                          const std::string& until) {
    std::vector<std::string> result;
    bool on = from.empty();
    for (const Line& line : all) {
      if (line.first && line.symbol == from) on = true;
      if (line.first && line.symbol == until) on = false;
      if (on) result.push_back(line.text);
    }
    return result;
  }

  ScratchFolder folder_;
  std::string file_ = folder_.File("perf.data");
};

TEST_P(SpanTest, ListsWhatLiesBetween) {
  ASSERT_EQ(Record({}).status, 0);
  const std::vector<Line> all = Listing();
  ASSERT_GT(all.size(), 300u);
  const std::pair<const char*, const char*> spans[] = {
      {"Double", ""},
      {"", "Square"},
      {"Square", "Negate"},
      {"CountPrimes", "Double"},
      {"_start", "CountPrimes"},
      {"Negate", "Square"},
  };
  for (const auto& [from, until] : spans) {
    SCOPED_TRACE(std::string(from) + " to " + until);
    std::vector<std::string> options;
    if (*from != 0) options.insert(options.end(), {"--from", from});
    if (*until != 0) options.insert(options.end(), {"--until", until});
    const ProgramResult recorded = Record(options);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    std::vector<std::string> listed;
    for (const Line& line : Listing()) listed.push_back(line.text);
    EXPECT_EQ(listed, Between(all, from, until));
    EXPECT_EQ(RunFlowback({"info", "--strict", file_}).status, 0);
    const auto digest = [&](const char* engine) {
      return RunFlowback({"decode", file_, "--as", "digest", "--engine", engine}).out;
    };
    EXPECT_EQ(digest("native"), digest("libipt"));
  }
}

TEST_P(SpanTest, PicksAFile) {
  const ProgramResult by_name = Record({"--json", "--from", "Double@tiny"});
  EXPECT_EQ(by_name.status, 0) << by_name.err;
  const json summary = json::parse(Lines(by_name.out).back());
  ASSERT_EQ(summary["from"].size(), 1u);
  EXPECT_TRUE(summary["from"][0].get<std::string>().starts_with("Double in ")) << summary;
  EXPECT_EQ(Record({"--from", kTiny + ":Double"}).status, 0);
  EXPECT_EQ(Record({"--from", "Double@elsewhere"}).status, 125);
}

TEST_P(SpanTest, SaysWhatIsNowhereOrNotReached) {
  const ProgramResult nowhere = Record({"--from", "no_such_function"});
  EXPECT_EQ(nowhere.status, 125);
  EXPECT_TRUE(nowhere.err.contains("has a function 'no_such_function'")) << nowhere.err;
  const ProgramResult nothing = Record({"--until", "_start"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_TRUE(nothing.err.contains("reached before anything else")) << nothing.err;
  const ProgramResult endless = Record({"--until", "no_such_function"});
  EXPECT_EQ(endless.status, 125);
  EXPECT_TRUE(endless.err.contains("--until: no file")) << endless.err;
  const ProgramResult early = Record({"--from", "crash", "--until", "main"}, "/bin/true");
  EXPECT_EQ(early.status, 125) << early.err;
  const ProgramResult unreached = Record({"--from", "qsort_r"}, "/bin/true");
  EXPECT_EQ(unreached.status, 0) << unreached.err;
  EXPECT_TRUE(unreached.err.contains("'qsort_r' was never reached")) << unreached.err;
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--from", "@libz"},
                                                {"--until", "a.out:"},
                                                {"--from", "f", "--until", "f"}})
    EXPECT_EQ(Record(wrong).status, 125);
}

// Time outside a span, in nanoseconds: as info's account has it, and as the listing's events have
// it.
struct OutsideTimes {
  double filtered = 0, kernel = 0, listed_filtered = 0, listed_kernel = 0;
  double tolerance = 0;  // both are estimates: the listing knows the blocks, the account does not

  bool Agree() const {
    return std::abs(filtered - listed_filtered) <= tolerance &&
           std::abs(kernel - listed_kernel) <= tolerance;
  }
};

// Sums the times in which nothing was traced, by the event that began each.
OutsideTimes OutsideOf(const std::string& file, bool begins_outside) {
  const json info = json::parse(RunFlowback({"info", "--json", file}).out);
  const json& thread = info["threads"].at(0);
  std::map<std::string, uint64_t> listed;
  std::string last = begins_outside ? "stopped-async" : "stopped";
  uint64_t since = thread["begin"];
  for (const std::string& line :
       Lines(RunFlowback({"decode", "--as", "events", "--json", file}).out)) {
    const json event = json::parse(line);
    if (event.value("type", "") != "event") continue;
    const std::string name = event["event"];
    if (name == "started") listed[last] += event["time"].get<uint64_t>() - since;
    if (!name.starts_with("stopped")) continue;
    last = name;
    since = event["time"];
  }
  listed[last] += thread["end"].get<uint64_t>() - since;
  const auto time = [&](const char* kind) { return thread["times"][kind]["time"].get<double>(); };
  return {time("filtered"), time("kernel"), static_cast<double>(listed["stopped-async"]),
          static_cast<double>(listed["stopped"]), thread["lifetime"].get<double>() / 100};
}

// Before --from's function, and from --until's on. Time in system calls is the kernel's. On a busy
// machine the program may stop for long between two blocks, whose times are estimated: then it is
// recorded again.
TEST_P(SpanTest, TimeOutsideIsFiltered) {
  const std::pair<const char*, const char*> spans[] = {
      {"", ""}, {"Double", ""}, {"", "Square"}, {"Square", "Negate"}, {"", "CountPrimes"}};
  for (const auto& [from, until] : spans) {
    SCOPED_TRACE(std::string(from) + " to " + until);
    std::vector<std::string> options;
    if (*from != 0) options.insert(options.end(), {"--from", from});
    if (*until != 0) options.insert(options.end(), {"--until", until});
    OutsideTimes times;
    for (int recordings = 0; recordings < 4 && (recordings == 0 || !times.Agree()); ++recordings) {
      ASSERT_EQ(Record(options).status, 0);
      times = OutsideOf(file_, *from != 0);
    }
    EXPECT_NEAR(times.filtered, times.listed_filtered, times.tolerance);
    EXPECT_NEAR(times.kernel, times.listed_kernel, times.tolerance);
    EXPECT_EQ(times.filtered > 0, *from != 0 || *until != 0);
  }
}

// info, its JSON and decode say the same.
TEST_P(SpanTest, NeverReached) {
  const auto expect = [&](const std::string& why) {
    EXPECT_TRUE(RunFlowback({"info", file_}).out.contains("branch trace: none: " + why + "\n"));
    const json info = json::parse(RunFlowback({"info", "--json", file_}).out);
    EXPECT_EQ(info["no_trace_because"], why);
    EXPECT_TRUE(info["branch_trace"].is_null());
    ASSERT_EQ(info["threads"].size(), 1u);
    EXPECT_EQ(info["threads"][0]["times"]["filtered"]["time"], info["threads"][0]["lifetime"]);
    for (const char* kind : {"instructions", "summary", "digest", "packets"}) {
      const ProgramResult decoded = RunFlowback({"decode", "--as", kind, file_});
      EXPECT_TRUE(decoded.err.contains(": nothing was recorded: " + why)) << decoded.err;
      EXPECT_TRUE(decoded.err.contains("try: record without --from")) << decoded.err;
    }
  };
  EXPECT_EQ(Record({"--from", "no_such_function"}).status, 125);
  expect("'no_such_function' (--from) was never reached");
  EXPECT_EQ(Record({"--from", "qsort_r"}, "/bin/true").status, 0);
  expect("'qsort_r' (--from) was never reached");
  EXPECT_EQ(Record({"--until", "_start"}).status, 0);
  expect("'_start' (--until) was reached before anything else");
}

INSTANTIATE_TEST_SUITE_P(, SpanTest, ::testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::test
