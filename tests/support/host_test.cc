// SPDX-License-Identifier: MIT
// The machine is asked, and each question has an end.
#include "tests/support/host.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace flowback::host {
namespace {

int StatusOf(int (*part)()) {
  const std::optional<int> status = InChild(part, 10);
  EXPECT_TRUE(status);
  return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

// INT1's handler gives back the instruction's own address, as some machines do: the program would
// run for ever.
TEST(HostInt1, ThatRunsAgainIsFound) { EXPECT_EQ(StatusOf(ReplaysInt1), 1); }

// Stepping changes nothing about it.
TEST(HostInt1, IsTheSameWhenStepped) {
  FLOWBACK_NEEDS_HOST(Trait::kPtrace);
  EXPECT_EQ(StatusOf(StepsInt1), StatusOf(RunsInt1));
}

TEST(HostChild, TellsHowItEnded) {
  EXPECT_EQ(StatusOf([] { return 3; }), 3);
  const auto status = InChild([]() -> int { abort(); }, 10);
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGABRT);
}

// With what it has started: the pipe's writing end is closed in every process.
TEST(HostChild, IsKilledWhenItDoesNotEnd) {
  static int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto status = InChild(
      []() -> int {
        fork();
        while (true) pause();
      },
      1);
  EXPECT_FALSE(status);
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

class HostOverride : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = getenv(kName)) before_ = value;
  }
  void TearDown() override {
    before_.empty() ? unsetenv(kName) : setenv(kName, before_.c_str(), 1);
  }
  static constexpr const char* kName = "FLOWBACK_TEST_HOST_LACKS";
  std::string before_;
};

TEST_F(HostOverride, TakesAwayWhatItNames) {
  for (const TraitInfo& info : Traits()) {
    unsetenv(kName);
    const std::string true_answer = WhyNot(info.trait);
    setenv(kName, ("nothing," + std::string(info.word) + ",,more").c_str(), 1);
    const std::string why = WhyNot(info.trait);
    EXPECT_TRUE(why.starts_with("on this host " + std::string(info.lacking))) << why;
    EXPECT_TRUE(why.ends_with("(as FLOWBACK_TEST_HOST_LACKS says)")) << why;
    EXPECT_EQ(UnknownWords(), (std::vector<std::string>{"nothing", "more"}));
    setenv(kName, "nothing", 1);
    EXPECT_EQ(WhyNot(info.trait), true_answer) << info.word;
  }
}

// A word that means nothing would take nothing away, and nobody would notice.
TEST(HostWords, AreOfTheTable) { EXPECT_EQ(UnknownWords(), std::vector<std::string>{}); }

TEST(HostDescription, NamesTheProcessorAndTheKernel) {
  const std::string text = Description();
  EXPECT_TRUE(text.contains("Linux ")) << text;
  EXPECT_TRUE(text.contains(" CPUs, ")) << text;
}

}  // namespace
}  // namespace flowback::host
