// SPDX-License-Identifier: MIT
// Source of the layouts: the kernel's uapi headers sigcontext.h and ucontext.h of each machine, and
// what its signal.c pushes ahead of them.
#include "replay/calls/unwind/signal_frames.h"

#include <algorithm>
#include <span>

namespace flowback {
namespace {

// A trampoline, and the words behind it.
struct SignalFrame {
  CodeMode mode{};
  std::array<uint8_t, 9> code{};
  unsigned code_size = 0;
  // From the stack pointer: to the registers, or to a pointer from which they lie so far.
  uint64_t offset = 0;
  std::optional<uint64_t> behind_pointer{};
  unsigned word = 8;
  // What the words are: DWARF's numbers, or these.
  static constexpr int8_t kCounter = -1, kSkipped = -2;
  std::span<const int8_t> words;
};

constexpr int8_t kCounter = SignalFrame::kCounter, kSkipped = SignalFrame::kSkipped;
// r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip.
constexpr auto kWords64 =
    std::to_array<int8_t>({8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, kCounter});
// Four segments, di, si, bp, sp, bx, dx, cx, ax, the trap's number, its error, ip.
constexpr auto kWords32 = std::to_array<int8_t>(
    {kSkipped, kSkipped, kSkipped, kSkipped, 7, 6, 5, 4, 3, 2, 1, 0, kSkipped, kSkipped, kCounter});
// x0 to x30, sp, pc.
constexpr auto kWordsArm =
    std::to_array<int8_t>({0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,      16,
                           17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, kCounter});

constexpr uint64_t kSiginfo = 128;

const std::array kFrames = {
    // mov $15, %rax; syscall
    SignalFrame{.mode = CodeMode::kX86_64,
                .code = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05},
                .code_size = 9,
                .offset = 40,
                .words = kWords64},
    // mov $15, %eax; syscall
    SignalFrame{.mode = CodeMode::kX86_64,
                .code = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05},
                .code_size = 7,
                .offset = 40,
                .words = kWords64},
    // pop %eax; mov $119, %eax; int $0x80: of a handler without a siginfo
    SignalFrame{.mode = CodeMode::kX86_32,
                .code = {0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80},
                .code_size = 8,
                .offset = 4,
                .word = 4,
                .words = kWords32},
    // mov $173, %eax; int $0x80: the pointer to the ucontext is the third argument
    SignalFrame{.mode = CodeMode::kX86_32,
                .code = {0xb8, 0xad, 0x00, 0x00, 0x00, 0xcd, 0x80},
                .code_size = 7,
                .offset = 8,
                .behind_pointer = 20,
                .word = 4,
                .words = kWords32},
    // mov x8, #139; svc #0
    SignalFrame{.mode = CodeMode::kAArch64,
                .code = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4},
                .code_size = 8,
                .offset = kSiginfo + 184,
                .words = kWordsArm},
};

bool IsThere(const SignalFrame& frame, uint64_t address, const ReadWord& memory) {
  for (unsigned i = 0; i < frame.code_size; ++i)
    if (memory(address + i, 1) != frame.code[i]) return false;
  return true;
}

const SignalFrame* FrameAt(CodeMode mode, uint64_t address, const ReadWord& memory) {
  const auto frame = std::ranges::find_if(kFrames, [&](const SignalFrame& one) {
    return one.mode == mode && IsThere(one, address, memory);
  });
  return frame == kFrames.end() ? nullptr : &*frame;
}

std::optional<InterruptedRegisters> RegistersOf(const SignalFrame& frame, uint64_t stack_pointer,
                                                const ReadWord& memory) {
  uint64_t place = stack_pointer + frame.offset;
  if (frame.behind_pointer) {
    const auto pointer = memory(place, frame.word);
    if (!pointer) return std::nullopt;
    place = *pointer + *frame.behind_pointer;
  }
  InterruptedRegisters interrupted;
  for (const int8_t number : frame.words) {
    const auto value = memory(place, frame.word);
    place += frame.word;
    if (number == SignalFrame::kCounter && !value) return std::nullopt;
    if (number == SignalFrame::kCounter) interrupted.counter = *value;
    if (number >= 0) interrupted.registers[static_cast<size_t>(number)] = value;
  }
  return interrupted;
}

}  // namespace

SignalReturn SignalReturnAt(CodeMode mode, uint64_t address, std::optional<uint64_t> stack_pointer,
                            const ReadWord& memory) {
  const SignalFrame* const frame = FrameAt(mode, address, memory);
  if (frame == nullptr) return {};
  if (!stack_pointer) return {.is_there = true};
  return {.is_there = true, .registers = RegistersOf(*frame, *stack_pointer, memory)};
}

}  // namespace flowback
