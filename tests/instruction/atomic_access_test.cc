// SPDX-License-Identifier: MIT
#include "decode/instruction/atomic_access.h"

#include <gtest/gtest.h>

#include <vector>

#include "decode/instruction/effects.h"

namespace flowback {
namespace {

struct AtomicCase {
  const char* text;
  std::vector<uint8_t> code;
  bool atomic;
  CodeMode mode = CodeMode::kX86_64;
};

TEST(AtomicAccess, IsThatOfLockPrefixesAndOfXchgWithMemory) {
  const AtomicCase cases[] = {
      {"lock cmpxchg [rdi], edx", {0xf0, 0x0f, 0xb1, 0x17}, true},
      {"lock xadd [rax], rdx", {0xf0, 0x48, 0x0f, 0xc1, 0x10}, true},
      {"lock cmpxchg16b [rdi]", {0xf0, 0x48, 0x0f, 0xc7, 0x0f}, true},
      {"lock dec word fs:[rax]", {0x64, 0x66, 0xf0, 0xff, 0x08}, true},
      {"xchg [rdi], eax", {0x87, 0x07}, true},
      {"xchg [r8], al", {0x41, 0x86, 0x00}, true},
      {"xchg ebx, eax", {0x87, 0xd8}, false},
      {"xchg eax, r8d", {0x41, 0x90}, false},
      {"cmpxchg [rdi], edx", {0x0f, 0xb1, 0x17}, false},
      {"mov [rdi], eax", {0x89, 0x07}, false},
      {"pause", {0xf3, 0x90}, false},
      {"ret", {0xc3}, false},
      {"lock inc dword [eax]", {0xf0, 0xff, 0x00}, true, CodeMode::kX86_32},
      {"inc eax", {0x40}, false, CodeMode::kX86_32},
  };
  for (const AtomicCase& each : cases) {
    EXPECT_EQ(IsAtomicAccess(each.code, each.mode), each.atomic) << each.text;
    MemoryTraits traits;
    ASSERT_TRUE(MemoryTraitsOf(each.code, each.mode, traits)) << each.text;
    EXPECT_EQ(traits.atomic, each.atomic) << each.text;
  }
  EXPECT_FALSE(IsAtomicAccess({}, CodeMode::kX86_64));
  const std::vector<uint8_t> swap = {0x20, 0x7c, 0xa0, 0x88};  // ldaddal, which is not classified
  EXPECT_FALSE(IsAtomicAccess(swap, CodeMode::kAArch64));
}

}  // namespace
}  // namespace flowback
