// SPDX-License-Identifier: MIT
// Where the threads of a process stood when a debugger dumped it (gcore) and let it run on.
//
// Such a dump has no time. Each thread's place in its flow is found by its program counter, and by
// its call stack where the flow came to that address several times. It is proven only if the flow
// has all that the thread executed: the recording has its begin and its end, and nothing is lost. A
// thread in a loop came to its address too often: its place stays unknown, and no value is taken
// for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/session.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/source/replayed_stacks.h"
#include "replay/debug/values/end_core.h"

namespace flowback {

enum class DumpFit : uint8_t {
  kProven,       // the thread stood at one place, which is known
  kOnce,         // one place fits, but the recording may lack others
  kSeveral,      // several places fit
  kNowhere,      // the no place of the flow fits
  kNotRecorded,  // the thread has no flow
};
// "proven", ...
const char* Name(DumpFit fit);

struct DumpedThread {
  int32_t tid = -1;
  DumpFit fit = DumpFit::kNotRecorded;
  uint64_t counter = 0;                 // its program counter in the dump
  uint64_t number = 0;                  // kProven, kOnce: it stood ahead of this instruction
  bool is_end = false;                  // that is the end of its flow
  std::optional<uint64_t> call{};       // the system call that it waited in; empty: none is proven
  const AddressSpace* space = nullptr;  // of its flow's end; null: not known
};

struct LivingDump {
  std::vector<DumpedThread> threads;  // in the dump's order
  bool keeps_memory = false;          // no recorded instruction executed behind the dump
};

struct LivingInput {
  const Session& session;
  ReplayedMachine& machine;
  ReplayedStacks& stacks;
  const EndCore& core;
};

// Moves the machine. Errors: as ReplayedStacks::At.
Result<LivingDump> FindLivingDump(const LivingInput& input);

// The system call that a thread of the dump waits in, by its registers: the kernel has stopped it
// behind the instruction, and keeps that it is to be made again. Only x86-64.
std::optional<uint64_t> WaitsInCall(const EndCore& core, int32_t tid, const AddressSpace* space);

// Sets the places of the dump's threads.
void PlaceThreads(const LivingDump& found, EndCore& core);

}  // namespace flowback
