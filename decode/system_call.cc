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
constexpr std::array<uint8_t, kCall> kSysenter = {0x0f, 0x34};
constexpr std::array<uint8_t, kCall> kInt80 = {0xcd, 0x80};
constexpr std::array<uint8_t, 4> kSvc = {0x01, 0x00, 0x00, 0xd4};  // with 0, as Linux has it

size_t CallSizeIn(CodeMode mode) { return mode == CodeMode::kAArch64 ? kSvc.size() : kCall; }

// The last `size` bytes of the run's code; false: they can't be read.
bool ReadEnd(const BlockRun& run, uint8_t* bytes, size_t size) {
  const size_t call = CallSizeIn(run.mode);
  if (run.space == nullptr || run.lengths.empty() || run.lengths.back() != call) return false;
  const uint64_t end = run.LastAddress() + call;
  return end >= size && run.space->Read(end - size, bytes, size) == size;
}

// By which table the call goes that the last instruction makes. Empty: it makes none.
std::optional<LinuxAbi> AbiOfCall(CodeMode mode, const uint8_t* code) {
  const auto is = [code](const auto& call) {
    return std::memcmp(code, call.data(), call.size()) == 0;
  };
  if (mode == CodeMode::kAArch64)
    return is(kSvc) ? std::optional(LinuxAbi::kAArch64) : std::nullopt;
  if (is(kInt80)) return LinuxAbi::kI386;
  return mode == CodeMode::kX86_64 && is(kSyscall) ? std::optional(LinuxAbi::kX86_64)
                                                   : std::nullopt;
}

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
  const size_t before = size - CallSizeIn(run.mode);
  const std::optional<LinuxAbi> abi = AbiOfCall(run.mode, &code[before]);
  if (!abi) return std::nullopt;
  const std::optional<uint32_t> number =
      AccumulatorBehind({code.data(), before}, lengths.first(lengths.size() - 1), run.mode);
  if (!number) return std::nullopt;
  return SystemCall{.number = *number, .abi = *abi};
}

bool EndsInSystemCall(const BlockRun& run) {
  std::array<uint8_t, kSvc.size()> code;
  return ReadEnd(run, code.data(), CallSizeIn(run.mode)) && AbiOfCall(run.mode, code.data());
}

std::optional<LinuxAbi> AbiOfLastCall(const BlockRun& run) {
  std::array<uint8_t, kSvc.size()> code;
  if (!ReadEnd(run, code.data(), CallSizeIn(run.mode))) return std::nullopt;
  if (const auto abi = AbiOfCall(run.mode, code.data())) return abi;
  const auto is = [&code](const auto& call) {
    return std::memcmp(code.data(), call.data(), call.size()) == 0;
  };
  const bool is_of_32_bit = run.mode != CodeMode::kAArch64 && (is(kSysenter) || is(kSyscall));
  return is_of_32_bit ? std::optional(LinuxAbi::kI386) : std::nullopt;
}

bool BeginsBehindSyscall(const BlockRun& run) {
  std::array<uint8_t, kCall> code;
  return run.space != nullptr &&
         run.space->Read(run.address - kCall, code.data(), kCall) == kCall && code == kSyscall;
}

}  // namespace flowback
