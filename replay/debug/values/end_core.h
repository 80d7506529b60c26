// SPDX-License-Identifier: MIT
// A core dump of the replayed process: registers and memory as they were when it died, or when a
// debugger copied them.
//
// They are those of a thread's place only where the thread stands at the dump's program counter at
// the end of the recording: a flow that ends elsewhere may be followed by more that ran. The
// recording must also show that a signal killed the process (IsOfDeath). A debugger's dump of a
// process that ran on (gcore) shows a thread at the place of its flow that SetLiving names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "decode/code/core/core_file.h"
#include "decode/code/core/core_layout.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// Immutable.
class EndCore {
 public:
  // Errors: as MappedFile::Open and ReadCore.
  static Result<EndCore> Open(const std::string& path);

  int32_t pid() const { return core_.pid; }
  size_t threads() const { return core_.tids.size(); }
  const std::vector<int32_t>& tids() const { return core_.tids; }
  CodeMode mode() const { return core_.mode; }
  // Whether only the process itself wrote to the memory, and whether the dump has it: see
  // replay/debug/values/past_values.h. What processes share counts as private in QEMU's dumps.
  bool IsPrivate(uint64_t address) const;
  // Whether the process could write to the memory. Empty: unknown. QEMU takes the permission away
  // from memory whose code it has translated.
  std::optional<bool> IsWritable(uint64_t address) const;
  // By the name that gdb gives it. Empty: the dump has no such thread or register.
  std::optional<uint64_t> Register(int32_t tid, std::string_view name) const;
  std::optional<uint64_t> Counter(int32_t tid) const { return Register(tid, layout_->counter); }
  std::optional<uint64_t> StackPointer(int32_t tid) const {
    return Register(tid, layout_->stack_pointer);
  }
  // The signal that made the dump, as the kernel's siginfo_t, and the thread that it killed. Empty:
  // not in the dump.
  Bytes signal() const { return signal_; }
  // Its address, which only some signals have.
  uint64_t signal_address() const;
  // Members of that siginfo: the signal, its cause (SI_USER, SEGV_MAPERR, ...), and the sender's
  // process number. 0: not in the dump.
  int32_t signal_number() const;
  int32_t signal_code() const;
  int32_t signal_sender() const;
  int32_t killed_tid() const { return killed_tid_; }
  // Whether the dump is of the process' death, and not of a process that ran on, which may show the
  // same program counter: the recording has the same death, or, if it lacks the process's end, the
  // dump has a signal for which the kernel writes one.
  bool IsOfDeath(const Recording& recording) const;
  // The process ran on behind the dump. `places`: by thread, the number of the instruction ahead of
  // which it stood then, if proven. `keeps_memory`: no recorded instruction executed behind the
  // dump's moment while the threads stand there.
  void SetLiving(std::map<int32_t, uint64_t> places, bool keeps_memory);
  bool is_living() const { return living_; }
  // Returns the place as a number, for a thread that executed `instructions` instructions in all.
  // Empty: not proven.
  std::optional<uint64_t> PlaceOf(int32_t tid, uint64_t instructions) const;
  // Whether the dump has the thread as it was at the end of its flow.
  bool IsAtEnd(int32_t tid, uint64_t instructions) const {
    return PlaceOf(tid, instructions) == instructions;
  }
  // Whether the dump's memory is the memory at the threads' places.
  bool keeps_memory() const { return !living_ || keeps_memory_; }
  // Takes the dump's only thread for the one whose death the recording notes at the same program
  // counter. QEMU gives the thread of a forked process the number of the one that forked it.
  void NumberThreadAs(const Recording& recording);
  // Copies dumped bytes from `address` on; returns how many.
  size_t Memory(uint64_t address, std::span<uint8_t> bytes) const {
    return core_.Read(address, bytes.data(), bytes.size());
  }

 private:
  EndCore(std::shared_ptr<const MappedFile> file, CoreFile core);
  void ReadNotes(Bytes notes);
  void ReadThreadPointer(uint32_t type, Bytes content, int32_t tid);
  uint64_t SignalUnion() const;  // where what depends on the signal begins in its siginfo
  bool IsEmulators() const { return core_.files.empty() && signal_.empty(); }
  void FindPrivateMemory();
  // Where thread-local variables and what the kernel writes for a thread may be.
  bool IsNearThreadPointer(uint64_t address) const;

  std::shared_ptr<const MappedFile> file_;
  CoreFile core_;
  const CoreLayout* layout_;
  Bytes signal_;
  int32_t killed_tid_ = -1;
  std::map<int32_t, uint64_t> thread_pointers_;
  std::vector<uint64_t> pointers_;      // those, sorted
  std::vector<uint64_t> stacks_;        // addresses of the memory of the threads' stacks, sorted
  std::set<std::string> code_files_;    // programs and libraries
  std::map<int32_t, Bytes> registers_;  // by thread, as the kernel's struct has them
  bool living_ = false;
  bool keeps_memory_ = false;
  std::map<int32_t, uint64_t> places_;  // where it is living
};

}  // namespace flowback
