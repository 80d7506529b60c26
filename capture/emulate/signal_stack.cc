// SPDX-License-Identifier: MIT
#include "capture/emulate/signal_stack.h"

#include <array>

namespace flowback::emulate {

bool AlignSignalStack(GuestRegisters& registers, const GuestMemory& memory) {
  constexpr uint64_t kStep = 8;
  constexpr uint64_t kInfoSize = 128;
  if (registers.rsp % 16 != 0 || !ReadOneSignalFrame(registers, memory)) return false;
  // The return address, the ucontext and the siginfo, in that order. The processor's state lies
  // behind them, and the ucontext has its address: it stays where it is.
  std::array<uint8_t, 1024> frame{};
  const uint64_t size = registers.rsi + kInfoSize - registers.rsp;
  if (size > frame.size() || !memory.Read(registers.rsp, frame.data(), size)) return false;
  if (!memory.Write(registers.rsp - kStep, frame.data(), size)) return false;
  registers.rsp -= kStep;
  registers.rsi -= kStep;
  registers.rdx -= kStep;
  return true;
}

}  // namespace flowback::emulate
