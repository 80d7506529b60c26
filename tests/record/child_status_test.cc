// SPDX-License-Identifier: MIT
#include "capture/record/step/child_status.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace flowback::record {
namespace {

// A child that has ended with the status, and was not waited for yet.
pid_t EndedChild(int status) {
  const pid_t pid = fork();
  if (pid == 0) _exit(status);
  siginfo_t info;
  EXPECT_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
  return pid;
}

pid_t SleepingChild() {
  const pid_t pid = fork();
  if (pid == 0)
    while (true) pause();
  return pid;
}

// Only the calling thread's children are waited for: this one's are the test's own.
void InAThreadOfItsOwn(void (*test)()) { std::thread(test).join(); }

TEST(TakeStatuses, TakesThoseOfAllThatHaveOne) {
  InAThreadOfItsOwn([] {
    const pid_t sleeps = SleepingChild();
    const std::vector<pid_t> ended = {EndedChild(3), EndedChild(4)};
    std::vector<ChildStatus> statuses = {{.pid = 1, .status = 1}};
    ASSERT_TRUE(TakeStatuses(statuses));
    ASSERT_EQ(statuses.size(), 2u);
    for (size_t i = 0; i < ended.size(); ++i) {
      EXPECT_EQ(statuses[i].pid, ended[i]);
      EXPECT_EQ(WEXITSTATUS(statuses[i].status), static_cast<int>(3 + i));
    }
    kill(sleeps, SIGKILL);
    ASSERT_TRUE(TakeStatuses(statuses));
    ASSERT_EQ(statuses.size(), 1u);
    EXPECT_EQ(statuses[0].pid, sleeps);
    EXPECT_FALSE(TakeStatuses(statuses));
    EXPECT_TRUE(statuses.empty());
  });
}

}  // namespace
}  // namespace flowback::record
