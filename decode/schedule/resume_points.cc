// SPDX-License-Identifier: MIT
#include "decode/schedule/resume_points.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "decode/schedule/system_call.h"

namespace flowback {
namespace {

// Numbers of x86-64 Linux (arch/x86/entry/syscalls/syscall_64.tbl).
constexpr std::array<uint32_t, 4> kMakeThreads = {56, 57, 58, 435};  // clone, fork, vfork, clone3
constexpr std::array<uint32_t, 3> kDetours = {15, 59, 322};  // rt_sigreturn, execve, execveat

constexpr std::array<uint8_t, 2> kSyscall = {0x0f, 0x05};

// By the table above; only of a SYSCALL directly behind `mov eax, NUMBER`.
std::optional<uint32_t> CallNumber(const BlockRun& run) {
  const std::optional<SystemCall> call = SystemCallOf(run);
  return call && !call->i386 ? std::optional(call->number) : std::nullopt;
}

bool BeginsAfterCall(const BlockRun& run) {
  std::array<uint8_t, kSyscall.size()> code;
  return run.space != nullptr &&
         run.space->Read(run.address - code.size(), code.data(), code.size()) == code.size() &&
         code == kSyscall;
}

class Collector final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (begun_ && run.address == points.back().resumed)
      points.back().after_call = BeginsAfterCall(run);
    begun_ = false;
    stop_ = {};
    // A system call returns behind its instruction. Of other transfers, where they led to is not
    // where the thread was.
    if (run.exit != BlockExit::kStopped || run.last != InstructionClass::kFarCall) return;
    stop_.expected = run.LastAddress() + run.lengths.back();
    const std::optional<uint32_t> number = CallNumber(run);
    const auto is_in = [&](const auto& list) { return std::ranges::count(list, *number) != 0; };
    stop_.no_clone = number && !is_in(kMakeThreads);
    stop_.no_detour = number && !is_in(kDetours);
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
