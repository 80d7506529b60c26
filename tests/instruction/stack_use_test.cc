// SPDX-License-Identifier: MIT
#include "decode/instruction/stack_use.h"

#include <gtest/gtest.h>

#include <vector>

namespace flowback {
namespace {

using Instructions = std::vector<std::vector<uint8_t>>;  // by instruction

StackUse UseOf(const Instructions& code, CodeMode mode = CodeMode::kX86_64) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> lengths;
  for (const auto& each : code) {
    bytes.insert(bytes.end(), each.begin(), each.end());
    lengths.push_back(static_cast<uint8_t>(each.size()));
  }
  return StackUseOf(bytes, lengths, mode);
}
uint8_t FlagsOf(const Instructions& code, CodeMode mode = CodeMode::kX86_64) {
  return UseOf(code, mode).flags;
}

const std::vector<uint8_t> kRet = {0xc3};
const std::vector<uint8_t> kNop = {0x90};

TEST(StackUse, EpiloguesStayOnTheirStack) {
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0xec}, {0x5d}, kRet}), 0);              // mov rsp,rbp; pop rbp
  EXPECT_EQ(FlagsOf({{0xc9}, kRet}), 0);                                  // leave
  EXPECT_EQ(FlagsOf({{0x48, 0x83, 0xc4, 0x18}, {0x5b}, kRet}), 0);        // add rsp,24; pop rbx
  EXPECT_EQ(FlagsOf({{0x48, 0x8b, 0x65, 0xd8}, kRet}), 0);                // mov rsp,[rbp-40]
  EXPECT_EQ(FlagsOf({{0x49, 0x8d, 0x62, 0xf8}, kRet}), 0);                // lea rsp,[r10-8]
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0xe3}, kNop, {0x48, 0x89, 0xdc}}), 0);  // mov rbx,rsp; back
  // pop rbx; pop r12; mov r12,rax: what it reads is a return address only where a function begins
  EXPECT_EQ(FlagsOf({{0x5b}, {0x41, 0x5c}, {0x49, 0x89, 0xc4}, kRet}) & ~kReadsReturnAddress, 0);
}

TEST(StackUse, LoadsOfAnotherStack) {
  EXPECT_EQ(FlagsOf({{0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0}, kRet}), kLoadsStackPointer);  // [rdx+160]
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0xfc}, kRet}), kLoadsStackPointer);                 // rdi
  EXPECT_EQ(FlagsOf({{0x4c, 0x89, 0xc4}, kRet}), kLoadsStackPointer);                 // r8
  EXPECT_NE(FlagsOf({{0x48, 0x94}, kRet}) & kLoadsStackPointer, 0);        // xchg rax,rsp
  EXPECT_NE(FlagsOf({{0x48, 0x87, 0x23}, kRet}) & kLoadsStackPointer, 0);  // xchg [rbx],rsp
  EXPECT_EQ(FlagsOf({{0x5c}, kRet}), kLoadsStackPointer);                  // pop rsp
  EXPECT_EQ(FlagsOf({{0x89, 0xc4}, kRet}, CodeMode::kX86_32), kLoadsStackPointer);  // mov esp,eax
  EXPECT_EQ(FlagsOf({{0x49, 0x94}, kRet}), 0);                                      // xchg rax,r12
}

TEST(StackUse, KeepsWhatItLeaves) {
  constexpr uint8_t kSwitches = kLoadsStackPointer | kKeepsStackPointer;
  const std::vector<uint8_t> load = {0x48, 0x8b, 0x22};                           // mov rsp,[rdx]
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0x27}, {0x48, 0x89, 0xf4}, kRet}), kSwitches);  // [rdi],rsp
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0xe0}, {0x48, 0x89, 0xfc}, kRet}), kSwitches);  // mov rax,rsp
  EXPECT_EQ(FlagsOf({{0x48, 0x8d, 0x4c, 0x24, 8}, {0x48, 0x89, 0x8f, 0xa0, 0, 0, 0}, load, kRet}),
            kSwitches);                                       // lea rcx,[rsp+8]; mov [rdi+160],rcx
  EXPECT_EQ(FlagsOf({{0x48, 0x87, 0x23}, kRet}), kSwitches);  // xchg [rbx],rsp
  EXPECT_EQ(FlagsOf({{0x8d, 0x4c, 0x24, 4}, {0x89, 0x48, 0x1c}}, CodeMode::kX86_32),
            kKeepsStackPointer);  // lea ecx,[esp+4]; mov [eax+28],ecx
  // Addresses of what lies on the stack; a register that has got another value.
  EXPECT_EQ(FlagsOf({{0x48, 0x8d, 0x4c, 0x24, 0x10}, {0x48, 0x89, 0x0f}, load, kRet}),
            kLoadsStackPointer);
  EXPECT_EQ(FlagsOf({{0x53}, {0x48, 0x8d, 0x4c, 0x24, 8}, {0x48, 0x89, 0x0f}}), 0);
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0x64, 0x24, 8}}), 0);  // mov [rsp+8],rsp
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0xe0}, {0x48, 0x8b, 0x06}, {0x48, 0x89, 0x07}}), 0);
}

