// SPDX-License-Identifier: MIT
// `decode --as calls --time`: the lines that the whole listing has in that time, and before them
// the calls in which they lie.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

struct Line {
  enum class Kind { kCall, kReturn, kGap };
  Kind kind = Kind::kGap;
  int64_t begin = 0;  // 0: not known
  int64_t end = 0;    // of a gap
  std::string text;
};
using Listing = std::map<int, std::vector<Line>>;  // by thread

Listing Parse(const std::string& text) {
  Listing listing;
  for (const std::string& line : Lines(text, true)) {
    const json object = json::parse(line);
    if (!object.contains("type") || object["type"] == "loss") continue;
    Line parsed{.text = line};
    if (object["type"] == "call") parsed.kind = Line::Kind::kCall;
    if (object["type"] == "return") parsed.kind = Line::Kind::kReturn;
    const json& time = object["time"];
    parsed.begin = parsed.end = time.is_null() ? 0 : time.get<int64_t>();
    if (parsed.kind == Line::Kind::kGap && !object["duration"].is_null())
      parsed.end += object["duration"].get<int64_t>();
    listing[object["tid"].get<int>()].push_back(std::move(parsed));
  }
  return listing;
}

// The part of a thread's whole listing that a span must have.
struct Expected {
  std::vector<std::string> callers;  // the calls that had begun and not ended
  std::vector<std::string> lines;
};

Expected PartOf(const std::vector<Line>& all, int64_t from, int64_t until) {
  Expected expected;
  std::vector<const Line*> open;
  for (const Line& line : all) {
    if (line.begin > until) break;
    const bool within = line.end >= from && line.end != 0;
    if (within && expected.lines.empty() && expected.callers.empty())
      for (const Line* call : open) expected.callers.push_back(call->text);
    if (within) expected.lines.push_back(line.text);
    if (line.kind == Line::Kind::kCall) open.push_back(&line);
    if (line.kind == Line::Kind::kReturn) open.pop_back();
  }
  // A thread that only computed there: in these calls, if it ran at all.
  if (expected.lines.empty())
    for (const Line* call : open) expected.callers.push_back(call->text);
  return expected;
}

class CallsInTime : public ::testing::TestWithParam<const char*> {
 protected:
  static Listing List(const std::vector<std::string>& more) {
    const auto folder = golden::TracesFolder() / "generated";
    std::vector<std::string> words = {
        "decode", folder / GetParam() / "perf.data", "--symfs", folder / "images", "--as", "calls",
        "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = RunFlowback(words);
    EXPECT_LT(result.status, 2) << result.err;
    return Parse(result.out);
  }
};

TEST_P(CallsInTime, HaveTheirCallers) {
  FLOWBACK_NEEDS_TRACES();
  const Listing all = List({});
  std::vector<int64_t> times;
  for (const auto& [tid, lines] : all)
    for (const Line& line : lines)
      if (line.begin != 0) times.push_back(line.begin);
  ASSERT_FALSE(times.empty());
  std::mt19937_64 random(17);
  for (int round = 0; round < (ProgramIsSanitized() ? 2 : 10); ++round) {
    const int64_t from = times[random() % times.size()];
    const int64_t until =
        from + static_cast<int64_t>(random() % (uint64_t{1} << (3 * (round % 8))));
    const auto seconds = [](int64_t time) {
      const std::string fraction = std::to_string(time % 1'000'000'000);
      return std::to_string(time / 1'000'000'000) + "." + std::string(9 - fraction.size(), '0') +
             fraction;
    };
    const std::string span = seconds(from) + "," + seconds(until);
    SCOPED_TRACE("--time " + span);
    Listing some = List({"--time", span});
    for (const auto& [tid, lines] : all) {
      const Expected expected = PartOf(lines, from, until);
      std::vector<std::string> whole = expected.callers;
      whole.insert(whole.end(), expected.lines.begin(), expected.lines.end());
      std::vector<std::string> actual;
      for (const Line& line : some[tid]) actual.push_back(line.text);
      if (expected.lines.empty() && actual.empty()) continue;
      EXPECT_EQ(actual, whole) << "thread " << tid;
    }
    EXPECT_EQ(some.size(), all.size()) << "a thread that the whole listing lacks";
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, CallsInTime,
                         ::testing::Values("hello", "execs", "forks", "latency-cyc",
                                           "pool-perthread", "switch-cyc", "signals-events",
                                           "vcalls-ovf", "recursion", "sort-long-tnt"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace flowback::test
