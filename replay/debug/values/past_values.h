// SPDX-License-Identifier: MIT
// What a core dump proves of the moments before a thread died: the value engine (replay/values/)
// goes back from it along the thread's last instructions.
//
// Memory that only the process writes to is: memory in the dump that no file backs, or that a
// program or library file backs (data of that file is a private copy). Left out is the page at the
// thread pointers, which the kernel writes to when it moves a thread to another CPU (rseq). Where
// the process had several threads, memory is known at the dump's moment only: another thread may
// have written at any time. A process that another one writes to (ptrace, process_vm_writev,
// /proc/PID/mem) or that lets the kernel write on its own (io_uring) is beyond that: where such a
// write contradicts the flow, nothing at all is proven. So is a process that others write to by
// shared memory where QEMU made the dump, which contains neither files nor sharing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/session.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/values/end_core.h"
#include "replay/debug/values/executed_path.h"
#include "replay/debug/values/image_memory.h"
#include "replay/values/value_history.h"

namespace flowback {

// What a history may rest on.
enum class Trust : uint8_t {
  kProven,      // nothing but what the instructions prove
  kConvention,  // functions also keep registers as the calling convention says
};

// Used by one thread.
class PastValues {
 public:
  // The number of a thread's last instructions to look at.
  static constexpr size_t kMostInstructions = 100000;
  // Limits of the histories in memory: their instructions in all, and their number. Two histories
  // stay even if they are longer.
  static constexpr size_t kMostLive = 4 * kMostInstructions;
  static constexpr size_t kMostThreads = 64;

  // All but the session must outlive it.
  PastValues(const Session& session, ReplayedMachine& machine, ImageMemory& images,
             const EndCore& core);

  // Mode of the process.
  CodeMode mode() const { return core_.mode(); }

  // The history of a thread, and the point at which it stands.
  struct Place {
    const values::ValueHistory& history;
    size_t point = 0;
    uint64_t first = 0;  // the number of the history's first instruction in the thread
    const AddressSpace* space = nullptr;
  };
  // Made at the first question about a thread; valid until two others were asked about. Empty:
  // the thread stands before it, or the dump has not the thread, or the dump's moment is not the
  // flow's end.
  std::optional<Place> At(const MachineThread& thread, Trust trust = Trust::kProven);
  // The same before the thread's n-th instruction, wherever the thread stands.
  std::optional<Place> Before(const MachineThread& thread, uint64_t number,
                              Trust trust = Trust::kProven);
  // Whether several threads may have written to memory.
  bool is_shared() const { return core_.threads() > 1 || machine_.size() > 1; }
  // A register then, by the name that gdb gives it. Empty: it is not proven, or not followed.
  std::optional<uint64_t> RegisterBefore(const MachineThread& thread, uint64_t number,
                                         std::string_view name);

 private:
  struct Past {
    int32_t tid = -1;
    Trust trust = Trust::kProven;
    uint64_t first = 0;
    const AddressSpace* space = nullptr;
    std::optional<values::ValueHistory> history;
  };

  const Past& PastOf(const MachineThread& thread, Trust trust);
  Past Make(const MachineThread& thread, Trust trust);
  void DropOldest();
  std::vector<uint8_t> CodeAt(const AddressSpace& space, uint64_t address);
  std::optional<uint64_t> OwnHeader(int32_t tid) const;
  values::Surroundings SurroundingsOf(int32_t tid, const AddressSpace& space, size_t point);

  ReplayedMachine& machine_;
  ImageMemory& images_;
  const EndCore& core_;
  const bool hides_handlers_;  // of signals: the recording leaves code out
  std::list<Past> pasts_;      // the one used last first
};

// Whether only a part of the user's code was recorded, or that is unknown.
bool LeavesCodeOut(const Session& session);
// The number in step_register of a register that gdb names so; empty: it is not followed.
std::optional<uint8_t> FollowedRegister(CodeMode mode, std::string_view name);
// The names of the general registers, by that number. Empty: none are known.
std::span<const std::string_view> GeneralRegisters(CodeMode mode);

// A value that the user asks about: of a register, or of eight bytes of memory.
struct ValueQuestion {
  std::string name{};               // as gdb has it: "rax", "0x7ffe0010"
  std::optional<uint8_t> number{};  // as FollowedRegister's
  uint64_t address = 0;             // where it is no register

  // Also "$RAX". Empty: the word is no followed register and no address. `mode`: of the process.
  static std::optional<ValueQuestion> In(std::string word, CodeMode mode);
  // The instructions that gave the value.
  values::ValueChain Why(const PastValues::Place& place) const;
};

}  // namespace flowback
