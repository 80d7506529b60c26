// SPDX-License-Identifier: MIT
#include "capture/emulate/guest.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace flowback::emulate {
namespace {

constexpr uint64_t kGuestPage = 4096;

// The kernel's frame for a signal handler, which the emulator imitates: the return address, then
// the ucontext. Offsets from the stack pointer; siginfo lies where RSI points.
constexpr uint64_t kContextAt = 8;
constexpr uint64_t kRegistersAt = kContextAt + 40;
constexpr unsigned kRdi = 8, kRsi = 9, kRbp = 10, kRbx = 11, kRdx = 12, kRax = 13, kRcx = 14,
                   kRsp = 15, kRip = 16, kRegisterCount = 17;

// Whether a program's arguments lie there: their number, their addresses, and a null.
bool HasArguments(uint64_t stack, const GuestMemory& memory) {
  constexpr uint64_t kMaxArguments = 1u << 20;
  const auto count = memory.Word(stack);
  if (!count || *count > kMaxArguments) return false;
  const uint64_t size = memory.word_size();
  const auto end = memory.Word(stack + size * (*count + 1));
  const auto first = memory.Word(stack + size);
  if (!end || *end != 0 || !first) return false;
  return *count == 0 || memory.Text(*first, 32 * kGuestPage).has_value();
}

// A 32-bit program's frame: the return address, the signal's number, and then for a handler that
// asked for a siginfo where that and the ucontext are, both in the frame; for others the registers.
namespace frame32 {
constexpr uint64_t kSignalAt = 4, kPlainRegistersAt = 8;
constexpr uint64_t kInfoAt = 16, kContextAt = kInfoAt + 128;
constexpr uint64_t kRegistersAt = kContextAt + 20;
// In the registers, words.
constexpr unsigned kEdi = 4, kEsi = 5, kEbp = 6, kEsp = 7, kEbx = 8, kEdx = 9, kEcx = 10, kEax = 11,
                   kEip = 14, kCs = 15, kEspAgain = 17, kCount = 18;

GuestRegisters RegistersOf(const uint32_t* saved) {
  GuestRegisters registers{};
  registers.rdi = saved[kEdi];
  registers.rsi = saved[kEsi];
  registers.rbp = saved[kEbp];
  registers.rbx = saved[kEbx];
  registers.rdx = saved[kEdx];
  registers.rax = saved[kEax];
  registers.rcx = saved[kEcx];
  registers.rsp = saved[kEsp];
  return registers;
}

// What the emulator passes in registers as well is not the same in all its versions.
std::optional<SignalFrame> Read(const GuestRegisters& registers, const GuestMemory& memory) {
  constexpr uint32_t kUserCode = 0x23;
  const uint64_t stack = registers.rsp;
  uint32_t head[3];  // signal, siginfo, ucontext
  uint32_t saved[kCount];
  if (!memory.Read(stack + kSignalAt, head, sizeof head)) return std::nullopt;
  if (head[0] == 0 || head[0] > 64) return std::nullopt;
  const bool has_info = head[1] == stack + kInfoAt && head[2] == stack + kContextAt;
  if (!memory.Read(stack + (has_info ? kRegistersAt : kPlainRegistersAt), saved, sizeof saved))
    return std::nullopt;
  if ((saved[kCs] & 0xffff) != kUserCode || saved[kEspAgain] != saved[kEsp]) return std::nullopt;
  SignalFrame frame{};
  frame.interruption.ip = saved[kEip];
  frame.interruption.signal = static_cast<int>(head[0]);
  frame.registers = RegistersOf(saved);
  int info[3] = {};  // si_signo, si_errno, si_code
  if (!MayBeFault(frame.interruption.signal))
    frame.interruption.fault = false;
  else if (has_info && memory.Read(head[1], info, sizeof info) &&
           info[0] == frame.interruption.signal)
    frame.interruption.fault = info[2] > 0;
  return frame;
}
}  // namespace frame32

// AArch64. The state begins with sixteen words of 32 bits, then X0 to X30, SP and PC. A handler's
// frame, to which SP points, has room for the siginfo and then the ucontext; X0 has the signal. For
// handlers that asked for a siginfo it is filled in, and X1 and X2 point to both.
namespace frame_arm {
constexpr size_t kStateX0 = 8, kStateSp = kStateX0 + 31, kStatePc = kStateSp + 1;  // in 8 bytes
constexpr uint64_t kContextAt = 128;
constexpr uint64_t kMachineAt = kContextAt + 176;  // fault address, X0 to X30, SP, PC, PSTATE
constexpr size_t kX0 = 1, kSp = 32, kPc = 33, kCount = 35;
constexpr unsigned kGeneral = 16;  // as if: where Rip finds PC

GuestRegisters Of(const uint64_t* general, uint64_t stack_pointer, uint64_t pc) {
  GuestRegisters registers{};
  registers.rdi = general[0];
  registers.rsi = general[1];
  registers.rdx = general[2];
  registers.rsp = stack_pointer;
  registers.from_r8[kGeneral - 8] = pc;
  return registers;
}

std::optional<SignalFrame> Read(const GuestRegisters& registers, const GuestMemory& memory) {
  const uint64_t signal = registers.rdi;
  uint64_t links[2];  // uc_flags, uc_link
  uint64_t saved[kCount];
  if (signal == 0 || signal > 64 || registers.rsp % 16 != 0) return std::nullopt;
  if (!memory.Read(registers.rsp + kContextAt, links, sizeof links) || links[0] != 0 ||
      links[1] != 0 || !memory.Read(registers.rsp + kMachineAt, saved, sizeof saved) ||
      saved[kPc] == 0 || saved[kPc] % 4 != 0)
    return std::nullopt;
  SignalFrame frame{};
  frame.interruption.ip = saved[kPc];
  frame.interruption.signal = static_cast<int>(signal);
  frame.registers = Of(saved + kX0, saved[kSp], saved[kPc]);
  int info[3] = {};  // si_signo, si_errno, si_code
  if (!MayBeFault(frame.interruption.signal))
    frame.interruption.fault = false;
  else if (memory.Read(registers.rsp, info, sizeof info) && info[0] == frame.interruption.signal)
    frame.interruption.fault = info[2] > 0;
  return frame;
}
}  // namespace frame_arm

}  // namespace

