// SPDX-License-Identifier: MIT
// Which mutexes a thread holds, and which one it waits for, by what a core dump has of them.
//
// Of a mutex of POSIX threads glibc keeps the owner's thread number eight bytes behind its begin.
// Where the thread waits for it in the kernel, the argument of the system call is its address;
// where it locked it, the argument of pthread_mutex_lock is, as far as the value engine proves it.
// A mutex that was locked longer ago than the instructions that are looked at, and that nobody
// waits for, is not found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"
#include "replay/crash/last_calls.h"
#include "replay/crash/last_system_calls.h"
#include "replay/debug/end_core.h"

namespace flowback {

struct CrashMutex {
  uint64_t address = 0;
  std::string name{};  // by the program's symbols: "queue+0x10"; empty: none covers it
  int32_t owner = 0;   // the thread that holds it
  // The call that locked it last, for one that the thread holds; 0: it is not proven.
  uint64_t site = 0;
  const AddressSpace* space = nullptr;
};

// Whether a function of that name locks a mutex, given its address.
bool LocksMutex(std::string_view function);

// What is known of calls. Values are empty where they are not proven.
struct CallFacts {
  std::function<std::string(const LastCall&)> name_of;  // of the function
  std::function<std::optional<uint64_t>(const LastCall&)> argument_of;
  std::function<std::optional<uint64_t>(const LastCall&)> result_of;
};

// The mutexes that `calls` locked and that the dump says the thread holds, each once.
std::vector<CrashMutex> HeldMutexes(int32_t tid, const std::vector<LastCall>& calls,
                                    const EndCore& core, const CallFacts& facts);

// The mutex that a thread waits for whose last system call is `last`. REQUIRES: the thread is in a
// function that locks a mutex. Empty: it waits for none that a thread holds, or for what is not
// proven.
std::optional<CrashMutex> AwaitedMutex(const CrashSystemCall& last, const EndCore& core);

}  // namespace flowback
