// SPDX-License-Identifier: MIT
// `decode --as branches` against branch lists that others published for the same recordings.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

struct PublishedList {
  std::string name;
  std::string recording;
  std::string image;
  std::string list;
};

class Branches : public ::testing::TestWithParam<PublishedList> {};

TEST_P(Branches, AreThePublishedOnes) {
  FLOWBACK_NEEDS_TRACES();
  const PublishedList& published = GetParam();
  const ProgramResult result =
      RunFlowback({"decode", "--as", "branches", Traces(published.recording), "--image",
                   Traces(published.image)});
  ASSERT_EQ(result.status, 0) << result.err;
  std::vector<std::string> branches;
  for (const std::string& line : Lines(result.out)) {
    const std::vector<std::string> words = Words(line);
    ASSERT_EQ(words.size(), 3u) << line;
    branches.push_back(words[0] + " " + words[1]);
  }
  std::vector<std::string> expected;
  for (const auto& row : golden::ReadTable(Traces(published.list)))
    expected.push_back(row[0] + " " + row[1]);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(branches, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Hase, Branches,
    ::testing::Values(PublishedList{"control_flow",
                                    "hase-2018-04-04/control_flow-20180404T163033.perf",
                                    "hase-2018-04-04/control_flow",
                                    "hase-2018-04-04/control_flow-20180404T163033.trace"},
                      PublishedList{"loopy", "hase-2018-04-04/loopy-20180404T162955.perf",
                                    "hase-2018-04-04/loopy",
                                    "hase-2018-04-04/loopy-20180404T162955.trace"}),
    [](const auto& test) { return test.param.name; });

std::vector<std::string> Loopy(std::vector<std::string> words) {
  words.insert(words.begin(), "decode");
  words.insert(words.end(), {Traces("hase-2018-04-04/loopy-20180404T162955.perf"), "--image",
                             Traces("hase-2018-04-04/loopy")});
  return words;
}

// perf 6.1's list of the same recording has thread, CPU, time, and a word for each kind.
TEST(BranchColumns, ThreadCpuAndTimeAreThoseOfPerf) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--as", "branches", "-F", "comm,tid,cpu,time"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  const auto perf =
      golden::ReadTable(Traces("hase-2018-04-04/loopy-20180404T162955.perf.perf-branches.txt"));
  ASSERT_EQ(lines.size(), perf.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> words = Words(lines[i]);
    ASSERT_EQ(words.size(), 7u) << lines[i];
    EXPECT_EQ(words[0], "loopy");
    EXPECT_EQ(words[1], perf[i][0]);
    EXPECT_EQ("[00" + words[2] + "]", perf[i][1]);
    EXPECT_EQ(words[3].substr(0, words[3].find('.') + 5),
              perf[i][2].substr(0, perf[i][2].find('.') + 5));
  }
}

TEST(BranchKinds, TellHowEachTransferHappened) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(Loopy({"--as", "branches"}));
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GE(lines.size(), 6u);
  EXPECT_EQ(lines[0], "0 4000e8 trace-begin");
  EXPECT_EQ(lines[1], "4000e8 0 trace-end,async");
  EXPECT_EQ(lines[3], "40010e 0 trace-end,far-call");
  EXPECT_EQ(lines[5], "400117 4000ec jcc");
}

size_t Count(const std::string& text, const std::string& line) {
  return static_cast<size_t>(std::ranges::count(Lines(text), line));
}

TEST(BranchKinds, NotTakenOnesOnRequest) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult without = RunFlowback(Loopy({"--as", "branches"}));
  const ProgramResult with = RunFlowback(Loopy({"--as", "branches", "--not-taken"}));
  EXPECT_EQ(without.out.find("not-taken"), std::string::npos);
  // The loop's last branch falls through once; the one at its top every time.
  const size_t rounds = Count(with.out, "400117 4000ec jcc") + 1;
  EXPECT_EQ(Count(with.out, "400117 400119 jcc-not-taken"), 1u) << with.out;
  EXPECT_EQ(Count(with.out, "4000f0 4000f2 jcc-not-taken"), rounds) << with.out;
  EXPECT_EQ(Lines(with.out).size(), Lines(without.out).size() + rounds + 1);
}

// Behind a loss the list does not go on as if nothing were missing.
TEST(BranchKinds, AnOverflowBreaksTheList) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const ProgramResult result =
      RunFlowback({"decode", "--as", "branches", folder / "vcalls-ovf/perf.data", "--symfs",
                   folder / "images"});
  ASSERT_EQ(result.status, 0) << result.err;
  size_t losses = 0;
  const std::vector<std::string> lines = Lines(result.out, true);
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!lines[i].starts_with("# loss: internal buffer overflow")) continue;
    ++losses;
    EXPECT_TRUE(lines[i + 1].starts_with("0 ")) << lines[i + 1];
    EXPECT_TRUE(lines[i + 1].ends_with(" trace-begin,overflow")) << lines[i + 1];
  }
  EXPECT_EQ(losses, 132u);
}

}  // namespace
}  // namespace flowback::test
