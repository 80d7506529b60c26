// SPDX-License-Identifier: MIT
#include "decode/schedule/resume_points.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace flowback {
namespace {

// Numbers of x86-64 Linux (arch/x86/entry/syscalls/syscall_64.tbl).
constexpr std::array<uint32_t, 4> kMakeThreads = {56, 57, 58, 435};  // clone, fork, vfork, clone3
constexpr std::array<uint32_t, 3> kDetours = {15, 59, 322};  // rt_sigreturn, execve, execveat

constexpr std::array<uint8_t, 2> kSyscall = {0x0f, 0x05};

// The number of the system call that ends the run; only of a SYSCALL directly behind
// `mov eax, NUMBER`.
std::optional<uint32_t> CallNumber(const BlockRun& run) {
  constexpr size_t kMov = 5;  // b8, four bytes of the number
  const size_t count = run.lengths.size();
  if (run.mode != ExecMode::k64Bit || run.space == nullptr || count < 2) return std::nullopt;
  if (run.lengths[count - 1] != kSyscall.size() || run.lengths[count - 2] != kMov)
    return std::nullopt;
  std::array<uint8_t, kMov + kSyscall.size()> code;
  if (run.space->Read(run.LastAddress() - kMov, code.data(), code.size()) != code.size())
    return std::nullopt;
  if (code[0] != 0xb8 || code[kMov] != kSyscall[0] || code[kMov + 1] != kSyscall[1])
    return std::nullopt;
  uint32_t number;
  std::memcpy(&number, &code[1], sizeof number);
  return number;
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
