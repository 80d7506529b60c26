// SPDX-License-Identifier: MIT
#include "decode/schedule/resume_points.h"

#include <initializer_list>
#include <optional>
#include <utility>

#include "decode/system_call.h"

namespace flowback {
namespace {

// Whether the run ends in a system call that is certainly none of `calls`. That is known only for
// calls in 64-bit programs whose number the code contains.
bool IsKnownOther(const std::optional<SystemCall>& call, std::initializer_list<LinuxCall> calls) {
  return call && call->abi == LinuxAbi::kX86_64 && !call->IsOneOf(calls);
}

class Collector final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (begun_ && run.address == points.back().resumed)
      points.back().after_call = BeginsBehindSyscall(run);
    begun_ = false;
    stop_ = {};
    // A system call returns behind its instruction, so that is where the thread is expected to go
    // on. Another transfer's target is not where the thread stopped, so it is no evidence.
    if (run.exit != BlockExit::kStopped || run.last != InstructionClass::kFarCall) return;
    stop_.expected = run.LastAddress() + run.lengths.back();
    using enum LinuxCall;
    const std::optional<SystemCall> call = SystemCallOf(run);
    stop_.no_clone = IsKnownOther(call, {kClone, kFork, kVfork, kClone3});
    stop_.no_detour = IsKnownOther(call, {kRtSigreturn, kExecve, kExecveat});
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.kind == EventKind::kStoppedAsync)
      stop_ = {.expected = event.has_ip ? event.ip : 0, .no_clone = true, .no_detour = true};
    if (event.kind == EventKind::kOverflow) stop_ = {};
    if (event.kind != EventKind::kStarted && event.kind != EventKind::kOverflow) return;
    stop_.offset = event.offset;
    stop_.resumed = event.has_ip ? event.ip : 0;
    points.push_back(std::exchange(stop_, {}));
    begun_ = true;
  }
  void OnLoss(const DataLoss&) override { stop_ = {}; }

  std::vector<ResumePoint> points;

 private:
  ResumePoint stop_;    // as far as it is known
  bool begun_ = false;  // the next block is the first one behind the last point
};

}  // namespace

Result<std::vector<ResumePoint>> FindResumePoints(const DecodeInput& input, Decoder& decoder) {
  Collector collector;
  const Result<ByteAccount> account = decoder.Decode(input, collector);
  if (!account) return Fail(account.error());
  return std::move(collector.points);
}

}  // namespace flowback
