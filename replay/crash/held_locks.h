// SPDX-License-Identifier: MIT
// Finds in a core dump which mutexes a thread holds, and which one it waits for.
//
// glibc stores the owner's thread number eight bytes behind the beginning of a POSIX mutex. The
// mutex's address is the argument of the system call in which a thread waits for it, and the
// argument of the call of pthread_mutex_lock that locked it, as far as the value engine proves that
// argument. A mutex that no thread waits for is missed if it was locked before the instructions
// that are searched.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"
#include "replay/crash/history/last_calls.h"
#include "replay/crash/history/last_system_calls.h"
#include "replay/debug/values/end_core.h"

namespace flowback {

struct CrashMutex {
  uint64_t address = 0;
  std::string name{};  // by the program's symbols: "queue+0x10"; empty: no symbol covers it
  int32_t owner = 0;   // the thread that holds it
  // The call in which the owner locked it last; 0: not proven.
  uint64_t site = 0;
  const AddressSpace* space = nullptr;
};

// Returns whether a function of that name locks the mutex whose address is its first argument.
bool LocksMutex(std::string_view function);

// Facts about calls. A value that is not proven is empty.
struct CallFacts {
  std::function<std::string(const LastCall&)> name_of;  // of the function
  std::function<std::optional<uint64_t>(const LastCall&)> argument_of;
  std::function<std::optional<uint64_t>(const LastCall&)> result_of;
};

// Returns the mutexes that `calls` locked and that the thread holds in the dump, each once.
std::vector<CrashMutex> HeldMutexes(int32_t tid, const std::vector<LastCall>& calls,
                                    const EndCore& core, const CallFacts& facts);

// Returns the mutex that a thread waits for, by its last system call. REQUIRES: the thread is in a
// function that locks a mutex. Empty: no thread holds what it waits for, or the address is not
// proven.
std::optional<CrashMutex> AwaitedMutex(const CrashSystemCall& last, const EndCore& core);

}  // namespace flowback