GuestRegisters ReadRegisters(const GuestRegisters* state, CodeMode mode) {
  if (mode == CodeMode::kX86_64) return *state;
  if (mode == CodeMode::kAArch64) {
    const auto* words = reinterpret_cast<const uint64_t*>(state);
    return frame_arm::Of(words + frame_arm::kStateX0, words[frame_arm::kStateSp],
                         words[frame_arm::kStatePc]);
  }
  uint32_t words[9];
  std::memcpy(words, state, sizeof words);
  return {words[0], words[1], words[2], words[3],  words[4],
          words[5], words[6], words[7], {words[8]}};
}

bool MayBeFault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGTRAP;
}

bool GuestMemory::Read(uint64_t address, void* out, uint64_t size) const {
  const iovec local{out, size};
  const iovec remote{reinterpret_cast<void*>(address + base_), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool GuestMemory::Write(uint64_t address, const void* bytes, uint64_t size) const {
  const iovec local{const_cast<void*>(bytes), size};
  const iovec remote{reinterpret_cast<void*>(address + base_), size};
  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<uint64_t> GuestMemory::Word(uint64_t address) const {
  uint64_t word = 0;  // the lower half comes first
  return Read(address, &word, word_size()) ? std::optional(word) : std::nullopt;
}

std::optional<std::string> GuestMemory::Text(uint64_t address, uint64_t limit) const {
  std::string text;
  // Page by page: what comes after the text may not be readable.
  while (text.size() < limit) {
    char part[kGuestPage];
    const uint64_t at = address + text.size();
    const uint64_t size =
        std::min({uint64_t{sizeof part}, kGuestPage - at % kGuestPage, limit - text.size()});
    if (!Read(at, part, size)) return std::nullopt;
    const void* end = std::memchr(part, 0, size);
    const uint64_t used =
        end == nullptr ? size : static_cast<uint64_t>(static_cast<const char*>(end) - part);
    text.append(part, used);
    if (end != nullptr) return text;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> GuestMemory::Texts(uint64_t address) const {
  // The kernel's own limits, of one and of all.
  constexpr uint64_t kMaxText = 32 * kGuestPage;
  constexpr uint64_t kMaxTotal = 8u << 20;
  std::vector<std::string> texts;
  uint64_t total = 0;
  if (address == 0) return texts;
  for (;; address += word_size()) {
    const auto pointer = Word(address);
    if (!pointer) return std::nullopt;
    if (*pointer == 0) return texts;
    auto text = Text(*pointer, kMaxText);
    if (!text || (total += text->size()) > kMaxTotal) return std::nullopt;
    texts.push_back(std::move(*text));
  }
}

std::optional<SignalFrame> ReadOneSignalFrame(const GuestRegisters& registers,
                                              const GuestMemory& memory) {
  if (memory.mode() == CodeMode::kX86_32) return frame32::Read(registers, memory);
  if (memory.mode() == CodeMode::kAArch64) return frame_arm::Read(registers, memory);
  if (registers.rdx != registers.rsp + kContextAt) return std::nullopt;
  if (registers.rdi == 0 || registers.rdi > 64 || registers.rsi <= registers.rdx)
    return std::nullopt;
  uint64_t saved[kRegisterCount];
  if (!memory.Read(registers.rsp + kRegistersAt, saved, sizeof saved)) return std::nullopt;
  SignalFrame frame{};
  frame.interruption.ip = saved[kRip];
  frame.interruption.signal = static_cast<int>(registers.rdi);
  frame.registers.rdi = saved[kRdi];
  frame.registers.rsi = saved[kRsi];
  frame.registers.rbp = saved[kRbp];
  frame.registers.rbx = saved[kRbx];
  frame.registers.rdx = saved[kRdx];
  frame.registers.rax = saved[kRax];
  frame.registers.rcx = saved[kRcx];
  frame.registers.rsp = saved[kRsp];
  if (!MayBeFault(frame.interruption.signal)) {
    frame.interruption.fault = false;
    return frame;
  }
  // The emulator fills in the siginfo only for handlers that asked for one.
  int info[3] = {};  // si_signo, si_errno, si_code
  if (memory.Read(registers.rsi, info, sizeof info) && info[0] == frame.interruption.signal)
    frame.interruption.fault = info[2] > 0;
  return frame;
}

unsigned CountAtProgramStart(const GuestRegisters& registers, const GuestMemory& memory,
                             uint64_t start) {
  if (!HasArguments(registers.rsp, memory)) return 0;
  if (memory.mode() == CodeMode::kX86_32) return registers.Rip(8) == start ? 8 : 0;
  if (memory.mode() == CodeMode::kAArch64)
    return registers.Rip(frame_arm::kGeneral) == start ? frame_arm::kGeneral : 0;
  for (const unsigned count : {16u, 32u})
    if (registers.Rip(count) == start) return count;
  return 0;
}

}  // namespace flowback::emulate
