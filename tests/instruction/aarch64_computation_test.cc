// SPDX-License-Identifier: MIT
// What AArch64's instructions compute and write. capstone names the written registers as well: of
// all code of Debian's library for arm64, and of random words.
#include <capstone/capstone.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mapped_file.h"
#include "base/sanitized.h"
#include "decode/instruction/aarch64/word.h"
#include "decode/instruction/computation.h"

namespace flowback {
namespace {

constexpr uint64_t kAddress = 0x401234;
constexpr uint8_t kNone = kNoRegister;

std::vector<uint8_t> BytesOf(uint32_t word) {
  return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
          static_cast<uint8_t>(word >> 16), static_cast<uint8_t>(word >> 24)};
}

Computation Of(uint32_t word) { return ComputationOf(BytesOf(word), kAddress, CodeMode::kAArch64); }

struct Simple {
  uint32_t word;
  Operation operation;
  uint8_t to;
  uint8_t from;
  uint64_t constant;
};

// Words from LLVM's assembler.
TEST(AArch64Computation, OfConstantsCopiesAndComparisons) {
  constexpr Simple kCases[] = {
      {0xb0000020, Operation::kConstant, 0, kNone, 0x406000},  // adrp x0, .+0x5000
      {0xf0ffffe2, Operation::kConstant, 2, kNone, 0x400000},  // adrp x2, .-0x1000
      {0x1003ffe1, Operation::kConstant, 1, kNone, 0x409230},  // adr x1, .+0x7ffc
      {0x52800240, Operation::kConstant, 0, kNone, 18},        // mov w0, #18
      {0xaa1f03e0, Operation::kConstant, 0, kNone, 0},         // mov x0, xzr
      {0x2a0003f3, Operation::kCopy, 19, 0, 0},                // mov w19, w0
      {0x93407c21, Operation::kCopy, 1, 1, 0},                 // sxtw x1, w1
      {0x71007c3f, Operation::kCompare, kNone, 1, 31},         // cmp w1, #31
      {0xf1007d08, Operation::kCompare, 8, 8, 31},             // subs x8, x8, #31
      {0x92400421, Operation::kMask, 1, 1, 3},                 // and x1, x1, #3
      {0x12001c28, Operation::kMask, 8, 1, 0xff},              // and w8, w1, #0xff
      {0x53031c41, Operation::kMask, 1, kNone, 0x1f},          // ubfx w1, w2, #3, #5
      {0xd61f0140, Operation::kJump, kNone, 10, 0},            // br x10
      {0xd61f087f, Operation::kJump, kNone, 3, 0},             // braaz x3
  };
  for (const Simple& each : kCases) {
    SCOPED_TRACE(each.word);
    const Computation computed = Of(each.word);
    EXPECT_EQ(computed.operation, each.operation);
    EXPECT_EQ(computed.to, each.to);
    EXPECT_EQ(computed.from, each.from);
    EXPECT_EQ(computed.constant, each.constant);
  }
  for (const uint32_t word : {
           0xf2a00023U,  // movk x3, #1, lsl #16: the rest of x3 stays
           0x927f0421U,  // and x1, x1, #6
           0x9201f021U,  // and x1, x1, #0x5555555555555555
           0xd65f03c0U,  // ret
           0x54000000U,  // b.eq
       })
    EXPECT_EQ(Of(word).operation, Operation::kOther) << std::hex << word;
}

struct WithMemory {
  uint32_t word;
  Operation operation;
  uint8_t to;
  MemoryAddress memory;
  uint8_t bits = 0;
  bool is_signed = false;
};

TEST(AArch64Computation, OfAddressesAndLoads) {
  const WithMemory cases[] = {
      {0x911ee000, Operation::kAddress, 0, {.base = 0, .displacement = 0x7b8}},
      {0xd1400462, Operation::kAddress, 2, {.base = 3, .displacement = -uint64_t{0x1000}}},
      {0x8b20a820,  // add x0, x1, w0, sxth #2
       Operation::kAddress,
       0,
       {.base = 1, .index = 0, .scale = 4, .index_bits = 16, .index_signed = true}},
      {0x8b200020,  // add x0, x1, w0, uxtb
       Operation::kAddress,
       0,
       {.base = 1, .index = 0, .scale = 1, .index_bits = 8}},
      {0x8b0b094a, Operation::kAddress, 10, {.base = 10, .index = 11, .scale = 4}},
      {0x38604820,  // ldrb w0, [x1, w0, uxtw]
       Operation::kLoad,
       0,
       {.base = 1, .index = 0, .scale = 1, .index_bits = 32},
       8},
      {0x78605821,  // ldrh w1, [x1, w0, uxtw #1]
       Operation::kLoad,
       1,
       {.base = 1, .index = 0, .scale = 2, .index_bits = 32},
       16},
      {0xb8ab7949,  // ldrsw x9, [x10, x11, lsl #2]
       Operation::kLoad,
       9,
       {.base = 10, .index = 11, .scale = 4},
       32,
       true},
      {0xf8617aa0, Operation::kLoad, 0, {.base = 21, .index = 1, .scale = 8}, 64},
      {0xf9400861, Operation::kLoad, 1, {.base = 3, .displacement = 16}, 64},  // ldr x1, [x3, #16]
      {0xf8408420, Operation::kLoad, 0, {}, 64},                               // ldr x0, [x1], #8
      {0xf94007e0, Operation::kLoad, 0, {}, 64},                               // ldr x0, [sp, #8]
  };
  for (const WithMemory& each : cases) {
    SCOPED_TRACE(each.word);
    const Computation computed = Of(each.word);
    EXPECT_EQ(computed.operation, each.operation);
    EXPECT_EQ(computed.to, each.to);
    EXPECT_EQ(computed.memory.base, each.memory.base);
    EXPECT_EQ(computed.memory.index, each.memory.index);
    EXPECT_EQ(computed.memory.index_bits, each.memory.index_bits);
    EXPECT_EQ(computed.memory.index_signed, each.memory.index_signed);
    EXPECT_EQ(computed.memory.displacement, each.memory.displacement);
    if (each.memory.index != kNone) {
      EXPECT_EQ(computed.memory.scale, each.memory.scale);
    }
    EXPECT_EQ(computed.bits, each.bits);
    EXPECT_EQ(computed.is_signed, each.is_signed);
  }
}

// What capstone says that a word writes, of X0 to X30.
class Capstone {
 public:
  Capstone() {
    if (cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  Capstone(const Capstone&) = delete;
  Capstone& operator=(const Capstone&) = delete;
  ~Capstone() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  // False: it knows no such instruction.
  bool Writes(uint32_t word, uint32_t& writes) {
    const std::vector<uint8_t> bytes = BytesOf(word);
    const uint8_t* code = bytes.data();
    size_t size = bytes.size();
    uint64_t address = 0;
    if (!cs_disasm_iter(handle_, &code, &size, &address, instruction_)) return false;
    cs_regs read;
    cs_regs written;
    uint8_t read_count = 0;
    uint8_t written_count = 0;
    if (cs_regs_access(handle_, instruction_, read, &read_count, written, &written_count) !=
        CS_ERR_OK)
      return false;
    writes = 0;
    for (uint8_t i = 0; i < written_count; ++i) writes |= BitOf(written[i]);
    return true;
  }
  std::string Name() const { return instruction_->mnemonic; }
  std::string Text() const {
    return std::string(instruction_->mnemonic) + " " + instruction_->op_str;
  }

 private:
  static uint32_t BitOf(uint16_t reg) {
    if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) return 1U << (reg - ARM64_REG_X0);
    if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) return 1U << (reg - ARM64_REG_W0);
    if (reg == ARM64_REG_X29) return 1U << 29;
    return reg == ARM64_REG_X30 ? 1U << 30 : 0;
  }

  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

// capstone 4 takes the first operand of these for a written one, though they write flags, system
// registers or memory, and the last of ST1's, which is added to the base.
bool IsMistaken(const std::string& name) {
  static const std::unordered_set<std::string> kNames = {"cmp", "cmn", "tst", "msr", "sys", "st1"};
  return kNames.contains(name);
}

void ExpectNoneForgotten(Capstone& capstone, uint32_t word, size_t& compared, size_t& exact) {
  uint32_t writes = 0;
  if (!capstone.Writes(word, writes) || IsMistaken(capstone.Name())) return;
  ++compared;
  const uint32_t ours = Of(word).writes;
  exact += ours == writes ? 1 : 0;
  EXPECT_EQ(writes & ~ours, 0U) << std::hex << word << ": " << capstone.Text();
}

TEST(AArch64Computation, NoWrittenRegisterIsForgotten) {
  constexpr const char* kLibrary = "/usr/aarch64-linux-gnu/lib/libc.so.6";
  const auto file = MappedFile::Open(kLibrary);
  if (!file) GTEST_SKIP() << "no " << kLibrary << ": install libc6-arm64-cross";
  Capstone capstone;
  std::unordered_set<uint32_t> words;
  const Bytes bytes = (*file)->bytes();
  for (size_t at = 0; at + 4 <= bytes.size(); at += FLOWBACK_SANITIZED ? 64 : 4)
    words.insert(aarch64::WordAt(bytes.subspan(at)));
  size_t compared = 0;
  size_t exact = 0;
  for (const uint32_t word : words) ExpectNoneForgotten(capstone, word, compared, exact);
  EXPECT_GT(compared, FLOWBACK_SANITIZED ? 2'000U : 50'000U);
  EXPECT_GT(exact, compared * 8 / 10) << "of most it is known exactly";
}

TEST(AArch64Computation, NoneOfRandomWordsEither) {
  Capstone capstone;
  std::mt19937 random(20);
  size_t compared = 0;
  size_t exact = 0;
  for (int i = 0; i < (FLOWBACK_SANITIZED ? 20'000 : 1'000'000); ++i)
    ExpectNoneForgotten(capstone, static_cast<uint32_t>(random()), compared, exact);
  EXPECT_GT(compared, 1'000U);
}

}  // namespace
}  // namespace flowback
