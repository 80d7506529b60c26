// SPDX-License-Identifier: MIT
// Real programs, recorded and decoded: the packets contain the flow that the recorder stepped over.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "flowback/capture/open.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> command;
  int status = 0;  // as waitpid gives it
  size_t threads = 1;
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<Case> SmallPrograms() {
  return {
      {"Known", {Program("known")}},
      {"Branches", {Program("branches")}},
      {"Strings", {Program("strings")}},
      {"Recursion", {Program("recursion")}},
      {"Signals", {Program("signals")}, 0, 3},
      {"Crash", {Program("crash")}, SIGSEGV},
      {"Killed", {Program("killed")}, SIGKILL, 2},
      {"Threads", {Program("threads")}, 0, 3},
      {"Execs", {Program("execs"), Program("recursion")}, 0, 2},
      {"Families", {Program("families")}, 0, 7},
      {"Modes", {Program("modes")}},
      {"ThirtyTwoBits", {Program("thirty_two")}},
      {"Tiny", {Sample("tiny")}},
  };
}

class SmallPrograms_ : public testing::TestWithParam<Case> {};

void RecordAndCompare(Recorder& recorder, const Case& test) {
  const auto summary = recorder.Run(ForThisHost(test.command));
  ASSERT_TRUE(summary) << summary.error().message() << "; " << summary.error().remedy();
  EXPECT_EQ(summary->command_status & ~0x80, test.status);  // without the core dump flag
  ASSERT_EQ(summary->threads.size(), test.threads);
  uint64_t instructions = 0;
  uint64_t bytes = 0;
  for (const RecordedThread& thread : summary->threads) {
    instructions += thread.digest.count;
    bytes += thread.bytes;
  }
  EXPECT_EQ(summary->instructions, instructions);
  EXPECT_EQ(summary->bytes, bytes);
  EXPECT_GT(instructions, 0u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

TEST_P(SmallPrograms_, DecodeToWhatWasStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_TO_RUN(GetParam().command);
  Recorder recorder;
  RecordAndCompare(recorder, GetParam());
}

// Sync points as close as the hardware has them, full returns, other clocks.
TEST_P(SmallPrograms_, WithOtherPacketOptions) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_TO_RUN(GetParam().command);
  Recorder recorder;
  recorder.options().packets.psb_period_bytes = 2048;
  recorder.options().packets.return_compression = false;
  recorder.options().packets.mtc_shift = 3;
  RecordAndCompare(recorder, GetParam());
  if (std::string(GetParam().name) == "Execs" || std::string(GetParam().name) == "Families")
    return;  // need times to tell their programs apart
  recorder.options().packets.long_tnt = true;
  recorder.options().packets.return_compression = true;
  recorder.options().packets.timestamps = false;
  RecordAndCompare(recorder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, SmallPrograms_, testing::ValuesIn(SmallPrograms()),
                         [](const auto& test) { return test.param.name; });

// With a C library: tens of thousands of instructions each.
class LargePrograms : public testing::TestWithParam<Case> {};

TEST_P(LargePrograms, DecodeToWhatWasStepped) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  RecordAndCompare(recorder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, LargePrograms,
                         testing::Values(Case{"SampleRecursion", {Sample("recursion")}},
                                         Case{"SampleSignals", {Sample("signals")}},
                                         Case{"SampleStrings", {Sample("strings")}},
                                         Case{"SampleThreads", {Sample("threads")}, 0, 2},
                                         Case{"SampleExceptions", {Sample("exceptions")}},
                                         Case{"SampleCrash", {Sample("crash")}, SIGSEGV},
                                         Case{"Vdso", {Program("vdso")}},
                                         Case{"ShellForkAndExec",
                                              {"/bin/sh", "-c",
                                               Sample("tiny") + "; exec " + Sample("tiny")},
                                              0,
                                              2}),
                         [](const auto& test) { return test.param.name; });

TEST(Known, ExecutesWhatIsWrittenThere) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const auto summary = recorder.Run({Program("known")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->instructions, 23u);
}

// Also code of the program's own file, once it was changed.
TEST(Jit, CodeInNoFileIsKept) {
  FLOWBACK_NEEDS_PTRACE();
  for (const char* name : {"jit", "rewrites", "versions"}) {
    SCOPED_TRACE(name);
    Recorder recorder;
    const auto summary = recorder.Run({Program(name)});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_EQ(summary->notes, std::vector<std::string>{});
    EXPECT_TRUE(std::filesystem::exists(recorder.File("perf.data.code")));
    ExpectSameFlow(recorder.File("perf.data"), *summary);
  }
}

TEST(Jit, NoFileOfCodeWithoutNeed) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  ASSERT_TRUE(recorder.Run({Program("vdso")}));
  EXPECT_FALSE(std::filesystem::exists(recorder.File("perf.data.code")));
}

// How many traps the program raises, run with nobody stepping it; -1 when it fails.
int TrapsOf(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  int traps = -1;  // the first one is exec's
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    traps += signal == SIGTRAP;
    ptrace(PTRACE_CONT, child, nullptr, traps == 0 && signal == SIGTRAP ? 0 : signal);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? traps : -1;
}

// Where INT1 is left out it is not executed: the run could have no end.
TEST(SignalsProgram, LeavesOutWhatItIsTold) {
  FLOWBACK_NEEDS_PTRACE();
  EXPECT_EQ(TrapsOf({Program("signals"), "int1", "int80"}), 3);
  const auto here = ForThisHost({Program("signals")});
  EXPECT_EQ(TrapsOf(here), host::Has(host::Trait::kInt1) ? 4 : 3);
}

// Under single-step a transaction aborts where it begins; the trace says so.
TEST(Transaction, AbortsAtItsBegin) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_HOST(host::Trait::kTransactions);
  Recorder recorder;
  const auto summary = recorder.Run({Program("transaction")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 2);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

}  // namespace
}  // namespace flowback::record_test
