// SPDX-License-Identifier: MIT
// Which register of an instruction is to blame for the address at which it failed.
#include "replay/crash/dump/fault.h"

#include <gtest/gtest.h>

#include <fstream>

#include "replay/debug/values/end_core.h"
#include "tests/code/temporary_folder.h"
#include "tests/support/core_writer.h"

namespace flowback {
namespace {

std::string_view Culprit(const std::optional<FaultAccess>& access) {
  return access && access->culprit ? access->operands[*access->culprit].name : "none";
}

FaultAccess OfAArch64(uint32_t word) {
  uint8_t code[4];
  for (unsigned i = 0; i < sizeof code; ++i) code[i] = static_cast<uint8_t>(word >> (8 * i));
  return AccessOf(code, 0x400000, CodeMode::kAArch64, {}, nullptr, -1).value_or(FaultAccess());
}

TEST(FaultAccess, IsByTheBaseThatTheInstructionCopiesFirst) {
  constexpr uint32_t kLoadPair = 0xa9410c02, kLoadAndAdd = 0xf8408441, kPush = 0xa9bf7bfd;
  EXPECT_EQ(Culprit(OfAArch64(kLoadPair)), "x0") << "ldp x2, x3, [x0, #16]";
  EXPECT_EQ(Culprit(OfAArch64(kLoadAndAdd)), "x2") << "ldr x1, [x2], #8";
  EXPECT_TRUE(OfAArch64(kPush).is_stack) << "stp x29, x30, [sp, #-16]!";
}

// mov eax, dword ptr [edi + 4], in 64-bit code: the upper half of the register does not count.
TEST(FaultAccess, IsCutToTheBitsOfTheAddress) {
  constexpr uint8_t kCode[] = {0x67, 0x8b, 0x47, 0x04};
  std::vector<uint8_t> bytes = WriteCore({});
  // In the first note, after one program header: the register rdi.
  constexpr size_t kRegister = 64 + 56 + 20 + 112 + 14 * 8;
  bytes[kRegister] = 0x10;
  bytes[kRegister + 4] = 0x7f;
  const TemporaryFolder folder;
  std::ofstream(folder / "core", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const auto core = EndCore::Open(folder / "core");
  ASSERT_TRUE(core) << core.error().message();
  ASSERT_EQ(core->Register(42, "rdi"), 0x7f00000010u);
  const auto access = AccessOf(kCode, 0x400000, CodeMode::kX86_64, {}, &*core, 42);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->address, 0x14u);
}

}  // namespace
}  // namespace flowback
