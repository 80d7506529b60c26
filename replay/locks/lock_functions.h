// SPDX-License-Identifier: MIT
// Which functions belong to locks, by their names: their code alone does not show it.
#pragma once

#include <cstdint>
#include <string_view>

namespace flowback {

// What a function does for its caller.
enum class LockUse : uint8_t {
  kNone,      // it is none of them
  kAcquires,  // when it has returned, its caller holds something
  kTries,     // acquires, unless it returns that it failed
  kReleases,
  kWaits,     // for a moment, and nothing is held: a condition, a barrier, a thread's end
  kWakes,     // those that wait
  kPassesOn,  // a system call that its caller asks for
};

struct LockFunction {
  LockUse use = LockUse::kNone;
  std::string_view family;  // empty: nothing is held

  bool belongs_to_lock() const { return use != LockUse::kNone && use != LockUse::kPassesOn; }
  // When it has returned, its caller holds something, or may.
  bool acquires() const { return waits() || use == LockUse::kTries; }
  bool gives_up() const { return use == LockUse::kReleases || use == LockUse::kWaits; }
  bool waits() const { return use == LockUse::kAcquires || use == LockUse::kWaits; }
};

// `name` as TimelineFunction has it; `of_kernel`: the kernel's code has the function. Thread-safe.
LockFunction LockFunctionOf(std::string_view name, bool of_kernel = false);

}  // namespace flowback
