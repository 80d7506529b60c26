// SPDX-License-Identifier: MIT
// Waits in a kernel's locks: queued spinlocks, mutexes and semaphores whose waiters spin and sleep.
// The judge knows each instruction that was executed, and when.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/locks/kernel_scene.h"
#include "tests/support/host.h"

namespace flowback {
namespace {

using nlohmann::json;
using Names = std::map<std::string, std::string>;

constexpr int32_t kTask = 100, kOther = 200, kIdle = 0;

// What Linux calls such functions.
const Names kLinux = {{"take_queued", "_raw_spin_lock"},
                      {"take_queued_slowly", "native_queued_spin_lock_slowpath"},
                      {"join_spinners", "osq_lock"},
                      {"quit_spinners", "osq_unlock"},
                      {"take_mutex", "mutex_lock"},
                      {"take_mutex_slowly", "__mutex_lock.constprop.0"},
                      {"spin_on_owner", "mutex_spin_on_owner"},
                      {"free_mutex", "mutex_unlock"},
                      {"write_sem", "down_write"},
                      {"write_sem_slowly", "rwsem_down_write_slowpath"},
                      {"spin_on_writer", "rwsem_spin_on_owner"},
                      {"read_sem", "down_read"},
                      {"read_sem_slowly", "rwsem_down_read_slowpath"},
                      {"write_queued_readers", "queued_write_lock_slowpath"},
                      {"run_others", "schedule"},
                      {"switch_threads", "__switch_to_asm"}};
// The program's own names, which nothing knows.
const Names kOwn = {{"", ""}};
const Names kNone;

uint64_t Sum(const json& answer, const char* key) {
  uint64_t sum = 0;
  for (const json& site : answer["sites"]) sum += site[key].get<uint64_t>();
  return sum;
}

uint64_t States(const json& answer, const char* state) {
  uint64_t sum = 0;
  for (const json& site : answer["sites"]) sum += site["states"][state].get<uint64_t>();
  return sum;
}

std::set<std::string> FunctionsOf(const json& answer) {
  std::set<std::string> names;
  for (const json& site : answer["sites"])
    if (site["waits"] != 0) names.insert(site["function"].get<std::string>());
  return names;
}

class KernelLocks : public ::testing::Test {
 protected:
  void SetUp() override { FLOWBACK_NEEDS_HOST(host::Trait::kPtrace); }

  KernelScene Step(const std::string& name) {
    KernelScene scene = recording_.Step(name);
    EXPECT_EQ(scene.error, "");
    return scene;
  }
  // The indexes of the pauses.
  static std::vector<size_t> PausesOf(const KernelScene& scene) {
    std::vector<size_t> pauses;
    for (size_t i = 0; i < scene.addresses.size(); ++i)
      if (IsPause(scene.code.at(scene.addresses[i]))) pauses.push_back(i);
    return pauses;
  }
  // The task's parts in turn with those of the idle one.
  std::vector<KernelStay> InTurn(const KernelScene& task, bool preempted = false) {
    const KernelScene idle = Step("idle");
    std::vector<KernelStay> stays;
    for (size_t i = 0; i <= task.switches.size(); ++i) {
      if (i != 0) stays.push_back({kIdle, kIdle, idle.Part(i)});
      stays.push_back({kTask, kTask, task.Part(i), preempted});
    }
    return stays;
  }

