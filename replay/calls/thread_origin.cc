// SPDX-License-Identifier: MIT
// What a thread's stacks begin with: nothing, what is not known, or a copy of its parent's.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/stack_taker.h"

namespace flowback {
namespace {

constexpr unsigned kMostParents = 16;

// Where a thread's flow begins.
class FirstAddress final : public PlayConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (address == 0) address = run.address;
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override { lost_ = true; }
  bool Done() const override { return address != 0 || lost_; }
  uint64_t address = 0;

 private:
  bool lost_ = false;
};

// The system calls that lie before an address: how many instructions were executed with each.
class SystemCalls final : public PlayConsumer {
 public:
  explicit SystemCalls(uint64_t behind) : behind_(behind) {}
  void OnBlock(const BlockRun& run) override {
    instructions_ += run.lengths.size();
    const bool is_call = run.last == InstructionClass::kFarCall;
    if (!is_call || run.LastAddress() + run.lengths.back() != behind_) return;
    calls.push_back({instructions_, run.tsc});
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}

  struct SystemCall {
    uint64_t instructions = 0;
    uint64_t tsc = 0;
  };
  std::vector<SystemCall> calls;

 private:
  uint64_t behind_;
  uint64_t instructions_ = 0;
};

const ForkRecord* ForkOf(const Recording& recording, const ThreadFlow& thread) {
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* fork = std::get_if<ForkRecord>(&record);
        fork != nullptr && fork->tid == thread.tid && fork->pid == thread.pid)
      return fork;
  return nullptr;
}

bool Executes(const Recording& recording, const ThreadFlow& thread) {
  return thread.pid == thread.tid &&
         std::ranges::any_of(recording.sideband, [&](const SidebandRecord& record) {
           const auto* comm = std::get_if<CommRecord>(&record);
           return comm != nullptr && comm->exec && comm->pid == thread.pid;
         });
}

struct Family {
  const std::vector<const ThreadFlow*>& flows;
  const Recording& recording;
  FunctionFinder& functions;
  Player& player;

  Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, unsigned parents) {
    ThreadOrigin origin;
    const ForkRecord* fork = ForkOf(recording, thread);
    const bool is_copy = fork != nullptr && fork->pid != fork->parent_pid;
    // A recording from a function on begins within a thread's life.
    origin.life_begins = recording.machine.from.empty() &&
                         (fork != nullptr ? !is_copy : Executes(recording, thread));
    const auto parent = std::ranges::find_if(
        flows, [&](const ThreadFlow* each) { return is_copy && each->tid == fork->parent_tid; });
    if (parent == flows.end() || parents == kMostParents) return origin;
    Result<std::optional<uint64_t>> call = CallOf(*fork, thread, **parent);
    if (!call) return Fail(call.error());
    if (!*call) return origin;
    Result<ThreadOrigin> older = OriginOf(**parent, parents + 1);
    if (!older) return older;
    const StackPlace place{StackPlace::Kind::kInstruction, **call};
    const RecordingClock clock(recording);
    const ExecTimes execs(recording, clock, (*parent)->pid);
    const auto exec_between = [&](uint64_t begin, uint64_t end) {
      return execs.Between(begin, end);
    };
    StackTaker taker(
        functions, {place}, *std::move(older),
        {.exec_between = exec_between, .keep_calls = true, .machine = &recording.machine});
    if (Status played = player.Play({*parent}, taker); !played) return Fail(played.error());
    std::vector<ThreadStack> stacks = taker.Take();
    if (!stacks.empty()) origin.inherited = std::move(stacks.front());
    return origin;
  }

  Result<uint64_t> BeginOf(const ThreadFlow& thread) {
    FirstAddress first;
    if (Status played = player.Play({&thread}, first); !played) return Fail(played.error());
    return first.address;
  }

  // Behind which instruction of its parent the thread was made. Both go on at one address. Of
  // several system calls there the one in turn made it, where there are as many children; else the
  // one nearest in time.
  Result<std::optional<uint64_t>> CallOf(const ForkRecord& fork, const ThreadFlow& thread,
                                         const ThreadFlow& parent) {
    const Result<uint64_t> begin = BeginOf(thread);
    if (!begin) return Fail(begin.error());
    SystemCalls system(*begin);
    if (Status played = player.Play({&parent}, system); !played) return Fail(played.error());
    if (*begin == 0 || system.calls.empty()) return std::nullopt;
    std::vector<uint64_t> forks;
    for (const ThreadFlow* each : flows) {
      const ForkRecord* other = ForkOf(recording, *each);
      if (other == nullptr || other->parent_tid != parent.tid) continue;
      const Result<uint64_t> its = BeginOf(*each);
      if (!its) return Fail(its.error());
      if (*its == *begin) forks.push_back(other->time);
    }
    if (forks.size() == system.calls.size()) {
      const auto turn =
          std::ranges::count_if(forks, [&](uint64_t time) { return time < fork.time; });
      return system.calls[static_cast<size_t>(turn)].instructions;
    }
    return NearestTo(fork.time, system.calls);
  }

  std::optional<uint64_t> NearestTo(uint64_t time,
                                    const std::vector<SystemCalls::SystemCall>& calls) const {
    if (!recording.time.known()) return std::nullopt;
    const auto distance = [&](const SystemCalls::SystemCall& call) {
      const uint64_t its = recording.time.ToNanoseconds(call.tsc);
      return its < time ? time - its : its - time;
    };
    return std::ranges::min_element(calls, {}, distance)->instructions;
  }
};

}  // namespace

Result<ThreadOrigin> OriginOf(const ThreadFlow& thread, const std::vector<const ThreadFlow*>& flows,
                              const Recording& recording, FunctionFinder& functions,
                              Player& player) {
  return Family{flows, recording, functions, player}.OriginOf(thread, 0);
}

}  // namespace flowback
