// SPDX-License-Identifier: MIT
// Scheduling records, right ones and ones that contradict each other: a thread gets a time only
// when the records prove it.
#include "decode/schedule/stays.h"

#include <gtest/gtest.h>

namespace flowback {
namespace {

using Records = std::vector<SidebandRecord>;

constexpr int32_t kPid = 7;

template <class T>
T Base(uint64_t time, int32_t tid, int32_t cpu) {
  T record;
  record.time = time;
  record.pid = kPid;
  record.tid = tid;
  record.cpu = cpu;
  return record;
}

SwitchRecord In(uint64_t time, int32_t tid, int32_t previous = -1, int32_t cpu = 0) {
  auto record = Base<SwitchRecord>(time, tid, cpu);
  record.other_tid = previous;
  record.other_pid = previous > 0 ? kPid : previous;
  return record;
}
SwitchRecord Out(uint64_t time, int32_t tid, int32_t next = -1, int32_t cpu = 0) {
  SwitchRecord record = In(time, tid, next, cpu);
  record.out = true;
  return record;
}
ExitRecord Exit(uint64_t time, int32_t tid, int32_t cpu = 0) {
  return Base<ExitRecord>(time, tid, cpu);
}
ItraceStartRecord Start(uint64_t time, int32_t tid, int32_t cpu = 0) {
  return Base<ItraceStartRecord>(time, tid, cpu);
}

// "1 [10, 20) - [20, 30)": the stays of a CPU; "-" is nobody, "..." the recording's end.
std::string Stays(const Records& records, int32_t cpu = 0) {
  std::string text;
  const StaysOfCpus stays(records);
  for (const ThreadStay& stay : stays.Of(cpu)) {
    text += (text.empty() ? "" : " ") + (stay.tid < 0 ? "-" : std::to_string(stay.tid));
    const std::string end = stay.end == ~uint64_t{0} ? "..." : std::to_string(stay.end);
    text += " [" + std::to_string(stay.begin) + ", " + end + ")";
  }
  return text;
}

TEST(Stays, InAndOut) {
  EXPECT_EQ(Stays({}), "");
  EXPECT_EQ(Stays({In(10, 1), Out(20, 1), In(30, 2), Out(40, 2)}), "1 [10, 20) 2 [30, 40)");
  EXPECT_EQ(Stays({In(10, 1)}), "1 [10, ...)");
  EXPECT_EQ(Stays({Start(10, 1), In(11, 1), Out(20, 1)}), "1 [10, 20)") << "said twice";
  EXPECT_EQ(Stays({In(11, 1), Start(12, 1), Out(20, 1)}), "1 [11, 20)") << "said late";
}

TEST(Stays, WhoeverGoesFirstRanFromTheBegin) {
  EXPECT_EQ(Stays({Out(20, 1), In(30, 2)}), "1 [0, 20) 2 [30, ...)");
  EXPECT_EQ(Stays({In(30, 2, 1)}), "1 [0, 30) 2 [30, ...)") << "named by the one that comes";
}

TEST(Stays, LostOut) {
  EXPECT_EQ(Stays({In(10, 1), In(30, 2), Out(40, 2)}), "- [10, 30) 2 [30, 40)");
  EXPECT_EQ(Stays({In(10, 1), In(30, 2, 1), Out(40, 2)}), "1 [10, 30) 2 [30, 40)");
  EXPECT_EQ(Stays({In(10, 1), Exit(15, 1), In(30, 2)}), "1 [10, 15) 2 [30, ...)");
  EXPECT_EQ(Stays({In(10, 1), Exit(15, 1)}), "1 [10, 15)");
}

TEST(Stays, LostIn) {
  EXPECT_EQ(Stays({In(10, 1), Out(20, 1), Out(40, 2)}), "1 [10, 20) - [20, 40)");
  EXPECT_EQ(Stays({In(10, 1), Out(20, 1, 2), Out(40, 2)}), "1 [10, 20) 2 [20, 40)");
  EXPECT_EQ(Stays({In(10, 1), Out(20, 1, 3), Out(40, 2)}), "1 [10, 20) - [20, 40)");
}

TEST(Stays, InTwice) {
  EXPECT_EQ(Stays({In(10, 1), In(10, 1), Out(20, 1)}), "1 [10, 20)") << "the record, twice";
  // Between the two it was out, and another one may have run.
  EXPECT_EQ(Stays({In(10, 1), In(30, 1), Out(40, 1)}), "- [10, 30) 1 [30, 40)");
  EXPECT_EQ(Stays({In(10, 1), In(30, 1, 2), Out(40, 1)}), "- [10, 30) 1 [30, 40)");
}

TEST(Stays, OutTwice) {
  EXPECT_EQ(Stays({In(10, 1), Out(20, 1), Out(30, 1), In(40, 2)}),
            "1 [10, 20) - [20, 30) 2 [40, ...)");
}

TEST(Stays, OutOfAnother) {
  EXPECT_EQ(Stays({In(10, 1), Out(20, 2), In(30, 3)}), "- [10, 20) 3 [30, ...)");
}

// Whoever exits ran there.
TEST(Stays, ExitOfAnother) {
  EXPECT_EQ(Stays({In(10, 1), Exit(20, 2), In(30, 1), Out(40, 1)}), "- [10, 20) 1 [30, 40)");
  EXPECT_EQ(Stays({In(10, 1), Out(15, 1), Exit(20, 2), Out(21, 2)}),
            "1 [10, 15) - [15, 20) - [20, 21)");
  EXPECT_EQ(Stays({Exit(20, 2)}), "") << "of a CPU without scheduling records";
}

TEST(Stays, OnTwoCpusAtOnce) {
  // Both say so with both ends: one of them lies.
  const Records both = {In(10, 1), In(20, 1, -1, 1), Out(30, 1), Out(40, 1, -1, 1)};
  EXPECT_EQ(Stays(both, 0), "- [10, 30)");
  EXPECT_EQ(Stays(both, 1), "- [20, 40)");
  // It never went from the first one, but came to the other: the record of that was lost.
  const Records lost = {In(10, 1), In(20, 1, -1, 1), Out(40, 1, -1, 1)};
  EXPECT_EQ(Stays(lost, 0), "- [10, ...)");
  EXPECT_EQ(Stays(lost, 1), "1 [20, 40)");
  // It ran elsewhere when the recording began.
  const Records later = {In(10, 1), Out(20, 1), Out(40, 1, -1, 1)};
  EXPECT_EQ(Stays(later, 0), "1 [10, 20)");
  EXPECT_EQ(Stays(later, 1), "1 [20, 40)");
}

TEST(Stays, IdleRunsOnEachCpu) {
  const Records records = {In(10, 0), In(20, 0, -1, 1), Out(30, 0), Out(40, 0, -1, 1)};
  EXPECT_EQ(Stays(records, 0), "0 [10, 30)");
  EXPECT_EQ(Stays(records, 1), "0 [20, 40)");
}

// No scheduling records at all: the trace was started for one thread, but its child may have run.
TEST(Stays, StartsAlone) {
  auto fork = Base<ForkRecord>(15, 2, 0);
  fork.parent_tid = 1;
  EXPECT_EQ(Stays({Start(10, 1)}), "1 [10, ...)");
  EXPECT_EQ(Stays({Start(10, 1), fork}), "- [10, ...)");
  EXPECT_EQ(Stays({Start(10, 1), fork, In(30, 2, -1, 1)}), "1 [10, ...)");
}

// The tracepoint sched_switch has threads only; other records know their processes.
TEST(Stays, ProcessesThatSwitchesDoNotTell) {
  SwitchRecord in = In(10, 1);
  in.pid = -1;
  SwitchRecord out = Out(20, 1);
  const auto pid_of = [](const Records& records) { return StaysOfCpus(records).Of(0).front().pid; };
  EXPECT_EQ(pid_of({in, out}), kPid) << "the thread's own process";
  out.pid = -1;
  EXPECT_EQ(pid_of({in, out}), -1);
  auto comm = Base<CommRecord>(5, 1, -1);
  EXPECT_EQ(pid_of({comm, in, out}), kPid);
  EXPECT_EQ(pid_of({in, out, comm}), kPid) << "also when told later";
  auto other = Base<CommRecord>(30, 1, -1);
  other.pid = 8;
  EXPECT_EQ(pid_of({comm, in, out, other}), kPid) << "the number was used again";
  auto earlier = Base<CommRecord>(4, 1, -1);
  earlier.pid = 8;
  EXPECT_EQ(pid_of({earlier, comm, in, out}), kPid);
}

}  // namespace
}  // namespace flowback