TEST(StackUse, TellsWhichRegister) {
  EXPECT_EQ(UseOf({{0x48, 0x89, 0xe3}}).keeps, 1 << 3);                       // mov rbx,rsp
  EXPECT_EQ(UseOf({{0x49, 0x89, 0xe5}}).keeps, 1 << 13);                      // mov r13,rsp
  EXPECT_EQ(UseOf({{0x48, 0x89, 0xe5}}).keeps, 0);                            // mov rbp,rsp
  EXPECT_EQ(UseOf({{0x4c, 0x89, 0xec}}).loaded_from, 13);                     // mov rsp,r13
  EXPECT_EQ(UseOf({{0x48, 0x8b, 0x22}}).loaded_from, StackUse::kFromMemory);  // mov rsp,[rdx]
}

TEST(StackUse, ReadsItsReturnAddress) {
  EXPECT_EQ(FlagsOf({{0x48, 0x8b, 0x04, 0x24}, kRet}), kReadsReturnAddress);  // mov rax,[rsp]
  // pop rsi; jmp rsi: epilogues pop, too, so this is not taken for a return address that is read.
  EXPECT_EQ(FlagsOf({{0x5e}, {0xff, 0xe6}}), 0);
  EXPECT_EQ(FlagsOf({{0x53}, {0x48, 0x8b, 0x04, 0x24}}), 0);  // push rbx first
  EXPECT_EQ(FlagsOf({{0x48, 0x8b, 0x44, 0x24, 0x08}}), 0);    // [rsp+8]
  EXPECT_EQ(FlagsOf({{0x49, 0x8b, 0x04, 0x24}}), 0);          // [r12]
}

TEST(StackUse, ReturnsThatAreJumps) {
  EXPECT_EQ(FlagsOf({{0x51}, {0x31, 0xc0}, kRet}), kReturnWasPushed);        // push rcx
  EXPECT_EQ(FlagsOf({{0xff, 0x37}, kRet}), kReturnWasPushed);                // push [rdi]
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0x04, 0x24}, kRet}), kReturnWasReplaced);  // mov [rsp],rax
  EXPECT_EQ(FlagsOf({{0x51}, {0x59}, kRet}), 0);                             // and popped
  EXPECT_EQ(FlagsOf({{0x48, 0x89, 0x04, 0x24}, {0x48, 0x83, 0xc4, 8}, kRet}), 0);
  EXPECT_EQ(FlagsOf({{0x51}, {0xe9, 0, 0, 0, 0}}), 0);  // jmp
}

TEST(StackUse, OfBytesThatEnd) {
  EXPECT_EQ(FlagsOf({}), 0);
  EXPECT_EQ(FlagsOf({{0x48}}), 0);
  EXPECT_EQ(FlagsOf({{0x89}}), 0);
  EXPECT_EQ(FlagsOf({{0x66, 0x66, 0x48}}), 0);
  EXPECT_EQ(FlagsOf({{0x89, 0xfc}, kRet}, CodeMode::kX86_16), 0);
}

using Places = std::vector<TakenPlace>;

Places PlacesOf(const Instructions& code, uint64_t address, CodeMode mode = CodeMode::kX86_64) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> lengths;
  for (const auto& each : code) {
    bytes.insert(bytes.end(), each.begin(), each.end());
    lengths.push_back(static_cast<uint8_t>(each.size()));
  }
  return PlacesTakenBy(bytes, address, lengths, mode);
}

TEST(StackUse, PlacesThatItTakes) {
  const std::vector<uint8_t> lea = {0x4c, 0x8d, 0x1d, 0x25, 0, 0, 0};  // lea r11,[rip+0x25]
  EXPECT_EQ(PlacesOf({kNop, lea}, 0x1000), (Places{{.address = 0x102d}}));
  EXPECT_EQ(PlacesOf({lea, {0x41, 0x53}}, 0x1000),
            (Places{{.address = 0x102c, .pushed = true}}));                   // push r11
  EXPECT_EQ(PlacesOf({lea, {0x53}}, 0x1000), (Places{{.address = 0x102c}}));  // push rbx
  EXPECT_EQ(PlacesOf({{0x68, 0, 0x10, 0x40, 0}}, 0x1000),
            (Places{{.address = 0x401000, .pushed = true}}));  // push 0x401000
  EXPECT_EQ(PlacesOf({{0xb8, 0, 0x10, 0x40, 0}}, 0x1000), (Places{{.address = 0x401000}}));
  EXPECT_EQ(PlacesOf({{0x48, 0xc7, 0x45, 0xb8, 0, 0x10, 0x40, 0}}, 0x1000),
            (Places{{.address = 0x401000}}));  // mov [rbp-72],0x401000
  EXPECT_EQ(PlacesOf({{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}}, 0x1000),
            (Places{{.address = 0x0807060504030201}}));
  EXPECT_EQ(PlacesOf({{0xc7, 0x40, 4, 0, 0x10, 0x40, 0x80}}, 0x1000, CodeMode::kX86_32),
            (Places{{.address = 0x80401000}}));
  EXPECT_EQ(PlacesOf({{0x48, 0x8d, 0x45, 0xf8}, {0x48}, {0xb8, 1}}, 0x1000), Places());
  EXPECT_EQ(PlacesOf({lea}, 0x1000, CodeMode::kX86_16), Places());
}

