// SPDX-License-Identifier: MIT
// Reading the guest's registers and memory. The memory is this process's own.
#include "capture/emulate/guest.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>

#include "capture/emulate/signal_stack.h"

namespace flowback::emulate {
namespace {

constexpr uint64_t kHandler = 0x5000;
constexpr uint64_t kCode = 0x6000;

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

TEST(GuestMemory, ReadsWhatIsThereOnly) {
  const GuestMemory memory;
  const uint64_t word = 42;
  EXPECT_EQ(memory.Word(AddressOf(&word)), 42u);
  EXPECT_EQ(memory.Word(8), std::nullopt);
  const char text[] = "hello";
  EXPECT_EQ(memory.Text(AddressOf(text), 100), "hello");
  EXPECT_EQ(memory.Text(AddressOf(text), 3), std::nullopt);
  EXPECT_EQ(memory.Text(8, 100), std::nullopt);
}

TEST(GuestMemory, ListsOfTexts) {
  const GuestMemory memory;
  const char* const words[] = {"a", "", "ccc", nullptr};
  EXPECT_EQ(memory.Texts(AddressOf(words)), (std::vector<std::string>{"a", "", "ccc"}));
  EXPECT_EQ(memory.Texts(0), std::vector<std::string>{});
  const char* const bad[] = {"a", reinterpret_cast<const char*>(8), nullptr};
  EXPECT_EQ(memory.Texts(AddressOf(bad)), std::nullopt);
}

TEST(GuestMemory, RefusesMoreTextThanTheKernelTakes) {
  const GuestMemory memory;
  const std::string text(100'000, 'a');
  std::vector<const char*> words(200, text.c_str());
  words.push_back(nullptr);
  EXPECT_EQ(memory.Texts(AddressOf(words.data())), std::nullopt);
}

// A signal's frame as the kernel lays it: return address, ucontext, siginfo.
struct Frame {
  explicit Frame(uint64_t ip, int signal, int code) {
    registers[16] = ip;
    info[0] = signal;
    info[2] = code;
  }
  GuestRegisters AtHandler(int signal) const {
    GuestRegisters result{};
    result.rsp = AddressOf(this);
    result.rdi = static_cast<uint64_t>(signal);
    result.rsi = AddressOf(info);
    result.rdx = AddressOf(context);
    return result;
  }
  // As if another signal came before the handler's first instruction.
  void SaveHandler(const GuestRegisters& handler) {
    registers[8] = handler.rdi;
    registers[9] = handler.rsi;
    registers[12] = handler.rdx;
    registers[15] = handler.rsp;
  }

  uint64_t return_address = 0;
  uint64_t context[5] = {};
  uint64_t registers[23] = {};
  int info[32] = {};
};

bool IsHandler(uint64_t ip) { return ip == kHandler; }

TEST(SignalFrame, TellsWhereAndWhetherAFault) {
  const GuestMemory memory;
  const Frame fault(kCode, SIGSEGV, SEGV_MAPERR);
  auto found = ReadSignalFrame(fault.AtHandler(SIGSEGV), memory, IsHandler);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ip, kCode);
  EXPECT_EQ(found->signal, SIGSEGV);
  EXPECT_EQ(found->fault, true);
  const Frame sent(kCode, SIGSEGV, SI_USER);
  EXPECT_EQ(ReadSignalFrame(sent.AtHandler(SIGSEGV), memory, IsHandler)->fault, false);
  const Frame without_info(kCode, 0, 0);
  EXPECT_EQ(ReadSignalFrame(without_info.AtHandler(SIGSEGV), memory, IsHandler)->fault,
            std::nullopt);
  EXPECT_EQ(ReadSignalFrame(without_info.AtHandler(SIGALRM), memory, IsHandler)->fault, false);
}

TEST(SignalFrame, OfSeveralTheInnermostInterruption) {
  const GuestMemory memory;
  const Frame first(kCode, SIGALRM, SI_USER);
  Frame second(kHandler, SIGUSR1, SI_USER);
  second.SaveHandler(first.AtHandler(SIGALRM));
  const auto found = ReadSignalFrame(second.AtHandler(SIGUSR1), memory, IsHandler);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ip, kCode);
  EXPECT_EQ(found->signal, SIGALRM);
}

TEST(SignalFrame, AHandlerCalledAsAFunctionHasNone) {
  const GuestMemory memory;
  const Frame frame(kCode, SIGALRM, SI_USER);
  GuestRegisters registers = frame.AtHandler(SIGALRM);
  registers.rdx += 8;
  EXPECT_EQ(ReadSignalFrame(registers, memory, IsHandler), std::nullopt);
  registers = frame.AtHandler(65);
  EXPECT_EQ(ReadSignalFrame(registers, memory, IsHandler), std::nullopt);
  registers = frame.AtHandler(SIGALRM);
  registers.rsp = 0x100;  // no memory
  registers.rdx = 0x108;
  EXPECT_EQ(ReadSignalFrame(registers, memory, IsHandler), std::nullopt);
}

// On a stack of its own, as the kernel lays it (a call's alignment) or 8 bytes higher.
struct StackOfHandler {
  explicit StackOfHandler(uint64_t offset)
      : frame(new(bytes + 64 + offset) Frame(kCode, SIGALRM, SI_USER)) {
    frame->return_address = 0x7777;
  }
  alignas(16) uint8_t bytes[1024] = {};
  Frame* frame;
};

TEST(SignalStack, IsMovedToWhereTheKernelHasIt) {
  const GuestMemory memory;
  const StackOfHandler stack(0);
  GuestRegisters registers = stack.frame->AtHandler(SIGALRM);
  const GuestRegisters before = registers;
  ASSERT_EQ(before.rsp % 16, 0u);
  EXPECT_TRUE(AlignSignalStack(registers, memory));
  EXPECT_EQ(registers.rsp, before.rsp - 8);
  EXPECT_EQ(registers.rsi, before.rsi - 8);
  EXPECT_EQ(registers.rdx, before.rdx - 8);
  EXPECT_EQ(registers.rdi, before.rdi);
  EXPECT_EQ(memory.Word(registers.rsp), 0x7777u);
  const auto found = ReadSignalFrame(registers, memory, IsHandler);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ip, kCode);
  EXPECT_FALSE(AlignSignalStack(registers, memory)) << "once only";
}

