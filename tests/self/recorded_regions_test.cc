// SPDX-License-Identifier: MIT
// `record --regions`: what a program says is what is recorded, in the emulator and by single steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "flowback/capture/record.h"
#include "tests/cli/run_program.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using nlohmann::json;

class RecordedRegions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("step")) {
      FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    } else if (const ProgramResult doctor = RunFlowback({"doctor", "--json"});
               !Able(doctor.out, "emulate")) {
      GTEST_SKIP() << "nothing emulates here";
    }
  }
  static bool Able(const std::string& doctor, const std::string& engine) {
    const json told = json::parse(doctor, nullptr, false);
    for (const json& one : told.value("recording", json::array()))
      if (one["engine"] == engine) return one["usable"];
    return false;
  }
  json Record(const std::string& count) const {
    const ProgramResult recorded =
        RunFlowback({"record", "--regions", "--engine", GetParam(), "--json", "-o", File(), "--",
                     FLOWBACK_COUNTED_REGIONS, count});
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    const std::vector<std::string> lines = Lines(recorded.out);  // the last is of the whole
    return lines.empty() ? json() : json::parse(lines.back(), nullptr, false);
  }
  std::string File() const { return folder_.File("r"); }

  const ScratchFolder folder_;
};

TEST_P(RecordedRegions, AreAllThatIsRecorded) {
  const uint64_t few = Record("1000").value("instructions", uint64_t{0});
  const uint64_t many = Record("4000").value("instructions", uint64_t{0});
  EXPECT_EQ(many - few, 3 * 2 * 3000);
  EXPECT_LT(few, 3 * 2 * 1000 + 1000);  // what lies around the regions
  const std::string functions =
      RunFlowback({"decode", File(), "--as", "summary", "--by", "function"}).out;
  EXPECT_TRUE(functions.contains("Inside")) << functions;
  EXPECT_FALSE(functions.contains("Outside")) << functions;
}

TEST_P(RecordedRegions, HaveNames) {
  Record("10");
  const json info = json::parse(RunFlowback({"info", "--json", File()}).out, nullptr, false);
  ASSERT_EQ(info["regions"].size(), 2) << info["regions"];
  EXPECT_EQ(info["regions"][0]["name"], "first");
  EXPECT_EQ(info["regions"][0]["ended"], 1);
  EXPECT_EQ(info["regions"][1]["name"], "later");
  EXPECT_EQ(info["regions"][1]["begun"], 2);
  EXPECT_EQ(info["regions"][1]["ended"], 2);
  EXPECT_GT(info["regions"][1]["total_ns"], 0);
}

// The outer region of one need not be that of the one before it.
TEST_P(RecordedRegions, DoNotNest) {
  Record("100");
  const json timeline =
      json::parse(RunFlowback({"timeline", "--json", File()}).out, nullptr, false);
  std::vector<std::vector<int>> ways;  // functions from the root to each path
  for (const json& path : timeline["paths"]) {
    ways.push_back(ways.empty() ? std::vector<int>() : ways[path["parent"].get<size_t>()]);
    if (path["function"].is_null()) continue;
    const int function = path["function"];
    EXPECT_EQ(std::count(ways.back().begin(), ways.back().end(), function), 0) << path;
    ways.back().push_back(function);
  }
  EXPECT_GE(ways.size(), 5u);
  const std::string calls = RunFlowback({"decode", "--as", "calls", File()}).out;
  EXPECT_TRUE(calls.contains("flowback_region_left (paused)")) << calls;
  EXPECT_FALSE(calls.contains("(handler)")) << calls;
  const std::string stack = RunFlowback({"stack", "--at", "end", File()}).out;
  EXPECT_EQ(stack.find("#0"), stack.rfind("#0")) << stack;
  EXPECT_EQ(stack.find("flowback_region_left"), stack.rfind("flowback_region_left")) << stack;
}

// The names go through a pipe, too.
TEST_P(RecordedRegions, InAPipe) {
  const ProgramResult result =
      RunShell(folder_, std::string("$F record --regions --engine ") + GetParam() +
                            " -o - -- " FLOWBACK_COUNTED_REGIONS " 10 | $F info -i -");
  EXPECT_TRUE(result.out.contains("  first\n")) << result.out << result.err;
}

TEST_P(RecordedRegions, ProgramsWithoutAnySaySo) {
  const ProgramResult result =
      RunFlowback({"record", "--regions", "--engine", GetParam(), "-o", File(), "--", "/bin/true"});
  EXPECT_EQ(result.status, 125);
  EXPECT_TRUE(result.err.contains("--regions: the program has none, by its symbols")) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Engines, RecordedRegions, testing::Values("emulate", "step"),
                         [](const auto& each) { return std::string(each.param); });

TEST(RecordRegions, OtherWordsForThePartAreRefused) {
  const ScratchFolder folder;
  for (const char* option : {"--from", "--until"}) {
    const ProgramResult result = RunFlowback({"record", "--regions", option, "main", "--engine",
                                              "step", "-o", folder.File("r"), "--", "true"});
    EXPECT_EQ(result.status, 125);
    EXPECT_TRUE(result.err.contains("--regions: --from and --until")) << result.err;
  }
  const ProgramResult events = RunFlowback(
      {"record", "--regions", "-e", "cpu-clock:u", "-o", folder.File("r"), "--", "true"});
  EXPECT_TRUE(events.err.contains("the engine 'events' does not follow --regions")) << events.err;
}

}  // namespace
}  // namespace flowback::test