StackUse ArmUseOf(const std::vector<uint32_t>& words) {
  Instructions code;
  for (const uint32_t word : words)
    code.push_back({static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
                    static_cast<uint8_t>(word >> 16), static_cast<uint8_t>(word >> 24)});
  return UseOf(code, CodeMode::kAArch64);
}

constexpr uint32_t kArmRet = 0xd65f03c0;

TEST(StackUse, AArch64StaysOnItsStack) {
  EXPECT_EQ(ArmUseOf({0xa9be7bfd, 0x910003fd}).flags, 0);  // stp x29,x30,[sp,#-32]!; mov x29,sp
  EXPECT_EQ(ArmUseOf({0x910003bf, 0xa8c27bfd, kArmRet}).flags, 0);  // mov sp,x29; ldp; ret
  EXPECT_EQ(ArmUseOf({0x914007ff, kArmRet}).flags, 0);              // add sp,sp,#4096
  EXPECT_EQ(ArmUseOf({0x8b2c63ff, kArmRet}).flags, 0);              // add sp,sp,x12: a large frame
  EXPECT_EQ(ArmUseOf({0xcb2063ff}).flags, 0);                       // sub sp,sp,x0
  EXPECT_EQ(ArmUseOf({0x910003f5, 0x910002bf}).flags, 0);           // mov x21,sp; mov sp,x21
  EXPECT_EQ(ArmUseOf({0x910003f5}).keeps, 1U << 21);
  EXPECT_EQ(ArmUseOf({0x910003e9, 0xd1008120, 0x9100001f}).flags, 0);  // mov x9,sp; sub x0,x9,#32
}

TEST(StackUse, AArch64LoadsAnotherStack) {
  EXPECT_EQ(ArmUseOf({0x910000bf, 0xd61f03c0}).flags, kLoadsStackPointer);  // mov sp,x5; br x30
  EXPECT_EQ(ArmUseOf({0x910000bf}).loaded_from, 5);
  EXPECT_EQ(ArmUseOf({0x8b2463ff, 0xd61f00c0}).flags, kLoadsStackPointer);  // add sp,sp,x4; br x6
}

Places ArmPlacesOf(const std::vector<uint32_t>& words, uint64_t address) {
  Instructions code;
  for (const uint32_t word : words)
    code.push_back({static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
                    static_cast<uint8_t>(word >> 16), static_cast<uint8_t>(word >> 24)});
  return PlacesOf(code, address, CodeMode::kAArch64);
}

TEST(StackUse, AArch64TakesPlaces) {
  EXPECT_EQ(ArmPlacesOf({0x10000100}, 0x1000), (Places{{.address = 0x1020}}));  // adr x0,.+32
  EXPECT_EQ(ArmPlacesOf({0x10ffff08}, 0x1000), (Places{{.address = 0xfe0}}));   // adr x8,.-32
  EXPECT_EQ(ArmPlacesOf({0x10000108, 0xa9bf23fa}, 0x1000),
            (Places{{.address = 0x1020, .pushed = true}}));  // stp x26,x8,[sp,#-16]!
  EXPECT_EQ(ArmPlacesOf({0xb0000000, 0x91008000}, 0x1000),
            (Places{{.address = 0x2020}}));  // adrp x0,.+0x1000; add x0,x0,#32
  EXPECT_EQ(ArmPlacesOf({0x10000100, 0xd61f0000}, 0x1000), Places());  // adr x0; br x0
}

TEST(StackUse, AArch64KeepsWhatItLeaves) {
  EXPECT_EQ(ArmUseOf({0x910003e2, 0xf9007c02}).flags,
            kKeepsStackPointer);                           // mov x2,sp; str x2,[x0,#248]
  EXPECT_EQ(ArmUseOf({0x910003e2, 0xf90007e2}).flags, 0);  // str x2,[sp,#8]
}

TEST(StackUse, AArch64KeepsWhereItsCallerGoesOn) {
  EXPECT_EQ(ArmUseOf({0xca0303c4}).flags, kReadsReturnAddress);  // eor x4,x30,x3
  EXPECT_EQ(ArmUseOf({0xf900d41e}).flags, kReadsReturnAddress);  // str x30,[x0,#0x1a8]
  EXPECT_EQ(ArmUseOf({0xa90bf81f}).flags, kReadsReturnAddress);  // stp xzr,x30,[x0,#0xb8]
  EXPECT_EQ(ArmUseOf({0xf81f0ffe}).flags, 0);                    // str x30,[sp,#-16]!
  EXPECT_EQ(ArmUseOf({0xf940041e}).flags, 0);                    // ldr x30,[x0,#8]
}

}  // namespace
}  // namespace flowback
