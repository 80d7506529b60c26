// SPDX-License-Identifier: MIT
#include "decode/instruction/disassemble.h"

#include <gtest/gtest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "decode/instruction/x86/disassemble.h"

namespace flowback {
namespace {

std::string Text(const std::vector<uint8_t>& code, CodeMode mode = CodeMode::kX86_64) {
  return Disassembler().Text(code, 0x401000, mode);
}

TEST(Disassembler, IntelSyntaxWithAbsoluteTargets) {
  EXPECT_EQ(Text({0x75, 0x03}), "jne 0x401005");
  EXPECT_EQ(Text({0xe8, 0, 1, 0, 0}), "call 0x401105");
  EXPECT_EQ(Text({0x48, 0x8d, 0x05, 0x10, 0, 0, 0}), "lea rax, [rip + 0x10]");
  EXPECT_EQ(Text({0xc3}), "ret");
  EXPECT_EQ(Text({0xf3, 0x48, 0xa5}), "rep movsq qword ptr [rdi], qword ptr [rsi]");
}

// The library's first use is where threads have met; each run of this test is one.
TEST(Disassembler, BeginsInManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  std::barrier start(kThreads);
  std::vector<std::string> texts(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::string& text : texts)
      threads.emplace_back([&] {
        const std::vector<uint8_t> code = {0x48, 0x8d, 0x05, 0x10, 0, 0, 0};
        Disassembler disassembler;
        start.arrive_and_wait();
        text = disassembler.Text(code, 0x401000, CodeMode::kX86_64);
      });
  }
  for (const std::string& text : texts) EXPECT_EQ(text, "lea rax, [rip + 0x10]");
}

TEST(Disassembler, EachMode) {
  EXPECT_EQ(Text({0x40}, CodeMode::kX86_32), "inc eax");
  EXPECT_EQ(Text({0x40}, CodeMode::kX86_16), "inc ax");
  EXPECT_EQ(Text({0x40, 0x90}), "nop");
}

TEST(Disassembler, ZydisWhereCapstoneIsWrong) {
  EXPECT_EQ(Text({0x66, 0x0f, 0xae, 0xf0}).substr(0, 6), "tpause") << "capstone: mfence";
  EXPECT_EQ(Text({0xf3, 0x48, 0x0f, 0xae, 0xe8}), "incsspq rax") << "capstone: lfence";
  EXPECT_EQ(Text({0x62, 0xb2, 0x46, 0x21, 0x26, 0xc7}).substr(0, 9), "vptestnmb")
      << "capstone: nothing";
}

TEST(Disassembler, LlvmWhereZydisKnowsNothing) {
  EXPECT_EQ(Text({0xf3, 0x0f, 0x01, 0xca}), "eretu") << "capstone: clac";
  EXPECT_EQ(Text({0xd5, 0x11, 0xff, 0xd0}), "call r24");
  EXPECT_EQ(Text({0xf0, 0xd5, 0x11, 0x01, 0x07}), "lock add dword ptr [r31], eax");
}

TEST(Disassembler, NoInstruction) {
  EXPECT_EQ(Text({}), "(bad)");
  EXPECT_EQ(Text({0x06, 0x06}), "(bad)");
  EXPECT_EQ(Text({0xe8, 1}), "(bad)");
}

TEST(Mnemonics, NamesOfOneInstruction) {
  EXPECT_TRUE(x86::AreSameMnemonic("je", "jz"));
  EXPECT_TRUE(x86::AreSameMnemonic("mov", "mov"));
  EXPECT_TRUE(x86::AreSameMnemonic("cmpltsd", "cmpsd"));
  EXPECT_TRUE(x86::AreSameMnemonic("vcmpnleps", "vcmpps"));
  EXPECT_FALSE(x86::AreSameMnemonic("cmpltss", "cmpsd"));
  EXPECT_FALSE(x86::AreSameMnemonic("lfence", "incsspq"));
  EXPECT_FALSE(x86::AreSameMnemonic("jne", "jz"));
  EXPECT_FALSE(x86::AreSameMnemonic("mov", ""));
}

}  // namespace
}  // namespace flowback
