// SPDX-License-Identifier: MIT
#include "capture/emulate/guest.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace flowback::emulate {
namespace {

constexpr uint64_t kPage = 4096;

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
  const auto end = memory.Word(stack + 8 * (*count + 1));
  const auto first = memory.Word(stack + 8);
  if (!end || *end != 0 || !first) return false;
  return *count == 0 || memory.Text(*first, 32 * kPage).has_value();
}

}  // namespace

bool MayBeFault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGTRAP;
}

bool GuestMemory::Read(uint64_t address, void* out, uint64_t size) const {
  const iovec local{out, size};
  const iovec remote{reinterpret_cast<void*>(address + base_), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<uint64_t> GuestMemory::Word(uint64_t address) const {
  uint64_t word = 0;
  return Read(address, &word, sizeof word) ? std::optional(word) : std::nullopt;
}

std::optional<std::string> GuestMemory::Text(uint64_t address, uint64_t limit) const {
  std::string text;
  // Page by page: what comes after the text may not be readable.
  while (text.size() < limit) {
    char part[kPage];
    const uint64_t at = address + text.size();
    const uint64_t size =
        std::min({uint64_t{sizeof part}, kPage - at % kPage, limit - text.size()});
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
  constexpr uint64_t kMaxText = 32 * kPage;
  constexpr uint64_t kMaxTotal = 8u << 20;
  std::vector<std::string> texts;
  uint64_t total = 0;
  if (address == 0) return texts;
  for (;; address += sizeof(uint64_t)) {
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
  for (const unsigned count : {16u, 32u})
    if (registers.Rip(count) == start) return count;
  return 0;
}

}  // namespace flowback::emulate
