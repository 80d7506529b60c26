// SPDX-License-Identifier: MIT
#include "decode/schedule/system_call.h"

#include <array>
#include <cstring>

namespace flowback {
namespace {

constexpr size_t kMov = 5;   // "mov eax, number": b8, and four bytes of the number
constexpr size_t kCall = 2;  // "syscall" and "int 0x80" have two bytes each
constexpr std::array<uint8_t, kCall> kSyscall = {0x0f, 0x05};
constexpr std::array<uint8_t, kCall> kInt80 = {0xcd, 0x80};

// The last `size` bytes of the run's code; false: they can't be read.
bool ReadEnd(const BlockRun& run, uint8_t* bytes, size_t size) {
  if (run.space == nullptr || run.lengths.empty() || run.lengths.back() != kCall) return false;
  const uint64_t end = run.LastAddress() + kCall;
  return end >= size && run.space->Read(end - size, bytes, size) == size;
}

bool IsSyscall(const BlockRun& run, const uint8_t* code) {
  return run.mode == CodeMode::kX86_64 && std::memcmp(code, kSyscall.data(), kCall) == 0;
}

bool IsInt80(const uint8_t* code) { return std::memcmp(code, kInt80.data(), kCall) == 0; }

}  // namespace

std::optional<SystemCall> SystemCallOf(const BlockRun& run) {
  std::array<uint8_t, kMov + kCall> code;
  const size_t count = run.lengths.size();
  if (count < 2 || run.lengths[count - 2] != kMov || !ReadEnd(run, code.data(), code.size()))
    return std::nullopt;
  const bool i386 = IsInt80(&code[kMov]);
  if (code[0] != 0xb8 || (!i386 && !IsSyscall(run, &code[kMov]))) return std::nullopt;
  SystemCall call{.abi = i386 ? LinuxAbi::kI386 : LinuxAbi::kX86_64};
  std::memcpy(&call.number, &code[1], sizeof call.number);
  return call;
}

bool EndsInSystemCall(const BlockRun& run) {
  std::array<uint8_t, kCall> code;
  return ReadEnd(run, code.data(), code.size()) &&
         (IsSyscall(run, code.data()) || IsInt80(code.data()));
}

bool BeginsBehindSyscall(const BlockRun& run) {
  std::array<uint8_t, kCall> code;
  return run.space != nullptr &&
         run.space->Read(run.address - kCall, code.data(), kCall) == kCall && code == kSyscall;
}

}  // namespace flowback
