// SPDX-License-Identifier: MIT
// Reports what happened before a process died, from its flow and from its core dump.
//
// The flow contains where each thread came from, and the core dump the registers and memory at the
// end. The value engine (replay/values/) leads from there back to the instructions that gave a bad
// value. Nothing is guessed: unproven facts are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/replay/thread_stack.h"
#include "flowback/session.h"
#include "replay/crash/dump/core_stack.h"
#include "replay/crash/dump/doubt.h"
#include "replay/crash/dump/living_dump.h"
#include "replay/crash/dump/missing_code.h"
#include "replay/crash/held_locks.h"
#include "replay/crash/history/last_calls.h"
#include "replay/crash/history/last_system_calls.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/source/replayed_stacks.h"
#include "replay/debug/values/past_values.h"
#include "replay/values/value_history.h"

namespace flowback {

// A place in the code, in words.
struct CrashPlace {
  uint64_t address = 0;
  std::string function;    // empty: not known
  uint64_t offset = 0;     // in the function, where that is not inlined
  std::string object;      // the file of the code; empty: not known
  uint64_t in_object = 0;  // the offset in that file
  std::string file;        // of the source; empty: not known
  uint32_t line = 0;       // 0: not known
};

// A function that may have stored what the thread died of.
struct CrashSuspect {
  CrashPlace function;  // its first instruction that was seen
  // Its own last one to memory other than its frame; or, if it has none, its last call.
  std::optional<CrashPlace> last_store;
};

// How a fault came about, as far as the signal, the flow and the core dump show.
enum class CrashKind : uint8_t {
  kExited,         // the process was not killed
  kStillRunning,   // the recording ended before the process did
  kNullPointer,    // an access within the first pages
  kWildPointer,    // another access that failed
  kAccess,         // an access that failed, at an address that is not known
  kStackOverflow,  // the stack has no more room
  kWildJump,       // control went to where no code is
  kAssertion,      // a check of the program's own failed
  kException,      // an uncaught exception
  kHeap,           // the allocator found its data damaged
  kSmashedStack,   // a function found its frame damaged before it returned
  kAbort,          // the program ended itself
  kInstruction,    // an instruction that the processor does not execute
  kDivision,       // a division by zero, or a quotient without room
  kSystemCall,     // a system call that is forbidden
  kOther,          // another signal
  kEnded,          // the process ended, and the recording does not show how
};
// "null-pointer", ...
const char* Name(CrashKind kind);

// A register that the faulting instruction reads.
struct CrashOperand {
  std::string name;
  std::optional<uint64_t> value;  // empty: no core dump has it
  bool is_address = false;        // it is a part of the address that was accessed
};

// An instruction with its place.
struct CrashInstruction {
  uint64_t number = 0;  // of the thread's, from 0
  uint64_t tsc = 0;     // 0: not known
  CrashPlace place;
  std::string text;
};

// One instruction of the chain that gave a value, the youngest first.
struct CrashLink {
  CrashInstruction instruction;
  values::ChainLink link;
};

// A store, which another thread or the dying one made.
struct CrashStore {
  int32_t tid = -1;
  CrashInstruction instruction;
  bool is_proven = false;  // to be the last one; else as far as is known (WhoStored)
  // For a store of the C or C++ library: the place outside of them that called it. Empty: not
  // known.
  std::optional<CrashPlace> caller{};
};

struct CrashWhy {
  std::string name;  // the register, or the address
  std::optional<uint64_t> value;
  std::vector<CrashLink> links;
  values::ChainEnd end = values::ChainEnd::kBeginning;
  // What the oldest instruction loaded or stored, by the program's symbols: "queue+0x8". Empty: no
  // symbol covers it.
  std::string memory{};
  // Where the chain ends at memory: who stored the value there last, before it was loaded. Empty:
  // it is not proven.
  std::optional<CrashStore> stored;
  bool too_many_threads = false;  // so that it was not looked for
  // How long before the end that store was, or the oldest instruction of the chain. Empty: the
  // recording has no times, or none that differs from the end's.
  std::optional<uint64_t> before_ns;
};

// A function that a thread did not leave for its last `instructions` instructions.
struct CrashStay {
  CrashPlace place;  // where it goes on in that function
  uint64_t instructions = 0;
  uint64_t tsc = 0;  // of the first of them; 0: not known
};

struct CrashThread {
  int32_t tid = -1;
  std::string name;
  ThreadState state = ThreadState::kRunning;
  uint64_t tsc = 0;  // of its place; 0: not known
  CrashPlace place;  // where it stands
  ThreadStack stack;
  std::vector<LastCall> calls;                 // that it made or returned from last, by their begin
  std::vector<CrashSystemCall> system_calls;   // that it made last; only with a core dump
  std::vector<CrashMutex> holds;               // mutexes; only with a core dump
  std::optional<CrashMutex> waits_for;         // a mutex; only with a core dump
  std::vector<CrashPlace> lines;               // of the source that it executed last, in order
  std::vector<CrashInstruction> instructions;  // that it executed last, in order
};

// A call that freed memory.
struct CrashFree {
  CrashPlace place;     // of the call
  uint64_t number = 0;  // of the instruction behind it
  std::optional<uint64_t> block{};
};

struct CrashFrees {
  std::optional<uint64_t> block;  // that the call was about in which the allocator found the damage
  bool is_same_block = false;     // the calls freed that block; else any
  std::vector<CrashFree> calls;   // the latest first
};

struct CrashReport {
  CrashKind kind = CrashKind::kStillRunning;
  std::optional<ProcessEnd> end;     // of the process; empty: it was not recorded
  std::vector<CrashThread> threads;  // the dying one first
  // The instruction at which the thread died: it has not executed. Empty: there is no code there,
  // it is missing here, or the thread did not die of one.
  std::optional<CrashInstruction> fault;
  // The code at which the thread died, if its bytes are not here: then the cause is not known.
  std::optional<MissingCode> missing;
  bool writes = false;  // the access that failed is a store
  std::vector<CrashOperand> operands;
  std::optional<CrashWhy> why;       // of the register that the bad address came from, or --why's
  std::optional<CrashPlace> cause;   // the program's own frame in which a check failed
  std::optional<CrashPlace> thrown;  // where the exception came from
  bool aborted = false;              // the thread was in abort()
  bool terminated = false;           // it was in std::terminate()
  // The type of the uncaught exception. Empty: not known, or no exception was uncaught.
  std::string thrown_type;
  // The C library's last message, or the exception's text. Empty: not known.
  std::string message;
  uint64_t depth = 0;                   // of the dying thread's stack
  std::optional<CoreStack> core_stack;  // of the dying thread; empty: there is no core dump
  // If the stack overflowed: the functions that call each other again and again, each once, in the
  // order of the calls. Empty: no such round was found.
  std::vector<std::string> recursion;
  // Numbers of threads, each waiting for a mutex that the next one holds, the last one for a mutex
  // of the first. Empty: no such round is proven.
  std::vector<size_t> deadlock;
  CrashFrees frees;                         // of kHeap
  std::vector<CrashSuspect> returned_last;  // if the chain of values does not show the cause
  // An access failed although the memory is there: the processor refused it, for example because it
  // is not aligned.
  bool refused = false;
  // Why it is not known whether an instruction raised the signal or a process sent it.
  SignalDoubt doubt = SignalDoubt::kNone;
  bool from_outside = false;  // the process did not send itself the signal
  bool has_core = false;
  // The core dump is of a process that ran on.
  std::optional<LivingDump> living;
  // The process hung: it did not die of what it did itself, and the dump was made before.
  bool hung = false;
  // If the process did not die of what it did itself: where its first thread stayed. Empty: not
  // known.
  std::optional<CrashStay> stay;
  bool core_contradicts = false;  // it is not of this run, or other processes wrote to the memory
};

struct CrashInput {
  Session& session;
  ReplayedMachine& machine;
  ReplayedStacks& stacks;
  ImageMemory& images;
  const EndCore* core = nullptr;
  const LivingDump* living = nullptr;  // where the threads stood in such a dump; null: no such dump

  // Returns the dump of the process' death; null: no such dump.
  const EndCore* death_core() const { return living == nullptr ? core : nullptr; }
};

struct CrashOptions {
  size_t last = 20;          // calls, lines and instructions in the report
  std::string why{};         // a register or an address; empty: the one that faulted
  size_t most_threads = 32;  // in the report
};

// Moves the machine. Errors: as ReplayedStacks::At; kUsage where `why` names nothing.
Result<CrashReport> MakeCrashReport(const CrashInput& input, const CrashOptions& options);

// The place of an address in words; `is_return`: it is where a call returns to, and the call is
// meant.
CrashPlace PlaceOf(Session& session, const AddressSpace* space, uint64_t address, bool is_return);

}  // namespace flowback
