// SPDX-License-Identifier: MIT
// Registers behind a handler, from stacks that are made here as the kernel lays them out.
#include "replay/calls/unwind/signal_frames.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace flowback {
namespace {

// Bytes by address.
class Memory {
 public:
  void Put(uint64_t address, std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) bytes_[address++] = byte;
  }
  void Word(uint64_t address, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes_[address + i] = static_cast<uint8_t>(value >> 8 * i);
  }
  ReadWord reader() const {
    return [this](uint64_t address, unsigned size) -> std::optional<uint64_t> {
      uint64_t value = 0;
      for (unsigned i = 0; i < size; ++i) {
        const auto byte = bytes_.find(address + i);
        if (byte == bytes_.end()) return std::nullopt;
        value |= uint64_t{byte->second} << 8 * i;
      }
      return value;
    };
  }

 private:
  std::map<uint64_t, uint8_t> bytes_;
};

struct Case {
  const char* name;
  CodeMode mode;
  std::vector<uint8_t> code;
  uint64_t registers;  // where they begin, from the stack pointer on
  unsigned word;
  unsigned words;          // so many, of which each has its number as its value
  unsigned counter;        // the number of the program counter
  unsigned stack_pointer;  // and that of the stack pointer, and DWARF's number of it
  unsigned dwarfs_pointer;
  uint64_t pointer_at = 0;  // a pointer to 20 bytes ahead of the registers lies there
};

TEST(SignalFrames, HaveTheRegistersWhereTheKernelPutsThem) {
  const std::vector<uint8_t> arm = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
  const Case cases[] = {
      {"x86-64",
       CodeMode::kX86_64,
       {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
       40,
       8,
       17,
       16,
       15,
       7},
      {"x86-64, short", CodeMode::kX86_64, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}, 40, 8, 17, 16, 15, 7},
      {"i386", CodeMode::kX86_32, {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, 4, 4, 15, 14, 7, 4},
      {"i386, siginfo",
       CodeMode::kX86_32,
       {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},
       300,
       4,
       15,
       14,
       7,
       4,
       8},
      {"AArch64", CodeMode::kAArch64, arm, 312, 8, 33, 32, 31, 31},
  };
  constexpr uint64_t kTrampoline = 0x1000, kStack = 0x8000;
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    Memory memory;
    memory.Put(kTrampoline, each.code);
    for (unsigned i = 0; i < each.words; ++i)
      memory.Word(kStack + each.registers + each.word * i, 0x100 + i, each.word);
    if (each.pointer_at != 0)
      memory.Word(kStack + each.pointer_at, kStack + each.registers - 20, each.word);
    EXPECT_FALSE(SignalReturnAt(each.mode, kTrampoline + 1, kStack, memory.reader()).is_there);
    const auto [is_there, found] = SignalReturnAt(each.mode, kTrampoline, kStack, memory.reader());
    ASSERT_TRUE(is_there);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->counter, 0x100 + each.counter);
    EXPECT_EQ(found->registers[each.dwarfs_pointer], 0x100 + each.stack_pointer);
    const auto elsewhere = SignalReturnAt(each.mode, kTrampoline, kStack + 4096, memory.reader());
    EXPECT_TRUE(elsewhere.is_there);
    EXPECT_FALSE(elsewhere.registers);
  }
}

}  // namespace
}  // namespace flowback
