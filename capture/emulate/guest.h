// SPDX-License-Identifier: MIT
// The emulated program's registers and memory, as far as the tracer must see them.
//
// Version 1 of the plugin interface gives no registers, later ones only slowly. But on an x86-64
// host, QEMU's generated code keeps the address of the CPU's state in RBP while it runs, calls our
// callback straight from there, and the state begins with the general registers in the processor's
// numbering, sixteen or (QEMU 11) thirty-two, and the instruction pointer. 32-bit programs have
// eight registers of 32 bits; of AArch64 programs only the stack pointer and PC are read. QEMU does
// not promise this, so it is checked where a program starts. Every conclusion from registers must
// agree with the program's memory or its flow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/model/instruction.h"

namespace flowback::emulate {

// The beginning of QEMU's CPU state.
struct GuestRegisters {
  uint64_t rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi;
  uint64_t from_r8[25];  // to r15 or r31, then the instruction pointer

  // Only between blocks up to date: not in a block's callback. `count` is the general registers'.
  uint64_t Rip(unsigned count) const { return from_r8[count - 8]; }
};

// Works for either emulator: `state` is the beginning of a CPU's state. A 32-bit CPU's state has
// nine zero-extended words; eight of them are general registers.
GuestRegisters ReadRegisters(const GuestRegisters* state, CodeMode mode);

// The memory of the emulated program, which is part of this process's at a distance.
class GuestMemory {
 public:
  explicit GuestMemory(CodeMode mode = CodeMode::kX86_64) : mode_(mode) {}

  // 64-bit or 32-bit: how long a word is.
  CodeMode mode() const { return mode_; }
  uint64_t word_size() const { return TraitsOf(mode_).bits / 8; }
  // Host address less guest address.
  void SetBase(uint64_t base) { base_ = base; }
  const uint8_t* HostAddress(uint64_t address) const {
    return reinterpret_cast<const uint8_t*>(address + base_);
  }
  uint64_t base() const { return base_; }

  // All of it or nothing; never faults.
  bool Read(uint64_t address, void* out, uint64_t size) const;
  // Writes to memory that the program may write to.
  bool Write(uint64_t address, const void* bytes, uint64_t size) const;
  std::optional<uint64_t> Word(uint64_t address) const;
  // Returns the text up to a NUL; empty: the first `limit` bytes have no NUL.
  std::optional<std::string> Text(uint64_t address, uint64_t limit) const;
  // An array of addresses of texts that ends with a null; nothing when the kernel would refuse it
  // as a program's arguments.
  std::optional<std::vector<std::string>> Texts(uint64_t address) const;

 private:
  CodeMode mode_;
  uint64_t base_ = 0;
};

// Where a signal took the thread away.
struct Interruption {
  uint64_t ip = 0;  // the instruction that would have come next, or that raised the fault
  int signal = 0;
  std::optional<bool> fault;  // the instruction at `ip` raised it; empty: not known
};

// Whether an instruction may raise the signal.
bool MayBeFault(int signal);

// Whether the thread stands at the first instruction of a signal handler, with the frame that the
// emulator lays on the stack for it. If several frames were laid at once, returns the innermost
// interruption. `is_handler`: whether a handler begins at an address.
template <class IsHandler>
std::optional<Interruption> ReadSignalFrame(const GuestRegisters& registers,
                                            const GuestMemory& memory, IsHandler is_handler);

// Returns the number of general registers, found where a program is about to run its first
// instruction, at `start`; 0: these are no such program's.
unsigned CountAtProgramStart(const GuestRegisters& registers, const GuestMemory& memory,
                             uint64_t start);

// ---- implementation ----

// A frame that the stack pointer points to. ReadOneSignalFrame returns nothing if it finds no
// frame.
struct SignalFrame {
  Interruption interruption;
  GuestRegisters registers;  // when interrupted
};
std::optional<SignalFrame> ReadOneSignalFrame(const GuestRegisters& registers,
                                              const GuestMemory& memory);

template <class IsHandler>
std::optional<Interruption> ReadSignalFrame(const GuestRegisters& registers,
                                            const GuestMemory& memory, IsHandler is_handler) {
  constexpr int kMaxFrames = 128;  // as many as there are signals, and more
  auto frame = ReadOneSignalFrame(registers, memory);
  for (int i = 0; frame && i < kMaxFrames && is_handler(frame->interruption.ip); ++i) {
    const auto outer = ReadOneSignalFrame(frame->registers, memory);
    if (!outer) break;
    frame = outer;
  }
  return frame ? std::optional(frame->interruption) : std::nullopt;
}

}  // namespace flowback::emulate
