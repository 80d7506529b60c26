// SPDX-License-Identifier: MIT
// `branches --annotate`: a function's code, block by block, against the generator's own counts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

using nlohmann::json;

class Annotate : public ::testing::TestWithParam<const char*> {
 protected:
  std::string Folder() const { return golden::TracesFolder() / "generated" / GetParam(); }
  ProgramResult Run(std::vector<std::string> words) const {
    words.insert(words.begin(), "branches");
    words.insert(words.end(), {"--no-cache", "--symfs", golden::TracesFolder() / "generated/images",
                               Folder() + "/perf.data"});
    return RunFlowback(words);
  }
  // By address, as the generator counted.
  std::map<uint64_t, uint64_t> Truth() const {
    const std::string file = folder_.File("coverage.txt");
    const std::string command = "gzip -dc " + Folder() + "/coverage.txt.gz > " + file;
    std::map<uint64_t, uint64_t> truth;
    if (std::system(command.c_str()) != 0) return truth;
    for (const std::string& line : Lines(ReadFile(file))) {
      const std::vector<std::string> words = Words(line);
      if (words.size() > 1) truth[std::stoull(words[0], nullptr, 16)] = std::stoull(words[1]);
    }
    return truth;
  }

  ScratchFolder folder_;
};

// Programs that are loaded where their headers say, with page faults and signals on the way.
TEST_P(Annotate, BlocksRanAsOftenAsTheGeneratorCounted) {
  FLOWBACK_NEEDS_TRACES();
  std::map<uint64_t, uint64_t> truth = Truth();
  const ProgramResult result = Run({"--json", "--annotate", "*"});
  ASSERT_EQ(result.status, 0) << result.err;
  uint64_t blocks = 0;
  for (const std::string& line : Lines(result.out)) {
    const json object = json::parse(line);
    if (!object.contains("type") || object["type"] != "block") continue;
    ++blocks;
    const std::string address = object["address"];
    ASSERT_EQ(object["times"], truth[std::stoull(address, nullptr, 16)]) << line;
  }
  EXPECT_GT(blocks, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Generated, Annotate, ::testing::Values("vcalls", "recursion"));

TEST(AnnotateText, ShowsTheFunctionsThatFit) {
  FLOWBACK_NEEDS_TRACES();
  const std::string generated = golden::TracesFolder() / "generated";
  const auto run = [&](const std::string& pattern) {
    return RunFlowback({"branches", "--annotate", pattern, "--no-cache", "--symfs",
                        generated + "/images", generated + "/recursion/perf.data"});
  };
  const ProgramResult main = run("main");
  ASSERT_EQ(main.status, 0) << main.err;
  EXPECT_TRUE(main.out.starts_with("main (")) << main.out;
  EXPECT_TRUE(main.out.contains("called 1 time,")) << main.out;
  EXPECT_TRUE(main.out.contains("   call 0x")) << main.out;
  EXPECT_FALSE(main.out.contains("hottest")) << "in place of the tables";
  const ProgramResult none = run("no_such_function");
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(none.err.contains("no function in the files that ran is called 'no_such_function'"))
      << none.err;
  EXPECT_EQ(run("/(/").status, 2) << "no regular expression";
}

// One block each time, with cycles from the hardware.
TEST(AnnotateText, CyclesOfBlocksThatAreALineByThemselves) {
  FLOWBACK_NEEDS_TRACES();
  const std::string folder = golden::TracesFolder() / "branch-stack/simpleperf-lbr";
  const ScratchFolder scratch;
  const std::string mapped = scratch.File("root/home/yabinc");
  ASSERT_EQ(
      std::system(("mkdir -p " + mapped + " && cp " + folder + "/lbr_test_loop " + mapped).c_str()),
      0);
  const ProgramResult result =
      RunFlowback({"branches", "--json", "--annotate", "main", "--no-cache", "--symfs",
                   scratch.File("root"), folder + "/perf_lbr.data"});
  ASSERT_EQ(result.status, 0) << result.err;
  uint64_t told = 0;
  for (const std::string& line : Lines(result.out)) {
    const json object = json::parse(line);
    if (!object.contains("type") || object["type"] != "block" || object["cycles"].is_null())
      continue;
    const json& cycles = object["cycles"];
    told += cycles["count"].get<uint64_t>();
    EXPECT_LE(cycles["count"], object["times"]);
    EXPECT_LE(cycles["p50"], cycles["p90"]);
    EXPECT_LE(cycles["p90"], cycles["max"]);
    EXPECT_EQ(cycles["instructions"].get<uint64_t>(),
              cycles["count"].get<uint64_t>() * object["instructions"].get<uint64_t>());
  }
  EXPECT_GT(told, 100u);
}

}  // namespace
}  // namespace flowback::test
