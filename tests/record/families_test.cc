// SPDX-License-Identifier: MIT
// Children are followed, and the sideband names their parents.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>

#include "capture/record/target/process_maps.h"
#include "flowback/capture/open.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

template <class Record>
std::vector<Record> All(const Recording& recording) {
  std::vector<Record> found;
  for (const auto& record : recording.sideband)
    if (const auto* one = std::get_if<Record>(&record)) found.push_back(*one);
  return found;
}

class Families : public RecordedFile {};

TEST_F(Families, EachChildHasItsParentAndItsEnd) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("families")});
  EXPECT_EQ(summary_.notes, std::vector<std::string>{});
  std::map<int32_t, int32_t> parents;
  for (const ForkRecord& fork : All<ForkRecord>(recording_)) {
    EXPECT_EQ(fork.pid, fork.tid);
    EXPECT_EQ(fork.parent_pid, fork.parent_tid);
    EXPECT_TRUE(parents.emplace(fork.pid, fork.parent_pid).second);
  }
  const auto& threads = summary_.threads;
  ASSERT_EQ(threads.size(), 7u);
  EXPECT_EQ(parents.size(), 6u);
  const int32_t first = threads[0].pid;
  EXPECT_EQ(parents[threads[1].pid], first);
  EXPECT_EQ(parents[threads[2].pid], threads[1].pid);  // the grandchild
  for (size_t i = 3; i < 7; ++i) EXPECT_EQ(parents[threads[i].pid], first);
  EXPECT_EQ(All<ExitRecord>(recording_).size(), 7u);
  EXPECT_EQ(All<ItraceStartRecord>(recording_).size(), 8u);  // one at exec
}

// A child's inherited mappings are not recorded again.
TEST_F(Families, MappingsComeWithAProgramOnly) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("families")});
  std::set<int32_t> processes;
  for (const MmapRecord& map : All<MmapRecord>(recording_)) processes.insert(map.pid);
  const int32_t first = summary_.threads[0].pid;
  const int32_t again = summary_.threads[3].pid;  // vforked, then another program
  EXPECT_EQ(processes, (std::set<int32_t>{first, again}));
  std::vector<int32_t> programs;
  for (const CommRecord& comm : All<CommRecord>(recording_)) {
    EXPECT_TRUE(comm.exec);
    programs.push_back(comm.pid);
  }
  EXPECT_EQ(programs, (std::vector<int32_t>{first, again}));
}

// A child's fork comes before all its other records.
TEST_F(Families, ForkComesFirst) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("families")});
  std::set<int32_t> known = {summary_.threads[0].pid};
  uint64_t time = 0;
  for (const auto& record : recording_.sideband) {
    const auto& base = std::visit([](const auto& r) -> const SidebandBase& { return r; }, record);
    if (std::holds_alternative<ForkRecord>(record))
      known.insert(base.pid);
    else
      EXPECT_TRUE(known.contains(base.pid)) << base.pid;
    EXPECT_LE(time, base.time);
    time = base.time;
  }
}

// The new program's mappings are in force from exec on, in the child and in its parent.
TEST_F(Families, ExecNamesTheNewProgram) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("execs"), Program("known")});
  ASSERT_EQ(summary_.threads.size(), 2u);
  const int32_t parent = summary_.threads[0].pid;
  const int32_t child = summary_.threads[1].pid;
  std::vector<std::pair<int32_t, std::string>> names;
  for (const CommRecord& comm : All<CommRecord>(recording_)) names.push_back({comm.pid, comm.comm});
  EXPECT_EQ(names, (std::vector<std::pair<int32_t, std::string>>{
                       {parent, "execs"}, {child, "known"}, {parent, "known"}}));
}

// With many sibling threads that fork, one of which execs: its siblings die in the middle of it.
TEST_F(Families, ThreadsForkAndOneExecs) {
  FLOWBACK_NEEDS_PTRACE();
  for (int i = 0; i < 5; ++i) {
    Run({Program("crowd")});
    EXPECT_EQ(WEXITSTATUS(summary_.command_status), 3);
    ExpectSameFlow(recorder_.File("perf.data"), summary_);
  }
}

// A thread whose every step is done by the time it is waited for does not keep the others waiting.
TEST_F(Families, EachThreadHasItsTurns) {
  FLOWBACK_NEEDS_PTRACE();
  Run({Program("waits_busily")});
  const int status = WEXITSTATUS(summary_.command_status);
  if (status == 2) GTEST_SKIP() << "SCHED_FIFO is not permitted here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(summary_.threads.size(), 2u);
  ExpectSameFlow(recorder_.File("perf.data"), summary_);
}

}  // namespace
}  // namespace flowback::record_test
