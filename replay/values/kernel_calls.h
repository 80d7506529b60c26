// SPDX-License-Identifier: MIT
// What Linux's system calls may change of their caller, by the tables of each machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowback/model/code_mode.h"
#include "replay/values/known_bits.h"

namespace flowback::values {

// Bytes of memory. They may reach around the end of the address space.
struct MemoryRange {
  uint64_t address = 0;
  uint64_t size = 0;

  bool Meets(uint64_t at, uint64_t bytes) const {
    return size != 0 && bytes != 0 && (at - address < size || address - at < bytes);
  }
};

// Where the kernel may write in a system call.
struct KernelWrites {
  static constexpr size_t kMost = 4;
  bool anywhere = false;
  std::array<MemoryRange, kMost> ranges{};
  size_t count = 0;

  bool Meet(uint64_t at, uint64_t bytes) const {
    if (anywhere) return true;
    for (size_t i = 0; i < count; ++i)
      if (ranges[i].Meets(at, bytes)) return true;
    return false;
  }
};

// The proven values of a system call.
struct CallValues {
  static constexpr size_t kArguments = 6;
  KnownBits number{};
  std::array<KnownBits, kArguments> arguments{};
  KnownBits result{};
};

// The kernel may write anywhere if the proven values do not bound it. The kernel's later writes are
// left out: to memory of io_uring, and to addresses that an ending thread registered.
KernelWrites WritesOf(const CallValues& call, CodeMode mode);

// Whether the call ends its thread alone. The kernel then writes to that thread's header, and to
// the robust mutexes that it holds.
bool EndsThread(uint64_t number, CodeMode mode);

// The numbers in step_register of a call's registers. Empty: system calls of the mode are not
// known.
std::span<const uint8_t> CallArguments(CodeMode mode);
uint8_t CallNumber(CodeMode mode);
inline constexpr uint8_t kCallResult = 0;

// Whether the call may set the base of FS or GS, or of AArch64 the thread pointer.
bool MaySetBases(uint64_t number, CodeMode mode);

}  // namespace flowback::values
