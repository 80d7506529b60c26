// SPDX-License-Identifier: MIT
// The step engine judges the emulating one: programs that execute the same in every run and on
// every machine must be recorded as the same by both, and decode to that with every decoder.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> command;
  size_t threads = 1;
  int attempts = 1;  // more where a very busy machine may change what it executes
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

// The threads' digests in an order of their own: short-lived ones may come in any.
std::vector<std::pair<uint64_t, uint64_t>> Sorted(const RecordSummary& summary) {
  std::vector<std::pair<uint64_t, uint64_t>> digests;
  for (const RecordedThread& thread : summary.threads)
    digests.push_back({thread.digest.count, thread.digest.hash});
  std::ranges::sort(digests);
  return digests;
}

class Judge : public testing::TestWithParam<Case> {
 protected:
  using Digests = std::vector<std::pair<uint64_t, uint64_t>>;

  // The recorders' digests are the same, if not at once then in one of the attempts.
  static void ExpectSame(Recorder& first, Recorder& second) {
    for (int left = GetParam().attempts; left > 1; --left)
      if (Run(first) == Run(second)) return;
    EXPECT_EQ(Run(first), Run(second));
  }

  // Records and decodes; empty when that failed.
  static Digests Run(Recorder& recorder) {
    const Case& test = GetParam();
    const auto summary = recorder.Run(test.command);
    EXPECT_TRUE(summary) << summary.error().message();
    if (!summary) return {};
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_EQ(summary->threads.size(), test.threads);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    return Sorted(*summary);
  }
};

TEST_P(Judge, FindsTheEnginesAgree) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  Recorder stepper;
  for (const bool exact : {false, true}) {
    SCOPED_TRACE(exact ? "exact" : "blocks");
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().emulate.exact = exact;
    ExpectSame(recorder, stepper);
  }
}

// The recording itself must not differ from one time to the next.
TEST_P(Judge, IsOfOneMindWithItself) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder first;
  Recorder second;
  second.options().step.one_cpu = false;
  ExpectSame(first, second);
}

INSTANTIATE_TEST_SUITE_P(
    , Judge,
    testing::Values(Case{"Tiny", {Sample("tiny")}}, Case{"Branches", {Sample("branches")}},
                    Case{"Interruptions", {Sample("interruptions")}, 4, 3},
                    Case{"Changes", {Sample("changes")}, 5},
                    Case{"Rewrites", {Program("rewrites")}},
                    Case{"Versions", {Program("versions")}},
                    Case{"ForkAndExec", {Program("execs"), Program("recursion")}, 2}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace flowback::record_test
