// SPDX-License-Identifier: MIT
#include "decode/system_call.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "decode/instruction/accumulator.h"
#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

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
  constexpr size_t kMostInstructions = 32;
  constexpr size_t kLongest = 15;
  const std::span<const uint8_t> lengths =
      run.lengths.last(std::min(run.lengths.size(), kMostInstructions));
  std::array<uint8_t, kMostInstructions * kLongest> code;
  size_t size = 0;
  for (const uint8_t length : lengths) size += length;
  if (size > code.size() || !ReadEnd(run, code.data(), size)) return std::nullopt;
  const size_t before = size - kCall;
  const bool i386 = IsInt80(&code[before]);
  if (!i386 && !IsSyscall(run, &code[before])) return std::nullopt;
  const std::optional<uint32_t> number =
      AccumulatorBehind({code.data(), before}, lengths.first(lengths.size() - 1), run.mode);
  if (!number) return std::nullopt;
  return SystemCall{.number = *number, .abi = i386 ? LinuxAbi::kI386 : LinuxAbi::kX86_64};
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
