// SPDX-License-Identifier: MIT
#include "decode/schedule/system_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

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

TEST(SystemCall, ANumberFromElsewhereIsNotKnown) {
  const Code code({0x90, 0x0f, 0x05}, {1, 2});
  EXPECT_FALSE(SystemCallOf(code.run()));
  EXPECT_TRUE(EndsInSystemCall(code.run()));
  // The bytes of a mov, which were not executed as one.
  const Code jumped({0xb8, 59, 0, 0, 0, 0x0f, 0x05}, {1, 2, 2, 2});
  EXPECT_FALSE(SystemCallOf(jumped.run()));
}

TEST(SystemCall, OtherInstructionsAreNone) {
  EXPECT_FALSE(EndsInSystemCall(Code({0xb8, 59, 0, 0, 0, 0x0f, 0x34}, {5, 2}).run()));  // SYSENTER
  EXPECT_FALSE(EndsInSystemCall(Code({0x0f, 0x05}, {2}, CodeMode::kX86_32).run()));
  EXPECT_FALSE(EndsInSystemCall(Code({0xc3}, {1}).run()));
  EXPECT_FALSE(EndsInSystemCall(BlockRun()));
}

}  // namespace
}  // namespace flowback
