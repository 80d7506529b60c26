// SPDX-License-Identifier: MIT
// Help: the list of commands, options by group, examples, and the texts for reviewers.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

TEST(Help, ListsWhatWorksAndNothingElse) {
  const ProgramResult help = RunFlowback({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command :
       {"record", "decode", "stack", "replay", "timeline", "spikes", "locks", "coverage", "crash",
        "pack", "merge", "branches", "export", "query", "report", "diff"})
    EXPECT_TRUE(help.out.contains(std::string("  ") + command)) << help.out;
  EXPECT_FALSE(help.out.contains("\n  watch ")) << help.out;
  EXPECT_EQ(RunFlowback({}).status, 2);
  EXPECT_EQ(RunFlowback({"help", "decode"}).status, 0);
  EXPECT_TRUE(RunFlowback({"decode", "--help-all"}).out.contains("--resync"));
  EXPECT_TRUE(RunFlowback({"--version"}).out.starts_with("flowback "));
}

TEST(Help, ShowsExamplesFirstAndFitsTwoScreens) {
  constexpr std::ptrdiff_t kTwoScreens = 80;  // lines
  const std::string all = RunFlowback({"help"}).out;
  size_t commands = 0;
  for (const char* command : {"record", "doctor", "info", "decode", "stack", "replay", "timeline",
                              "spikes", "locks", "coverage", "crash", "report", "pack", "merge",
                              "branches", "export", "query", "diff", "version"}) {
    ++commands;
    const std::string help = RunFlowback({command, "--help"}).out;
    EXPECT_LE(std::ranges::count(help, '\n'), kTwoScreens) << help;
    const size_t examples = help.find("\nExamples:\n  flowback ");
    EXPECT_LT(examples, help.find("\n  -")) << help;
    // The rest is a command away, and says how many options there are.
    const std::string whole = RunFlowback({command, "--help-all"}).out;
    const bool has_more = help.contains(" more options: flowback " + std::string(command));
    EXPECT_EQ(has_more, std::ranges::count(whole, '\n') > std::ranges::count(help, '\n')) << help;
    EXPECT_FALSE(whole.contains(" more options: ")) << whole;
    // The library's words for what a check allows: "N:UINT in [1 - 9]", "MEASURE:{a,b}".
    for (const char* word : {":UINT", " in [", ":{", ":TEXT", ":INT", ":FLOAT"})
      EXPECT_FALSE(whole.contains(word)) << word << '\n' << whole;
  }
  EXPECT_GE(commands, 17u) << all;
}

TEST(Help, GroupsOptionsOfRecordByEngine) {
  const std::string help = RunFlowback({"record", "--help-all"}).out;
  const auto section = [&](const std::string& heading) {
    const size_t begin = help.find("\n" + heading);
    EXPECT_NE(begin, std::string::npos) << heading;
    return begin == std::string::npos ? "" : help.substr(begin, help.find("\n\n", begin) - begin);
  };
  EXPECT_TRUE(section("With the emulator (--engine emulate):").contains("--foreign-root"));
  EXPECT_TRUE(section("With single steps (--engine step):").contains("--max-instructions"));
  EXPECT_TRUE(section("With the kernel's events").contains("--trigger"));
  EXPECT_TRUE(section("Packets of Intel PT").contains("--psb-period"));
  EXPECT_FALSE(RunFlowback({"record", "--help"}).out.contains("--psb-period"));
}

TEST(Help, PrintsOnePageOfATopic) {
  const ProgramResult decode = RunFlowback({"help", "output", "decode"});
  EXPECT_EQ(decode.status, 0);
  EXPECT_TRUE(decode.out.starts_with("# `decode`\n")) << decode.out.substr(0, 100);
  EXPECT_FALSE(decode.out.contains("# `timeline`"));
  // A command without a page of its own is in a heading of another one.
  EXPECT_TRUE(RunFlowback({"help", "output", "merge"}).out.contains("## `merge`"));
  const ProgramResult whole = RunFlowback({"help", "output"});
  EXPECT_TRUE(whole.out.contains(decode.out));
  const ProgramResult unknown = RunFlowback({"help", "output", "decide"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(unknown.err.contains("decode")) << unknown.err;
}

TEST(Help, TopicsHaveNoLinkThatATerminalCannotFollow) {
  const std::string all = RunFlowback({"help"}).out;
  size_t topics = 0;
  for (size_t at = all.find("Topics of"); (at = all.find("\n  ", at)) != std::string::npos; ++at) {
    const std::string name = all.substr(at + 3, all.find(' ', at + 3) - at - 3);
    const std::string text = RunFlowback({"help", name}).out;
    EXPECT_FALSE(text.contains(".md)]") || text.contains("](")) << name;
    ++topics;
  }
  EXPECT_GE(topics, 15u) << all;
  EXPECT_TRUE(RunFlowback({"help", "output"}).out.contains("(flowback help time)"));
}

// The numbers themselves are held to by the tests of each command.
TEST(Help, EveryCommandNamesItsExitStatus) {
  const std::string all = RunFlowback({"help"}).out;
  EXPECT_TRUE(all.contains("`record -- CMD` and `coverage -- CMD` end with\nthe status of CMD"))
      << all;
  const std::string list = all.substr(0, all.find("\n\n`flowback help"));
  size_t commands = 0;
  for (size_t at = list.find("commands:"); (at = list.find("\n  ", at)) != std::string::npos;
       ++at) {
    const std::string name = list.substr(at + 3, list.find(' ', at + 3) - at - 3);
    const std::string help = RunFlowback({name, "--help"}).out;
    const size_t status = help.find("\nExit status: ");
    ASSERT_NE(status, std::string::npos) << name;
    EXPECT_EQ(help.contains("--strict "), help.find("--strict 6", status) != std::string::npos ||
                                              help.find("--strict\n6", status) != std::string::npos)
        << help;
    ++commands;
  }
  EXPECT_GE(commands, 20u);
  const std::string record = RunFlowback({"record", "--help"}).out;
  for (const char* text : {"128 + N", "125", "126", "127"})
    EXPECT_TRUE(record.contains(text)) << record;
}

TEST(Help, NamesWordsAsTheUsageDoes) {
  const std::string diff = RunFlowback({"diff", "--help"}).out;
  EXPECT_TRUE(diff.contains("] OLD NEW\n")) << diff;
  EXPECT_TRUE(diff.contains("\n  OLD  ") && diff.contains("\n  NEW  ")) << diff;
  EXPECT_FALSE(diff.contains("INPUT")) << diff;
  EXPECT_TRUE(RunFlowback({"spikes", "--help"}).out.contains("\n  --function FUNC "));
  EXPECT_TRUE(RunFlowback({"export", "--help-all"}).out.contains("\n  --instance N "));
}

TEST(Help, OnlyCommandsThatReadValuesPromiseThem) {
  for (const char* command : {"crash", "replay"})
    EXPECT_TRUE(RunFlowback({command, "--help"}).out.contains("registers")) << command;
  for (const char* command : {"decode", "stack", "diff", "timeline"})
    EXPECT_FALSE(RunFlowback({command, "--help-all"}).out.contains("registers")) << command;
}

TEST(Help, ListsTopicsForDevelopersApart) {
  const std::string all = RunFlowback({"help"}).out;
  const size_t developers = all.find("\nTopics for developers");
  ASSERT_NE(developers, std::string::npos) << all;
  EXPECT_LT(all.find("\n  tutorial "), all.find("\n  output "));
  for (const char* topic : {"resync", "errata", "bounds", "judge"})
    EXPECT_GT(all.find(std::string("\n  ") + topic + " "), developers) << topic;
  EXPECT_LT(all.find("\n  environment "), developers);
}

TEST(Help, ListsEveryTextForReview) {
  const ProgramResult texts = RunFlowback({"help", "--texts"});
  EXPECT_EQ(texts.status, 0);
  for (const char* text :
       {"record: record a program's execution\n", "record --noretcomp: Disable return compression",
        "spikes --function: ", "spikes: flowback spikes my.data",
        "topic tutorial: ", "loss: no sync point: "})
    EXPECT_TRUE(texts.out.contains(text)) << text;
  EXPECT_FALSE(RunFlowback({"help"}).out.contains("--texts"));
}

TEST(Help, SaysWhenItCannotBeWritten) {
  for (const std::string words : {"help", "help decode", "decode --help", "version"}) {
    const std::string line = ProgramFile() + " " + words + " >/dev/full 2>/dev/null";
    const int status = std::system(line.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << line;
  }
}

}  // namespace
}  // namespace flowback::test
