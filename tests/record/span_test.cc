// SPDX-License-Identifier: MIT
// Recording between two functions, by every engine, with counts that are known.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <string>
#include <utility>

#include "capture/record/watch/function_watch.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// "step", "emulate", or "exact": emulated with one instruction a block.
class Span : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    if (name == "step") {
      FLOWBACK_NEEDS_PTRACE();
    } else {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder_.options());
      recorder_.options().emulate.exact = name == "exact";
    }
    recorder_.options().engine = name == "step" ? "step" : "emulate";
  }
  RecordSummary Run(const std::vector<std::string>& command, const std::string& from,
                    const std::string& until) {
    recorder_.options().watched.from = from;
    recorder_.options().watched.until = until;
    const auto summary = recorder_.Run(command);
    EXPECT_TRUE(summary) << summary.error().message();
    if (!summary) return {};
    if (summary->instructions != 0) ExpectSameFlow(recorder_.File("perf.data"), *summary);
    return *summary;
  }

  Recorder recorder_;
};

TEST_P(Span, CountsAreExact) {
  const struct {
    const char* from;
    const char* until;
    uint64_t instructions;
  } spans[] = {{"", "", 34},           {"first", "", 32},       {"", "first", 2},
               {"first", "second", 6}, {"second", "third", 12}, {"third", "first", 14},
               {"third", "", 26},      {"last", "", 3},         {"second", "last", 27},
               {"first", "last", 29},  {"", "third", 8},        {"", "_start", 0},
               {"_start", "last", 31}};
  for (const auto& span : spans) {
    SCOPED_TRACE(std::string(span.from) + " to " + span.until);
    const RecordSummary summary = Run({Program("spans")}, span.from, span.until);
    EXPECT_EQ(summary.instructions, span.instructions);
    EXPECT_EQ(WEXITSTATUS(summary.command_status), 0);
    EXPECT_EQ(summary.from_places.size(), *span.from != 0 ? 1u : 0u);
    EXPECT_EQ(summary.until_places.size(), *span.until != 0 ? 1u : 0u);
  }
}

// A handler is reached by no branch: the flow before it ends where the signal came.
TEST_P(Span, SignalHandlers) {
  const RecordSummary all = Run({Program("faults")}, "", "");
  const RecordSummary in = Run({Program("faults")}, "Skip", "SignalReturn");
  const RecordSummary rest = Run({Program("faults")}, "SignalReturn", "Skip");
  const RecordSummary before = Run({Program("faults")}, "", "Skip");
  EXPECT_GT(in.instructions, 0u);
  EXPECT_GT(before.instructions, 0u);
  EXPECT_LT(in.instructions + rest.instructions, all.instructions);
}

// As its maker is: a thread, a child, and the program that a child becomes.
TEST_P(Span, IsInherited) {
  const RecordSummary threads = Run({Program("threads")}, "Main", "");
  ASSERT_EQ(threads.threads.size(), 3u);
  for (const RecordedThread& thread : threads.threads) EXPECT_GT(thread.digest.count, 0u);
  const RecordSummary children = Run({Program("execs"), Program("known")}, "Main", "");
  ASSERT_EQ(children.threads.size(), 2u);
  for (const RecordedThread& thread : children.threads) EXPECT_GT(thread.digest.count, 0u);
  const RecordSummary none = Run({Program("execs"), Program("known")}, "", "Main");
  ASSERT_EQ(none.threads.size(), 2u);
  EXPECT_EQ(none.threads[1].digest.count, 0u);
}

INSTANTIATE_TEST_SUITE_P(, Span, testing::Values("step", "emulate", "exact"),
                         [](const auto& test) { return std::string(test.param); });

// The step engine is the judge of the emulating one.
TEST(SpanJudged, SameDigests) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  const std::pair<const char*, const char*> spans[] = {
      {"Skip", "SignalReturn"}, {"SignalReturn", "Skip"}, {"CountNested", ""}, {"", "CountNested"}};
  for (const auto& [from, until] : spans) {
    SCOPED_TRACE(std::string(from) + " to " + until);
    FlowDigest digests[3];
    for (int i = 0; i < 3; ++i) {
      Recorder recorder;
      Emulate(recorder.options());
      if (i == 0) recorder.options().engine = "step";
      recorder.options().emulate.exact = i == 2;
      recorder.options().watched.from = from;
      recorder.options().watched.until = until;
      const auto summary = recorder.Run({Program("faults")});
      ASSERT_TRUE(summary) << summary.error().message();
      digests[i] = summary->threads.at(0).digest;
    }
    EXPECT_EQ(digests[0], digests[1]);
    EXPECT_EQ(digests[0], digests[2]);
    EXPECT_GT(digests[0].count, 0u);
  }
}

TEST(FunctionWatchTest, ForgetsWhatIsMappedOver) {
  using record::RecordingSwitch;
  record::FunctionWatch watch({.from = {"first", ""}, .until = {"last", "spans"}});
  const auto found = watch.OnMapping(0x1000000, 0x2000000, 0, Program("spans"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(watch.At(found[0].address), RecordingSwitch::kOff);
  EXPECT_EQ(watch.At(found[1].address), RecordingSwitch::kOn);
  EXPECT_EQ(watch.FirstIn(0x1000000, 0x2000000), found[1].address);
  EXPECT_EQ(watch.FirstIn(found[0].address + 1, 0x2000000), 0u);
  EXPECT_TRUE(watch.OnMapping(0x1000000, 0x2000000, 0, "").empty());
  EXPECT_EQ(watch.At(found[0].address), RecordingSwitch::kNone);
  // Only a part of the file that holds neither.
  EXPECT_TRUE(watch.OnMapping(0x1000000, 0x1001000, 0x100000, Program("spans")).empty());
}

}  // namespace
}  // namespace flowback::record_test
