// SPDX-License-Identifier: MIT
#include "decode/system_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

constexpr uint64_t kAddress = 0x1000;

class Code {
 public:
  Code(std::vector<uint8_t> bytes, std::vector<uint8_t> lengths, CodeMode mode = CodeMode::kX86_64)
      : lengths_(std::move(lengths)) {
    const auto kept = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    space_.Map({.address = kAddress,
                .size = kept->size(),
                .section = std::make_shared<const CodeSection>("code", 0, *kept, kept,
                                                               Verification::kUnverified)});
    run_.address = kAddress;
    run_.lengths = lengths_;
    run_.mode = mode;
    run_.space = &space_;
  }
  const BlockRun& run() const { return run_; }

 private:
  std::vector<uint8_t> lengths_;
  AddressSpace space_;
  BlockRun run_;
};

TEST(SystemCall, TheNumberIsThatOfTheMovBeforeIt) {
  const Code code({0xb8, 59, 0, 0, 0, 0x0f, 0x05}, {5, 2});
  ASSERT_TRUE(SystemCallOf(code.run()));
  EXPECT_EQ(SystemCallOf(code.run())->number, 59u);
  EXPECT_EQ(SystemCallOf(code.run())->abi, LinuxAbi::kX86_64);
  EXPECT_TRUE(EndsInSystemCall(code.run()));
}

TEST(SystemCall, Int80HasItsOwnNumbers) {
  const Code code({0x90, 0xb8, 11, 0, 0, 0, 0xcd, 0x80}, {1, 5, 2}, CodeMode::kX86_32);
  ASSERT_TRUE(SystemCallOf(code.run()));
  EXPECT_EQ(SystemCallOf(code.run())->number, 11u);
  EXPECT_EQ(SystemCallOf(code.run())->abi, LinuxAbi::kI386);
}

TEST(SystemCall, SvcGoesByAArch64sTable) {
  // mov x8, #221; mov x1, x2; svc #0
  const Code code({0xa8, 0x1b, 0x80, 0xd2, 0xe1, 0x03, 0x02, 0xaa, 0x01, 0x00, 0x00, 0xd4},
                  {4, 4, 4}, CodeMode::kAArch64);
  ASSERT_TRUE(SystemCallOf(code.run()));
  EXPECT_EQ(SystemCallOf(code.run())->number, 221u);
  EXPECT_EQ(SystemCallOf(code.run())->abi, LinuxAbi::kAArch64);
  EXPECT_TRUE(SystemCallOf(code.run())->IsOneOf({LinuxCall::kExecve}));
  EXPECT_TRUE(EndsInSystemCall(code.run()));
  const Code breakpoint({0xa8, 0x1b, 0x80, 0xd2, 0x00, 0x00, 0x20, 0xd4}, {4, 4},
                        CodeMode::kAArch64);  // brk #0
  EXPECT_FALSE(EndsInSystemCall(breakpoint.run()));
}

TEST(SystemCall, ANumberFromElsewhereIsNotKnown) {
  const Code code({0x90, 0x0f, 0x05}, {1, 2});
  EXPECT_FALSE(SystemCallOf(code.run()));
  EXPECT_TRUE(EndsInSystemCall(code.run()));
  // The bytes of a mov, which were not executed as one.
  const Code jumped({0xb8, 59, 0, 0, 0, 0x0f, 0x05}, {1, 2, 2, 2});
  EXPECT_FALSE(SystemCallOf(jumped.run()));
}

// As the C library's read has it, and as one that takes its arguments between the two.
TEST(SystemCall, TheNumberMayStandFurtherAhead) {
  const Code cleared({0x31, 0xc0, 0x0f, 0x05}, {2, 2});  // xor eax,eax
  ASSERT_TRUE(SystemCallOf(cleared.run()));
  EXPECT_EQ(SystemCallOf(cleared.run())->number, 0u);
  const Code ahead({0xb8, 9, 1, 0, 0, 0x4d, 0x89, 0xca, 0x48, 0x8d, 0x37, 0x0f, 0x05},
                   {5, 3, 3, 2});  // mov eax,265; mov r10,r9; lea rsi,[rdi]
  ASSERT_TRUE(SystemCallOf(ahead.run()));
  EXPECT_EQ(SystemCallOf(ahead.run())->number, 265u);
  // mov eax,59, and then something that changes a part of it, or may do.
  for (const std::vector<uint8_t>& change : {std::vector<uint8_t>{0xb0, 1},
                                             {0x66, 0x40},
                                             {0x0f, 0xa2},
                                             {0x0f, 0x44, 0xc1},
                                             {0xf7, 0xe1}}) {
    std::vector<uint8_t> bytes = {0xb8, 59, 0, 0, 0};
    bytes.insert(bytes.end(), change.begin(), change.end());
    bytes.insert(bytes.end(), {0x0f, 0x05});
    const Code changed(bytes, {5, static_cast<uint8_t>(change.size()), 2});
    EXPECT_FALSE(SystemCallOf(changed.run())) << int{change[0]};
  }
}

TEST(SystemCall, OtherInstructionsAreNone) {
  EXPECT_FALSE(EndsInSystemCall(Code({0xb8, 59, 0, 0, 0, 0x0f, 0x34}, {5, 2}).run()));  // SYSENTER
  EXPECT_FALSE(EndsInSystemCall(Code({0x0f, 0x05}, {2}, CodeMode::kX86_32).run()));
  EXPECT_FALSE(EndsInSystemCall(Code({0xc3}, {1}).run()));
  EXPECT_FALSE(EndsInSystemCall(BlockRun()));
}

}  // namespace
}  // namespace flowback
