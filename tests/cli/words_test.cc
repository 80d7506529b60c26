// SPDX-License-Identifier: MIT
// The words of a command line: where the program to record begins, slips of the finger, units,
// columns that are added to the usual ones, and the text of help.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli/text/quantity.h"
#include "cli/text/suggestion.h"
#include "replay/writers/text/wrapped.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using cli::NearestWord;

class WordsTest : public ::testing::Test {
 protected:
  // What `record` ran and printed, where it recorded at all.
  ProgramResult Record(std::vector<std::string> words) const {
    // A thousand instructions are enough: the program runs on by itself behind them.
    words.insert(words.begin(), {"record", "--engine", "step", "--max-instructions", "1000", "-o",
                                 folder_.File("out.data")});
    return RunFlowback(words);
  }

  ScratchFolder folder_;
};

TEST_F(WordsTest, ACommandNeedsNoDashesBeforeIt) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"echo", "-n", "--", "x"},
                                             {"--", "echo", "-n", "--", "x"},
                                             {"--noretcomp", "echo", "-n", "--", "x"},
                                             {"--mtc-period=4", "echo", "-n", "--", "x"},
                                             {"--mtc-period", "4", "echo", "-n", "--", "x"},
                                             {"--cyc", "2", "echo", "-n", "--", "x"},
                                             {"--cyc", "echo", "-n", "--", "x"},
                                             {"-S64K", "echo", "-n", "--", "x"},
                                             {"-S", "64k", "echo", "-n", "--", "x"},
                                             {"-S", "echo", "-n", "--", "x"}}) {
    const ProgramResult result = Record(words);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "-- x") << words[0];
  }
}

TEST_F(WordsTest, WhatIsNoOptionIsAskedBack) {
  const ProgramResult option = Record({"--mtc-preiod", "4", "true"});
  EXPECT_EQ(option.status, 2);
  EXPECT_TRUE(option.err.contains("no option --mtc-preiod (did you mean '--mtc-period'?)"))
      << option.err;
  EXPECT_TRUE(RunFlowback({"decode", "--by-tiem"}).err.contains("did you mean '--by-time'?"));
  EXPECT_TRUE(RunFlowback({"recrod"}).err.contains("no command 'recrod' (did you mean 'record'?)"));
  EXPECT_TRUE(RunFlowback({"help", "inof"}).err.contains("did you mean 'info'?"));
  EXPECT_FALSE(RunFlowback({"xyzzy"}).err.contains("did you mean"));
  EXPECT_TRUE(RunFlowback({"decode", "one", "two"}).err.contains("'two' is one word too many"));
}

TEST(Suggestion, TellsTheNearestWordIfItIsNear) {
  const std::vector<std::string> known = {"record", "decode", "info"};
  EXPECT_EQ(NearestWord("recrod", known), "record");  // two letters swapped
  EXPECT_EQ(NearestWord("decod", known), "decode");
  EXPECT_EQ(NearestWord("rec", known), "record");
  EXPECT_EQ(NearestWord("inform", known), "info");
  EXPECT_EQ(NearestWord("play", known), "");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(NearestWord(std::string(100'000, 'x'), known), "");
  EXPECT_EQ(cli::EditDistance("", "abc"), 3u);
  EXPECT_EQ(cli::EditDistance("abc", "acb"), 1u);
  EXPECT_EQ(cli::EditDistance("kitten", "sitting"), 3u);
}

TEST(Quantity, UnitsAreTakenAsPeopleWriteThem) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, uint64_t>>{{"4096", 4096},
                                                     {"4k", 4096},
                                                     {"4K", 4096},
                                                     {"4KiB", 4096},
                                                     {"4kb", 4096},
                                                     {"4096B", 4096},
                                                     {"1.5M", 3 << 19},
                                                     {"2g", uint64_t{2} << 30},
                                                     {"1T", uint64_t{1} << 40}})
    EXPECT_EQ(cli::ParseSize(text, "-x").value_or(0), bytes) << text;
  for (const auto& [text, seconds] :
       std::vector<std::pair<std::string, double>>{{"2", 2},
                                                   {"1h30m", 5400},
                                                   {"1m30s", 90},
                                                   {"1m30.5s", 90.5},
                                                   {"2min", 120},
                                                   {"50us", 50e-6},
                                                   {"1d", 86400},
                                                   {"1s1ms1us1ns", 1.001001001}})
    EXPECT_NEAR(static_cast<double>(cli::ParseDuration(text, "-x").value_or(0)), seconds * 1e9, 0.5)
        << text;
  for (const std::string text : {"", "k", "4kk", "4i", "-4", "4 k", "1e400", "99999999999999T"})
    EXPECT_FALSE(cli::ParseSize(text, "-x")) << text;
  for (const std::string text : {"", "h", "1h30", "1x", "-1s", "1h-3m", "1,5s", "99999999999d"})
    EXPECT_FALSE(cli::ParseDuration(text, "-x")) << text;
}

TEST_F(WordsTest, ColumnsAreAddedAndTakenAway) {
  ASSERT_EQ(Record({"true"}).status, 0);
  const std::string file = folder_.File("out.data");
  const auto third = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"decode", file};
    all.insert(all.end(), words.begin(), words.end());
    const ProgramResult result = RunFlowback(all);
    const std::vector<std::string> lines = Lines(result.out);
    return lines.size() < 3 ? result.err : lines[2];
  };
  const std::string usual = third({});
  EXPECT_TRUE(third({"-F", "+bytes"}).starts_with(usual + ' ')) << third({"-F", "+bytes"});
  EXPECT_TRUE(third({"-F", "+srcline"}).starts_with(usual + ' '));
  EXPECT_TRUE(third({"-F", "+flags"}).starts_with(usual + ' ')) << third({"-F", "+flags"});
  EXPECT_EQ(third({"-F", "+flags"}), usual + " -");
  EXPECT_EQ(third({"-F", "+bytes,flags"}), third({"-F", "+bytes"}) + " -");
  EXPECT_EQ(third({"--fields=-comm,tid,cpu,time,sym,symoff,dso,insn"}), third({"-F", "ip"}));
  EXPECT_EQ(third({"-F", "+ip"}), usual);
  EXPECT_TRUE(third({"-F", "+ipp"}).contains("no field 'ipp' (did you mean 'ip'?)"));
  EXPECT_TRUE(third({"-F", "+source"}).contains("-F source does not apply"));
}

TEST(Help, IsWrappedAtWords) {
  EXPECT_EQ(Wrapped("one two three", 2, 7), "one two\n  three");
  EXPECT_EQ(Wrapped("immeasurable", 2, 7), "immeasurable");
  EXPECT_EQ(Wrapped("one\ntwo", 2, 70), "one\n  two");
}

class HelpOf : public ::testing::TestWithParam<const char*> {};

TEST_P(HelpOf, FitsTheTerminalAndNamesWhatEachOptionTakes) {
  const ScratchFolder folder;
  for (const size_t width : {60, 100, 200}) {
    const ProgramResult help = RunShell(
        folder, "COLUMNS=" + std::to_string(width) + " $F help " + std::string(GetParam()));
    ASSERT_EQ(help.status, 0) << help.err;
    EXPECT_TRUE(help.out.starts_with("usage: flowback ")) << help.out;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    // What CLI11 would say, and its group of options that nobody described.
    for (const char* nothing : {" TEXT", " INT", " UINT", "\nOptions:"})
      EXPECT_FALSE(help.out.contains(nothing)) << nothing << '\n' << help.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Commands, HelpOf,
                         ::testing::Values("record", "doctor", "info", "decode", "version"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace flowback::test