TEST(SignalStack, StaysWhereItIsRight) {
  const GuestMemory memory;
  const StackOfHandler stack(8);
  GuestRegisters registers = stack.frame->AtHandler(SIGALRM);
  EXPECT_FALSE(AlignSignalStack(registers, memory));
  EXPECT_EQ(registers.rsp, AddressOf(stack.frame));
}

TEST(SignalStack, StaysWhereAHandlerWasCalledAsAFunction) {
  const GuestMemory memory;
  const StackOfHandler stack(0);
  GuestRegisters registers = stack.frame->AtHandler(SIGALRM);
  registers.rdx += 8;
  EXPECT_FALSE(AlignSignalStack(registers, memory));
}

TEST(ProgramStart, HasArgumentsOnItsStack) {
  const GuestMemory memory;
  const uint64_t stack[] = {2, AddressOf("name"), AddressOf("argument"), 0, 0};
  GuestRegisters registers{};
  registers.rsp = AddressOf(stack);
  registers.from_r8[8] = kCode;
  EXPECT_EQ(CountAtProgramStart(registers, memory, kCode), 16u);
  EXPECT_EQ(registers.Rip(16), kCode);
  EXPECT_EQ(CountAtProgramStart(registers, memory, kCode + 1), 0u);
  const uint64_t wrong[] = {1, AddressOf("name"), AddressOf("argument"), 0, 0};
  registers.rsp = AddressOf(wrong);
  EXPECT_EQ(CountAtProgramStart(registers, memory, kCode), 0u);
  registers.rsp = 8;
  EXPECT_EQ(CountAtProgramStart(registers, memory, kCode), 0u);
}

// As QEMU 11 has them.
TEST(ProgramStart, ThirtyTwoRegistersStandBeforeTheInstructionPointer) {
  const GuestMemory memory;
  const uint64_t stack[] = {0, 0, 0};
  GuestRegisters registers{};
  registers.rsp = AddressOf(stack);
  registers.from_r8[24] = kCode;
  EXPECT_EQ(CountAtProgramStart(registers, memory, kCode), 32u);
  EXPECT_EQ(registers.Rip(32), kCode);
}

}  // namespace
}  // namespace flowback::emulate
