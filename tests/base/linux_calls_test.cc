// SPDX-License-Identifier: MIT
// The numbers of system calls, held against the kernel's headers.
#include "base/linux/linux_calls.h"

#include <asm/unistd_64.h>
#include <gtest/gtest.h>

#include "base/linux/linux_call_names.h"
#include "tests/base/linux_call_numbers.h"

namespace flowback {

extern const int64_t kHeaderNumbersI386[];     // one for each row
extern const int64_t kHeaderNumbersAArch64[];  // the same

namespace {

struct Row {
  LinuxCall call;
  const char* name;
  int64_t header_number;
};
constexpr Row kRows[] = {
#define LINUX_CALL(id, name, ...) {LinuxCall::id, #name, __NR_##name},
#include "base/linux/linux_calls.def"
};

TEST(LinuxCalls, NumbersAreTheHeaders) {
  const int64_t* i386 = kHeaderNumbersI386;
  const int64_t* aarch64 = kHeaderNumbersAArch64;
  for (const Row& row : kRows) {
    EXPECT_EQ(NumberOf(row.call, LinuxAbi::kAArch64), *aarch64++) << row.name;
    EXPECT_EQ(NumberOf(row.call, LinuxAbi::kX86_64), row.header_number) << row.name;
    EXPECT_EQ(NumberOf(row.call, LinuxAbi::kI386), *i386++) << row.name;
  }
}

constexpr NamedNumber kHeaderCalls[] = {
#define LINUX_CALL_NAME(name, ...) {#name, __NR_##name},
#define LINUX_CALL_NAME_64(name, ...) {#name, __NR_##name},
#define LINUX_CALL_NAME_32(...)
#include "base/linux/linux_call_names.def"
};

TEST(LinuxCalls, NamesAreTheHeaders) {
  for (const NamedNumber& call : kHeaderCalls)
    EXPECT_EQ(LinuxCallName(call.number, LinuxAbi::kX86_64), call.name) << call.number;
  for (const NamedNumber& call : kHeaderCallsI386)
    EXPECT_EQ(LinuxCallName(call.number, LinuxAbi::kI386), call.name) << call.number;
  for (const NamedNumber& call : kHeaderCallsAArch64)
    EXPECT_EQ(LinuxCallName(call.number, LinuxAbi::kAArch64), call.name) << call.number;
  EXPECT_GT(kHeaderCallsAArch64.size(), 300u);
  EXPECT_GT(std::size(kHeaderCalls), 350u);
  EXPECT_GT(kHeaderCallsI386.size(), 430u);
  EXPECT_EQ(LinuxCallName(400, LinuxAbi::kX86_64), "") << "between the old and the new ones";
  EXPECT_EQ(LinuxCallName(UINT32_MAX, LinuxAbi::kX86_64), "");
}

TEST(LinuxCalls, ARenumberedCallIsTheSameOne) {
  for (const Row& row : kRows) {
    const int64_t i386 = NumberOf(row.call, LinuxAbi::kI386);
    EXPECT_EQ(Renumbered(i386, LinuxAbi::kI386, LinuxAbi::kX86_64), row.header_number) << row.name;
    EXPECT_EQ(Renumbered(row.header_number, LinuxAbi::kX86_64, LinuxAbi::kI386), i386) << row.name;
  }
  EXPECT_EQ(Renumbered(221, LinuxAbi::kAArch64, LinuxAbi::kX86_64), 59) << "execve";
  EXPECT_EQ(Renumbered(57, LinuxAbi::kX86_64, LinuxAbi::kAArch64), std::nullopt) << "fork";
  EXPECT_EQ(Renumbered(4, LinuxAbi::kI386, LinuxAbi::kX86_64), std::nullopt) << "write: no row";
  EXPECT_EQ(Renumbered(439, LinuxAbi::kI386, LinuxAbi::kX86_64), 439) << "faccessat2: no row";
}

TEST(LinuxCalls, ANumberMeansAnotherCallInTheOtherTable) {
  EXPECT_TRUE(IsOneOf(59, LinuxAbi::kX86_64, {LinuxCall::kExit, LinuxCall::kExecve}));
  EXPECT_FALSE(IsOneOf(59, LinuxAbi::kI386, {LinuxCall::kExit, LinuxCall::kExecve}));
  EXPECT_TRUE(IsOneOf(11, LinuxAbi::kI386, {LinuxCall::kExit, LinuxCall::kExecve}));
}

}  // namespace
}  // namespace flowback