  KernelRecording recording_;
};

struct Spinning {
  std::string scene;
  std::string function;  // Linux's name of the outermost of the lock
};

class KernelSpinning : public KernelLocks, public ::testing::WithParamInterface<Spinning> {};

// Names are not necessary.
TEST_P(KernelSpinning, EachTripCounts) {
  const KernelScene scene = Step(GetParam().scene);
  recording_.AddCpu({{kTask, kTask, scene.addresses}});
  const std::vector<size_t> pauses = PausesOf(scene);
  const std::vector<uint64_t>& times = recording_.TimesOf(0);
  for (const Names& names : {kNone, kOwn, kLinux}) {
    const json answer = recording_.Locks(names);
    // The compiler may have put the first check, and its pause, ahead of a loop.
    EXPECT_LE(Sum(answer, "trips"), pauses.size()) << answer["sites"];
    EXPECT_GE(Sum(answer, "trips"), pauses.size() - 1);
    EXPECT_EQ(Sum(answer, "sleeps"), 0u);
    EXPECT_GT(Sum(answer, "waits"), 0u);
    // The first check is right before the first pause, and the last one right behind the last.
    constexpr size_t kFew = 20;
    const uint64_t most = times[std::min(pauses.back() + kFew, times.size() - 1)] -
                          times[pauses.front() - std::min(kFew, pauses.front())];
    EXPECT_LE(Sum(answer, "waiting_lo"), most);
    EXPECT_GE(Sum(answer, "waiting_hi"), times[pauses.back()] - times[pauses.front()]);
  }
}

TEST_P(KernelSpinning, IsOneWaitAtTheOutermostFunction) {
  const KernelScene scene = Step(GetParam().scene);
  recording_.AddCpu({{kTask, kTask, scene.addresses}});
  const json answer = recording_.Locks(kLinux);
  EXPECT_EQ(FunctionsOf(answer), std::set{GetParam().function});
  EXPECT_EQ(Sum(answer, "waits"), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Scenes, KernelSpinning,
    ::testing::Values(Spinning{"first", "_raw_spin_lock"}, Spinning{"queue", "_raw_spin_lock"},
                      Spinning{"queue_with_next", "_raw_spin_lock"},
                      Spinning{"mutex_spins", "mutex_lock"}, Spinning{"writer_spins", "down_write"},
                      Spinning{"sequence", "begin_sequence"}, Spinning{"bit", "take_bit"},
                      Spinning{"readers_gone", "queued_write_lock_slowpath"},
                      Spinning{"tpause", "wait_by_tpause"}, Spinning{"umwait", "wait_by_umwait"}),
    [](const auto& tested) { return tested.param.scene; });

// A loss cuts the wait in two, which together took as long as the trace proves.
TEST_P(KernelSpinning, GoesOnBehindALoss) {
  const KernelScene scene = Step(GetParam().scene);
  const std::vector<size_t> pauses = PausesOf(scene);
  const size_t third = pauses.size() / 3;
  recording_.AddCpu({{kTask, kTask, scene.addresses}},
                    {.delays = {}, .lost_from = pauses[third] + 1, .lost_to = pauses[2 * third]});
  const json answer = recording_.Locks(kLinux);
  EXPECT_LT(Sum(answer, "trips"), pauses.size() - third / 2) << answer["sites"];
  EXPECT_GT(Sum(answer, "trips"), pauses.size() / 3);
  EXPECT_EQ(States(answer, "lost"), 1u);
  EXPECT_EQ(States(answer, "begun_before"), 1u);
  const std::vector<uint64_t>& times = recording_.TimesOf(0);
  const size_t behind = scene.addresses.size() - 1 - pauses.back();
  const uint64_t time = times[times.size() - behind] - times[pauses.front()];
  EXPECT_GE(Sum(answer, "waiting_hi"), time);
  EXPECT_LT(Sum(answer, "waiting_lo"), time);
}

TEST_P(KernelSpinning, BeganBeforeTheTrace) {
  const KernelScene scene = Step(GetParam().scene);
  const std::vector<size_t> pauses = PausesOf(scene);
  const auto from = scene.addresses.begin() + static_cast<ptrdiff_t>(pauses[10]);
  recording_.AddCpu({{kTask, kTask, {from, scene.addresses.end()}}});
  const json answer = recording_.Locks(kLinux);
  EXPECT_LE(Sum(answer, "trips"), pauses.size() - 10);
  EXPECT_GE(Sum(answer, "trips"), pauses.size() - 13);
  EXPECT_EQ(States(answer, "begun_before"), 1u) << answer["sites"];
}

TEST_P(KernelSpinning, GoesOnWhenTheTraceEnds) {
  const KernelScene scene = Step(GetParam().scene);
  const std::vector<size_t> pauses = PausesOf(scene);
  const size_t last = pauses[pauses.size() - 10];
  const auto end = scene.addresses.begin() + static_cast<ptrdiff_t>(last);
  recording_.AddCpu({{kTask, kTask, {scene.addresses.begin(), end}}});
  const json answer = recording_.Locks(kLinux);
  EXPECT_EQ(States(answer, "cut_by_end"), 1u) << answer["sites"];
  ASSERT_EQ(answer["open"].size(), 1u);
}

struct Sleeping {
  std::string scene;
  std::string function;
  uint64_t sleeps;
};

class KernelSleeping : public KernelLocks, public ::testing::WithParamInterface<Sleeping> {};

// That the thread left the CPU within the lock's function shows that it slept there.
TEST_P(KernelSleeping, IsTimeOffTheCpuInTheLock) {
  const KernelScene scene = Step(GetParam().scene);
  const std::vector<KernelStay> stays = InTurn(scene);
  recording_.AddCpu(stays);
  const json answer = recording_.Locks(kLinux);
  EXPECT_EQ(FunctionsOf(answer), std::set{GetParam().function}) << answer["sites"];
  EXPECT_EQ(Sum(answer, "waits"), 1u);
  EXPECT_EQ(Sum(answer, "sleeps"), GetParam().sleeps);
  EXPECT_GE(Sum(answer, "trips"), PausesOf(scene).size());
  EXPECT_LE(Sum(answer, "trips"), PausesOf(scene).size() + 1);
  const std::vector<uint64_t> times = recording_.SwitchTimes(0);
  uint64_t away = 0;
  for (size_t i = 0; i + 1 < times.size(); i += 2) away += times[i + 1] - times[i];
  EXPECT_NEAR(static_cast<double>(Sum(answer, "sleeping")), static_cast<double>(away), 1000);
}

// Another thread took the CPU: that is no wait for the lock.
TEST_P(KernelSleeping, IsNotWhereTheThreadWasPreempted) {
  recording_.AddCpu(InTurn(Step(GetParam().scene), true));
  EXPECT_EQ(Sum(recording_.Locks(kLinux), "sleeps"), 0u);
}

TEST_P(KernelSleeping, GoesOnWhenTheTraceEnds) {
  std::vector<KernelStay> stays = InTurn(Step(GetParam().scene));
  stays.resize(2);
  recording_.AddCpu(stays);
  const json answer = recording_.Locks(kLinux);
  ASSERT_EQ(answer["open"].size(), 1u) << answer["sites"];
  EXPECT_EQ(answer["open"][0]["state"], "cut-by-end");
  EXPECT_EQ(answer["open"][0]["tid"], kTask);
  EXPECT_EQ(Sum(answer, "sleeps"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Scenes, KernelSleeping,
                         ::testing::Values(Sleeping{"mutex_sleeps", "mutex_lock", 2},
                                           Sleeping{"writer_sleeps", "down_write", 1},
                                           Sleeping{"reader_sleeps", "down_read", 1}),
                         [](const auto& tested) { return tested.param.scene; });

// Two threads spin for a mutex whose holder has left its CPU.
TEST_F(KernelLocks, LeadAConvoyWhereTheHolderIsPreempted) {
  const KernelScene waiter = Step("mutex_spins"), holder = Step("mutex_away"), idle = Step("idle");
  const std::map<std::string, uint64_t>& functions = recording_.functions();
  const CpuHabits late{.delays = {{functions.at("take_mutex"), 5000}}};
  recording_.AddCpu({{kTask, kTask, waiter.addresses}}, late);
  recording_.AddCpu({{kTask + 1, kTask + 1, waiter.addresses}}, late);
  recording_.AddCpu({{kOther, kOther, holder.Part(0), true},
                     {kIdle, kIdle, idle.Part(1)},
                     {kOther, kOther, holder.Part(1)}},
                    {.delays = {{functions.at("hold"), 4000}}});
  const json answer = recording_.Locks(kLinux);
  ASSERT_EQ(answer["sites"][0]["holders"].size(), 1u) << answer["sites"];
  const json& told = answer["sites"][0]["holders"][0];
  EXPECT_EQ(told["tid"], kOther);
  EXPECT_GT(told["preempted"], told["time"].get<uint64_t>() / 3);
  EXPECT_EQ(told["convoy"], 2);
  const std::string sentence = answer["sentences"][0];
  EXPECT_TRUE(sentence.contains("by task200 200")) << sentence;
  EXPECT_TRUE(sentence.contains("which was preempted for")) << sentence;
  EXPECT_TRUE(sentence.contains("a convoy, 2 threads waited behind it")) << sentence;
}

// What the kernel does for a lock of user code is a part of the wait for that.
TEST_F(KernelLocks, OfUserCodeSleepInTheKernel) {
  const KernelScene scene = recording_.Step("user", {"work", "take_in_user_code", "mtx_lock"});
  ASSERT_EQ(scene.error, "");
  recording_.AddCpu(InTurn(scene));
  for (const char* name : {"do_syscall_64", "futex_wait"}) {
    Names names = kLinux;
    names["enter_kernel"] = name;
    const json answer = recording_.Locks(names);
    EXPECT_EQ(FunctionsOf(answer), std::set<std::string>{"mtx_lock"}) << answer["sites"];
    EXPECT_EQ(Sum(answer, "waits"), 1u);
    EXPECT_EQ(Sum(answer, "sleeps"), 2u);
  }
}

// A delay reads nothing that another thread writes.
TEST_F(KernelLocks, ADelayByTpauseIsNoWait) {
  const KernelScene scene = Step("tpause_delays");
  recording_.AddCpu({{kTask, kTask, scene.addresses}});
  EXPECT_GT(PausesOf(scene).size(), 2u);
  EXPECT_EQ(Sum(recording_.Locks(kLinux), "trips"), 0u);
}

// Locks of the kernel are shared by all processes, also by those with one thread.
TEST_F(KernelLocks, AreHeldByThreadsOfOtherProcesses) {
  const KernelScene task = Step("mutex_spins");
  const KernelScene other = Step("mutex_free");
  const std::map<std::string, uint64_t>& functions = recording_.functions();
  recording_.AddCpu({{kTask, kTask, task.addresses}},
                    {.delays = {{functions.at("take_mutex"), 5000}}});
  recording_.AddCpu({{kOther, kOther, other.addresses}},
                    {.delays = {{functions.at("hold"), 4000}}});
  const json answer = recording_.Locks(kLinux);
  const json& site = answer["sites"][0];
  EXPECT_EQ(site["function"], "mutex_lock");
  ASSERT_EQ(site["holders"].size(), 1u) << answer["sites"];
  EXPECT_EQ(site["holders"][0]["tid"], kOther);
  EXPECT_GT(site["holders"][0]["certain"], 0);
}

}  // namespace
}  // namespace flowback
