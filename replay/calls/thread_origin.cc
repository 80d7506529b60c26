// SPDX-License-Identifier: MIT
// Decides with which calls a thread's stacks begin: none, unknown ones, or a copy of its parent's.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/stack_snapshots.h"

namespace flowback {
namespace {

constexpr unsigned kMostParents = 16;

// Where a thread's flow begins. All system calls of 32-bit programs are made by one function, which
// returns at once.
struct FlowBegin {
  uint64_t address = 0;     // 0: not known
  uint64_t returns_to = 0;  // by its first block; 0: that does something else

  static uint64_t ReturnOf(const BlockRun& run) {
    return run.last == InstructionClass::kReturn && run.exit == BlockExit::kTaken ? run.next : 0;
  }
  bool operator==(const FlowBegin&) const = default;
};

class FirstBlock final : public PlayConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (begin.address == 0) begin = {run.address, FlowBegin::ReturnOf(run)};
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override { lost_ = true; }
  bool Done() const override { return begin.address != 0 || lost_; }
  FlowBegin begin;

 private:
  bool lost_ = false;
};

// The system calls behind which a thread goes on as another one begins: how many instructions were
// executed with each. A call by INT 80h is none of the flow's: it stops there, and goes on behind.
class SystemCalls final : public PlayConsumer {
 public:
  explicit SystemCalls(const FlowBegin& begin) : begin_(begin) {}
  void OnBlock(const BlockRun& run) override {
    const bool is_behind = !calls.empty() && calls.back().instructions == instructions_;
    if (is_behind && begin_.returns_to != FlowBegin::ReturnOf(run)) calls.pop_back();
    instructions_ += run.lengths.size();
    const bool is_call = run.last == InstructionClass::kFarCall;
    if (!is_call || run.LastAddress() + run.lengths.back() != begin_.address) return;
    calls.push_back({instructions_, run.tsc, run.tsc});
  }
  void OnEvent(const TraceEvent& event) override {
    constexpr uint64_t kTrapSize = 2;
    const bool behind_trap = event.kind == EventKind::kStarted && event.ip == begin_.address &&
                             stopped_.ip + kTrapSize == begin_.address;
    if (behind_trap) calls.push_back({instructions_, stopped_.tsc, event.tsc});
    const bool comes_back = !calls.empty() && calls.back().instructions == instructions_;
    if (event.kind == EventKind::kStarted && comes_back) calls.back().end_tsc = event.tsc;
    if (event.kind == EventKind::kStarted) stopped_ = {};
    if (event.kind == EventKind::kStoppedAsync) stopped_ = event;
  }
  void OnLoss(const DataLoss&) override {}

  struct SystemCall {
    uint64_t instructions = 0;
    uint64_t tsc = 0;
    uint64_t end_tsc = 0;  // when it came back; `tsc`: that is not known
  };
  std::vector<SystemCall> calls;

 private:
  FlowBegin begin_;
  uint64_t instructions_ = 0;
  TraceEvent stopped_;  // where the flow has not gone on since
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
    StackSnapshots taker(
        functions, {place}, *std::move(older),
        {.exec_between = exec_between, .keep_calls = true, .machine = &recording.machine});
    if (Status played = player.Play({*parent}, taker); !played) return Fail(played.error());
    std::vector<ThreadStack> stacks = taker.Take();
    if (!stacks.empty()) origin.inherited = std::move(stacks.front());
    return origin;
  }

  Result<FlowBegin> BeginOf(const ThreadFlow& thread) {
    FirstBlock first;
    if (Status played = player.Play({&thread}, first); !played) return Fail(played.error());
    return first.begin;
  }

  // Behind which instruction of its parent the thread was made. Both go on at one address. If
  // several system calls are there, the one in turn made it, where there are as many children; else
  // the one in whose time it was made, or the nearest.
  Result<std::optional<uint64_t>> CallOf(const ForkRecord& fork, const ThreadFlow& thread,
                                         const ThreadFlow& parent) {
    const Result<FlowBegin> begin = BeginOf(thread);
    if (!begin) return Fail(begin.error());
    SystemCalls system(*begin);
    if (Status played = player.Play({&parent}, system); !played) return Fail(played.error());
    if (begin->address == 0 || system.calls.empty()) return std::nullopt;
    std::vector<uint64_t> forks;
    for (const ThreadFlow* each : flows) {
      const ForkRecord* other = ForkOf(recording, *each);
      if (other == nullptr || other->parent_tid != parent.tid) continue;
      const Result<FlowBegin> its = BeginOf(*each);
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
      const uint64_t begin = recording.time.ToNanoseconds(call.tsc);
      const uint64_t end = recording.time.ToNanoseconds(call.end_tsc);
      return time < begin ? begin - time : time - std::min(time, std::max(begin, end));
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
