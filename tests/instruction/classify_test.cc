// SPDX-License-Identifier: MIT
#include "decode/instruction/classify.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace flowback {
namespace {

using enum InstructionClass;
using enum CodeMode;
using Code = std::vector<uint8_t>;

struct Case {
  const char* name;
  Code code;
  InstructionClass kind;
  uint8_t flags = 0;
  CodeMode mode = kX86_64;
  int64_t displacement = 0;
  uint64_t mask = ~uint64_t{0};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr uint64_t kMask16 = 0xffff;
constexpr uint64_t kMask32 = 0xffffffff;

class ClassifyCase : public testing::TestWithParam<Case> {};

TEST_P(ClassifyCase, LengthClassFlagsAndTarget) {
  const Case& c = GetParam();
  Code code = c.code;
  Instruction out;
  ASSERT_TRUE(Classify(code, c.mode, out));
  EXPECT_EQ(out.length, c.code.size());
  EXPECT_EQ(out.kind, c.kind);
  EXPECT_EQ(out.flags, c.flags);
  EXPECT_EQ(out.displacement, c.displacement);
  EXPECT_EQ(out.target_mask, IsDirect(c.kind) ? c.mask : ~uint64_t{0});
  // What follows changes nothing.
  code.resize(code.size() + 20, 0xcc);
  Instruction with_more;
  ASSERT_TRUE(Classify(code, c.mode, with_more));
  EXPECT_EQ(with_more.length, c.code.size());
  EXPECT_EQ(with_more.kind, c.kind);
  // Cut anywhere, it is no instruction, or a shorter one for bytes that allow it.
  for (size_t size = 0; size < c.code.size(); ++size) {
    Instruction cut;
    const bool shorter = Classify(Bytes(c.code).first(size), c.mode, cut);
    EXPECT_TRUE(!shorter || cut.length <= size);
  }
}

const Case kBranches[] = {
    {"jo", {0x70, 0x7f}, kConditional, 0, kX86_64, 127},
    {"jg", {0x7f, 0x80}, kConditional, 0, kX86_64, -128},
    {"jne near", {0x0f, 0x85, 1, 0, 0, 0x80}, kConditional, 0, kX86_64, -0x7fffffff},
    {"bnd je", {0xf2, 0x74, 2}, kConditional, 0, kX86_64, 2},
    {"je, hinted taken", {0x3e, 0x74, 2}, kConditional, 0, kX86_64, 2},
    {"jrcxz", {0xe3, 0xfe}, kConditional, 0, kX86_64, -2},
    {"jecxz", {0x67, 0xe3, 5}, kConditional, 0, kX86_64, 5},
    {"loop", {0xe2, 0xfc}, kConditional, 0, kX86_64, -4},
    {"loope", {0xe1, 0xfc}, kConditional, 0, kX86_64, -4},
    {"loopne", {0xe0, 0xfc}, kConditional, 0, kX86_64, -4},
    {"jmp short", {0xeb, 0xfe}, kJump, 0, kX86_64, -2},
    {"jmp near", {0xe9, 0, 1, 0, 0}, kJump, 0, kX86_64, 0x100},
    {"bnd jmp", {0xf2, 0xe9, 0, 1, 0, 0}, kJump, 0, kX86_64, 0x100},
    {"rex jmp", {0x48, 0xe9, 0, 1, 0, 0}, kJump, 0, kX86_64, 0x100},
    {"call", {0xe8, 0, 1, 0, 0}, kCall, 0, kX86_64, 0x100},
    {"call next", {0xe8, 0, 0, 0, 0}, kCall, kFlagZeroCall},
    // Intel ignores the operand size prefix there; AMD would read 16 bits.
    {"call with 66", {0x66, 0xe8, 0, 1, 0, 0}, kCall, 0, kX86_64, 0x100},
    {"jmp with 66", {0x66, 0xe9, 0, 1, 0, 0}, kJump, 0, kX86_64, 0x100},
    {"jne with 66", {0x66, 0x0f, 0x85, 0, 1, 0, 0}, kConditional, 0, kX86_64, 0x100},
    {"data16 rex.w call, as in TLS code",
     {0x66, 0x66, 0x48, 0xe8, 4, 0, 0, 0},
     kCall,
     0,
     kX86_64,
     4},
    {"call r/m", {0xff, 0xd0}, kIndirectCall},
    {"call [rip]", {0xff, 0x15, 1, 2, 3, 4}, kIndirectCall},
    {"call r11", {0x41, 0xff, 0xd3}, kIndirectCall},
    {"notrack call", {0x3e, 0xff, 0xd0}, kIndirectCall},
    {"addr32 call", {0x67, 0xff, 0x10}, kIndirectCall},
    {"jmp r/m", {0xff, 0xe0}, kIndirectJump},
    {"notrack jmp table", {0x3e, 0xff, 0x24, 0xc5, 0, 0, 0, 0}, kIndirectJump},
    {"bnd jmp [rip]", {0xf2, 0xff, 0x25, 1, 2, 3, 4}, kIndirectJump},
    {"ret", {0xc3}, kReturn},
    {"ret imm", {0xc2, 8, 0}, kReturn},
    {"rep ret", {0xf3, 0xc3}, kReturn},
    {"bnd ret", {0xf2, 0xc3}, kReturn},
    {"rex.w ret", {0x48, 0xc3}, kReturn},
    {"call far [mem]", {0xff, 0x18}, kFarCall},
    {"rex.w call far [mem]", {0x48, 0xff, 0x18}, kFarCall},
    {"jmp far [mem]", {0xff, 0x28}, kFarJump},
    {"retf", {0xcb}, kFarReturn},
    {"rex.w retf", {0x48, 0xcb}, kFarReturn},
    {"retf imm", {0xca, 8, 0}, kFarReturn},
    {"iretd", {0xcf}, kFarReturn},
    {"iretq", {0x48, 0xcf}, kFarReturn},
    {"syscall", {0x0f, 0x05}, kFarCall, kFlagSyscall},
    {"sysenter", {0x0f, 0x34}, kFarCall, kFlagSyscall},
    {"sysret", {0x0f, 0x07}, kFarReturn},
    {"sysretq", {0x48, 0x0f, 0x07}, kFarReturn},
    {"sysexit", {0x0f, 0x35}, kFarReturn},
    {"int n", {0xcd, 0x80}, kFarCall, kFlagSyscall},
    {"int3", {0xcc}, kFarCall, kFlagSyscall},
    {"int1", {0xf1}, kFarCall, kFlagSyscall},
    {"uiret", {0xf3, 0x0f, 0x01, 0xec}, kFarReturn},
    {"eretu", {0xf3, 0x0f, 0x01, 0xca}, kFarReturn},
    {"erets", {0xf2, 0x0f, 0x01, 0xca}, kFarReturn},
    {"vmlaunch", {0x0f, 0x01, 0xc2}, kFarReturn, kFlagVmEntry},
    {"vmresume", {0x0f, 0x01, 0xc3}, kFarReturn, kFlagVmEntry},
    {"rsm", {0x0f, 0xaa}, kFarReturn},
};
INSTANTIATE_TEST_SUITE_P(Branches, ClassifyCase, testing::ValuesIn(kBranches));

const Case kBinding[] = {
    {"ptwrite r32", {0xf3, 0x0f, 0xae, 0xe0}, kOther, kFlagPtwrite},
    {"ptwrite r64", {0xf3, 0x48, 0x0f, 0xae, 0xe0}, kOther, kFlagPtwrite},
    {"ptwrite mem", {0xf3, 0x0f, 0xae, 0x20}, kOther, kFlagPtwrite},
    {"mov cr3", {0x0f, 0x22, 0xd8}, kOther, kFlagMovCr3},
    {"mov cr3, r8", {0x41, 0x0f, 0x22, 0xd8}, kOther, kFlagMovCr3},
    {"vmptrld", {0x0f, 0xc7, 0x30}, kOther, kFlagVmPtrld},
    {"rep movsb", {0xf3, 0xa4}, kOther, kFlagRep},
    {"rep movsq", {0xf3, 0x48, 0xa5}, kOther, kFlagRep},
    {"repe cmpsb", {0xf3, 0xa6}, kOther, kFlagRep},
    {"repne scasb", {0xf2, 0xae}, kOther, kFlagRep},
    {"rep stosd", {0xf3, 0xab}, kOther, kFlagRep},
    {"rep lodsb", {0xf3, 0xac}, kOther, kFlagRep},
    {"rep insb", {0xf3, 0x6c}, kOther, kFlagRep},
    {"rep outsd", {0xf3, 0x6f}, kOther, kFlagRep},
};
INSTANTIATE_TEST_SUITE_P(Binding, ClassifyCase, testing::ValuesIn(kBinding));

// Neighbours of the above, and what is no branch to Intel PT though it may look like one.
const Case kOthers[] = {
    {"xsave, not ptwrite", {0x0f, 0xae, 0x20}, kOther},
    {"clwb, not ptwrite", {0x66, 0x0f, 0xae, 0x30}, kOther},
    {"incsspq, not ptwrite", {0xf3, 0x48, 0x0f, 0xae, 0xe8}, kOther},
    {"tpause", {0x66, 0x0f, 0xae, 0xf0}, kOther},
    {"umwait", {0xf2, 0x0f, 0xae, 0xf0}, kOther},
    {"mov cr4", {0x0f, 0x22, 0xe0}, kOther},
    {"mov from cr3", {0x0f, 0x20, 0xd8}, kOther},
    {"mov dr3", {0x0f, 0x23, 0xd8}, kOther},
    {"vmclear, not vmptrld", {0x66, 0x0f, 0xc7, 0x30}, kOther},
    {"vmxon, not vmptrld", {0xf3, 0x0f, 0xc7, 0x30}, kOther},
    {"rdrand, not vmptrld", {0x0f, 0xc7, 0xf0}, kOther},
    {"senduipi", {0xf3, 0x0f, 0xc7, 0xf0}, kOther},
    {"clac, not eretu", {0x0f, 0x01, 0xca}, kOther},
    {"stui, not uiret", {0xf3, 0x0f, 0x01, 0xef}, kOther},
    {"vmcall", {0x0f, 0x01, 0xc1}, kOther},
    {"vmfunc", {0x0f, 0x01, 0xd4}, kOther},
    {"movsb without rep", {0xa4}, kOther},
    {"test al, between the strings", {0xf3, 0xa8, 1}, kOther},
    {"xbegin", {0xc7, 0xf8, 0, 1, 0, 0}, kOther},
    {"xbegin rel16", {0x66, 0xc7, 0xf8, 0, 1}, kOther},
    {"xend", {0x0f, 0x01, 0xd5}, kOther},
    {"xabort", {0xc6, 0xf8, 1}, kOther},
    {"ud2", {0x0f, 0x0b}, kOther},
    {"ud1", {0x0f, 0xb9, 0xc0}, kOther},
    {"ud0", {0x0f, 0xff, 0xc0}, kOther},
    {"hlt", {0xf4}, kOther},
    {"mwait", {0x0f, 0x01, 0xc9}, kOther},
    {"pause", {0xf3, 0x90}, kOther},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, kOther},
    {"push [mem]", {0xff, 0x30}, kOther},
    {"inc", {0xff, 0xc0}, kOther},
    {"enclu", {0x0f, 0x01, 0xd7}, kOther},
    {"wrmsr", {0x0f, 0x30}, kOther},
    {"avx-512 vptestnmb", {0x62, 0xb2, 0x46, 0x21, 0x26, 0xc7}, kOther},
    {"vex with opcode e8", {0xc5, 0xf9, 0xe8, 0xc1}, kOther},
    {"long nop", {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, kOther},
    {"fifteen bytes",
     {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
     kOther},
};
INSTANTIATE_TEST_SUITE_P(Others, ClassifyCase, testing::ValuesIn(kOthers));

const Case kOldModes[] = {
    {"call", {0xe8, 0, 1, 0, 0}, kCall, 0, kX86_32, 0x100, kMask32},
    {"call with 66", {0x66, 0xe8, 0, 0xff}, kCall, 0, kX86_32, -0x100, kMask16},
    {"jne with 66", {0x66, 0x0f, 0x85, 0, 1}, kConditional, 0, kX86_32, 0x100, kMask16},
    {"jne short with 66", {0x66, 0x75, 5}, kConditional, 0, kX86_32, 5, kMask16},
    {"call next with 66", {0x66, 0xe8, 0, 0}, kCall, kFlagZeroCall, kX86_32, 0, kMask16},
    {"call 16", {0xe8, 0, 1}, kCall, 0, kX86_16, 0x100, kMask16},
    {"call 16 with 66", {0x66, 0xe8, 0, 1, 0, 0}, kCall, 0, kX86_16, 0x100, kMask32},
    {"jmp short 16", {0xeb, 0xfe}, kJump, 0, kX86_16, -2, kMask16},
    {"loop 16", {0xe2, 0xfe}, kConditional, 0, kX86_16, -2, kMask16},
    {"jcxz", {0x67, 0xe3, 5}, kConditional, 0, kX86_32, 5, kMask32},
    {"jecxz in 16 bits", {0x67, 0xe3, 5}, kConditional, 0, kX86_16, 5, kMask16},
    {"call far", {0x9a, 1, 2, 3, 4, 5, 6}, kFarCall, 0, kX86_32},
    {"jmp far", {0xea, 1, 2, 3, 4, 5, 6}, kFarJump, 0, kX86_32},
    {"jmp far 16", {0xea, 1, 2, 3, 4}, kFarJump, 0, kX86_16},
    {"ret", {0xc3}, kReturn, 0, kX86_32},
    {"ret with 66", {0x66, 0xc3}, kReturn, 0, kX86_32},
    {"int 80", {0xcd, 0x80}, kFarCall, kFlagSyscall, kX86_32},
    {"into is no transfer by itself", {0xce}, kOther, 0, kX86_32},
    {"sysenter", {0x0f, 0x34}, kFarCall, kFlagSyscall, kX86_32},
    {"syscall", {0x0f, 0x05}, kFarCall, kFlagSyscall, kX86_32},  // AMD's vDSO for 32-bit programs
    {"iret", {0xcf}, kFarReturn, 0, kX86_16},
    {"inc eax, not rex", {0x40}, kOther, 0, kX86_32},
    {"lds, not vex", {0xc5, 0x00}, kOther, 0, kX86_32},
    {"bound, not evex", {0x62, 0x00}, kOther, 0, kX86_32},
    {"aad, not rex2", {0xd5, 0x0a}, kOther, 0, kX86_32},
    {"mov cr3", {0x0f, 0x22, 0xd8}, kOther, kFlagMovCr3, kX86_16},
    {"ptwrite", {0xf3, 0x0f, 0xae, 0xe0}, kOther, kFlagPtwrite, kX86_32},
    {"call [bx]", {0xff, 0x17}, kIndirectCall, 0, kX86_16},
};
INSTANTIATE_TEST_SUITE_P(OldModes, ClassifyCase, testing::ValuesIn(kOldModes));

// Zydis 4.0 knows none of these.
const Case kNewerThanZydis[] = {
    {"jmpabs gets a TIP", {0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, kIndirectJump},
    {"call r24", {0xd5, 0x11, 0xff, 0xd0}, kIndirectCall},
    {"jmp r16", {0xd5, 0x10, 0xff, 0xe0}, kIndirectJump},
    {"lock rex2 add", {0xf0, 0xd5, 0x11, 0x01, 0x07}, kOther},
    {"evex add with a new destination", {0x62, 0xf4, 0x7c, 0x18, 0x01, 0xc0}, kOther},
    {"push2", {0x62, 0xf4, 0x7c, 0x18, 0xff, 0xf0}, kOther},
    {"ccmp", {0x62, 0xf4, 0x04, 0x02, 0x39, 0xc0}, kOther},
    {"wrmsrns", {0x0f, 0x01, 0xc6}, kOther},
    {"lkgs", {0xf2, 0x0f, 0x00, 0xf0}, kOther},
    {"vpdpbssd", {0xc4, 0xe2, 0x77, 0x50, 0xc2}, kOther},
    {"cmpoxadd, not jo", {0xc4, 0xe2, 0x79, 0xe0, 0x07}, kOther},
};
INSTANTIATE_TEST_SUITE_P(NewerThanZydis, ClassifyCase, testing::ValuesIn(kNewerThanZydis));

class NoInstruction : public testing::TestWithParam<Case> {};

TEST_P(NoInstruction, IsRefused) {
  Instruction out;
  EXPECT_FALSE(Classify(GetParam().code, GetParam().mode, out));
}

const Case kNone[] = {
    {"nothing", {}, kOther},
    {"push es in 64-bit mode", {0x06, 0x90}, kOther},
    {"call far in 64-bit mode", {0x9a, 1, 2, 3, 4, 5, 6}, kOther},
    {"into in 64-bit mode", {0xce, 0x90}, kOther},
    {"lock before a jump", {0xf0, 0xff, 0xe0}, kOther},
    {"a prefix alone", {0x66}, kOther},
    {"prefixes alone", {0xf0, 0xf2, 0xf3, 0xf0}, kOther},
    {"sixteen bytes",
     {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
     kOther},
    {"rex2 before jcc", {0xd5, 0x00, 0x74, 0x00}, kOther},
    {"rex2 before call", {0xd5, 0x00, 0xe8, 0, 0, 0, 0}, kOther},
    {"cut call", {0xe8, 1, 2, 3}, kOther},
};
INSTANTIATE_TEST_SUITE_P(None, NoInstruction, testing::ValuesIn(kNone));

Instruction Classified(const Code& code, CodeMode mode) {
  Instruction out;
  EXPECT_TRUE(Classify(code, mode, out));
  return out;
}

TEST(Target, OfEachMode) {
  EXPECT_EQ(Classified({0xeb, 0xfe}, kX86_64).Target(0x7fff12345678), 0x7fff12345678u);
  EXPECT_EQ(Classified({0xe9, 0, 0, 0, 0}, kX86_32).Target(0xfffffffe), 3u) << "wraps at 4 GiB";
  EXPECT_EQ(Classified({0x66, 0xe9, 0, 0}, kX86_32).Target(0x401000), 0x1004u) << "cut to 16 bits";
  // 16-bit code wraps inside its 64 KiB, wherever its segment starts.
  EXPECT_EQ(Classified({0xe9, 0, 0xf0}, kX86_16).Target(0x0100), 0xf103u);
  EXPECT_EQ(Classified({0xe9, 0, 0xf0}, kX86_16).Target(0xf0100), 0xff103u);
  EXPECT_EQ(Classified({0xeb, 0x10}, kX86_16).Target(0xf0100), 0xf0112u);
}

// Every first byte with random ones behind it: no crash, and a sensible length.
TEST(Classify, AnyBytes) {
  uint64_t state = 1;
  for (unsigned round = 0; round < 300'000; ++round) {
    uint8_t code[20];
    for (uint8_t& byte : code) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(state >> 56);
    }
    code[0] = static_cast<uint8_t>(round);
    const CodeMode mode = static_cast<CodeMode>(round % 3);
    Instruction out;
    if (!Classify(code, mode, out)) continue;
    ASSERT_GE(out.length, 1);
    ASSERT_LE(out.length, TraitsOf(mode).longest_instruction);
    // The same from exactly its bytes, and nothing from fewer.
    Instruction exact;
    ASSERT_TRUE(Classify(Bytes(code).first(out.length), mode, exact));
    ASSERT_EQ(exact.length, out.length);
    ASSERT_EQ(exact.kind, out.kind);
  }
}

TEST(Classify, FromManyThreads) {
  const Code newer = {0xd5, 0x11, 0xff, 0xd0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (unsigned i = 0; i < 2000; ++i) {
        Instruction out;
        ASSERT_TRUE(Classify(newer, kX86_64, out));
        ASSERT_EQ(out.kind, kIndirectCall);
      }
    });
}

}  // namespace
}  // namespace flowback
