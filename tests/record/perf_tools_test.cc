// SPDX-License-Identifier: MIT
// perf's commands read recordings of both engines without a word of complaint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

size_t LinesWith(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.contains(word);
  return count;
}

class PerfTools : public testing::TestWithParam<const char*> {
 protected:
  // Processes, threads, signals: `changes` has every kind of sideband.
  void SetUp() override {
    FLOWBACK_NEEDS_PERF();
    if (std::string(GetParam()) == "emulate") {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder_.options());
    } else {
      FLOWBACK_NEEDS_PTRACE();
    }
    recorder_.options().files.command_line = "flowback record -- changes";
    const auto summary = recorder_.Run({Sample("changes")});
    ASSERT_TRUE(summary) << summary.error().message();
    summary_ = *summary;
  }
  // What the command prints; it must succeed and say nothing else. It finds and leaves its
  // build-id cache in the test's own folder.
  std::string Perf(const std::string& words) {
    const std::string out = recorder_.File("out");
    const std::string messages = recorder_.File("messages");
    const std::string command = "cd '" + recorder_.File("") + "' && perf --buildid-dir '" +
                                recorder_.File("cache") + "' " + words + " >'" + out + "' 2>'" +
                                messages + "' </dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << words;
    EXPECT_EQ(Content(messages), "") << words;
    return Content(out);
  }

  Recorder recorder_;
  RecordSummary summary_;
};

TEST_P(PerfTools, ScriptListsEveryInstruction) {
  EXPECT_EQ(Lines(Perf("script -i perf.data --itrace=i0ns -F tid,ip")), summary_.instructions);
}

TEST_P(PerfTools, ScriptShowsMappingsAndTasks) {
  const std::string text =
      Perf("script -i perf.data --itrace=i0ns --show-mmap-events --show-task-events");
  EXPECT_EQ(LinesWith(text, "PERF_RECORD_FORK"), 4u);
  EXPECT_EQ(LinesWith(text, "PERF_RECORD_EXIT"), 5u);
  EXPECT_EQ(LinesWith(text, "PERF_RECORD_COMM exec: changes:"), 3u);
  EXPECT_GE(LinesWith(text, "PERF_RECORD_MMAP2"), 3u);
  EXPECT_GE(LinesWith(text, "r-xp " + Sample("changes")), 3u);
}

TEST_P(PerfTools, ReportNamesTheFunctions) {
  const std::string text = Perf("report -i perf.data --itrace=i10i --stdio --sort symbol");
  EXPECT_NE(text.find("Collatz"), std::string::npos) << text;
}

TEST_P(PerfTools, InjectMakesSamples) {
  Perf("inject -i perf.data --itrace=i10i -o injected.data");
  const size_t samples = Lines(Perf("script -i injected.data -F tid,ip"));
  EXPECT_GT(samples, summary_.instructions / 20);
  EXPECT_LE(samples, summary_.instructions / 10);
  EXPECT_NE(Perf("report -i injected.data --stdio --sort symbol").find("Collatz"),
            std::string::npos);
}

TEST_P(PerfTools, EvlistNamesTheEvents) {
  EXPECT_EQ(Perf("evlist -i perf.data"), "intel_pt//u\ndummy:u\n");
}

TEST_P(PerfTools, BuildIdListNamesTheImages) {
  const std::string text = Perf("buildid-list -i perf.data");
  EXPECT_EQ(LinesWith(text, Sample("changes")), 1u) << text;
}

TEST_P(PerfTools, HeaderTellsOfTheMachine) {
  const std::string text = Perf("report -i perf.data --header-only");
  for (const char* words :
       {"# hostname : ", "# os release : ", "# arch : x86_64", "# cpuid : GenuineIntel,6,85,7",
        "# cmdline : flowback record -- changes", "emulated", "# event : name = intel_pt//u"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

// Every record of the file, and the packets.
TEST_P(PerfTools, DumpKnowsEveryRecord) {
  const std::string text = Perf("script -i perf.data -D");
  EXPECT_GE(LinesWith(text, "PERF_RECORD_AUXTRACE size"), 5u);
  EXPECT_GT(LinesWith(text, "TIP.PGE"), 0u);
  EXPECT_EQ(LinesWith(text, "Bad packet"), 0u);
}

INSTANTIATE_TEST_SUITE_P(, PerfTools, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record_test
