// SPDX-License-Identifier: MIT
// Every encoding that the table of common forms admits, against the full decoder.
#include "decode/instruction/x86/common_form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

std::string HexOf(const std::vector<uint8_t>& code) {
  std::string text;
  for (const uint8_t byte : code) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15], ' '};
  }
  return text;
}

bool Equal(const Instruction& a, const Instruction& b) {
  return a.length == b.length && a.kind == b.kind && a.flags == b.flags &&
         a.displacement == b.displacement && a.target_mask == b.target_mask &&
         a.kept_address_bits == b.kept_address_bits;
}

struct Tally {
  uint64_t common = 0;
  uint64_t wrong = 0;
};

// `code` is what the encoding begins with; the rest are `tail`s.
void Compare(std::vector<uint8_t> code, uint8_t tail, Tally& tally) {
  code.resize(15, tail);
  Instruction common;
  if (!x86::ClassifyCommonForm(code, common)) return;
  ++tally.common;
  Instruction full;
  if (ClassifyAnyForm(code, CodeMode::kX86_64, full) && Equal(common, full)) return;
  if (++tally.wrong < 20)
    ADD_FAILURE() << HexOf(code) << ": length " << +common.length << ", in full " << +full.length;
}

void CompareModrms(const std::vector<uint8_t>& head, Tally& tally) {
  for (unsigned modrm = 0; modrm < 256; ++modrm) {
    std::vector<uint8_t> code = head;
    code.push_back(static_cast<uint8_t>(modrm));
    const bool sib = modrm < 0xc0 && (modrm & 7) == 4;
    code.push_back(0x24);
    Compare(code, 0x00, tally);
    if (!sib) continue;
    code.back() = 0xad;  // no base register where mod is 0
    Compare(code, 0xff, tally);
  }
}

void CompareOpcodes(const std::vector<uint8_t>& prefixes, Tally& tally) {
  for (unsigned opcode = 0; opcode < 512; ++opcode) {
    std::vector<uint8_t> head = prefixes;
    if (opcode >= 256) head.push_back(0x0f);
    head.push_back(static_cast<uint8_t>(opcode));
    CompareModrms(head, tally);
  }
}

TEST(CommonForm, EachIsWhatTheFullDecoderSays) {
  const std::vector<std::vector<uint8_t>> prefixes = {
      {},           {0x66},       {0xf2},       {0xf3},       {0x2e},       {0x64},
      {0x66, 0x66}, {0x66, 0x2e}, {0x64, 0x66}, {0xf2, 0x66}, {0x66, 0xf3}, {0xf3, 0xf3}};
  Tally tally;
  for (const std::vector<uint8_t>& some : prefixes)
    for (const unsigned rex : {0u, 0x40u, 0x41u, 0x44u, 0x48u, 0x4fu}) {
      std::vector<uint8_t> with_rex = some;
      if (rex != 0) with_rex.push_back(static_cast<uint8_t>(rex));
      CompareOpcodes(with_rex, tally);
    }
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_GT(tally.common, 1'000'000u);
}

TEST(CommonForm, LeavesTheEndOfTheBytesToTheFullDecoder) {
  const std::vector<uint8_t> nops(14, 0x90);
  Instruction instruction;
  EXPECT_FALSE(x86::ClassifyCommonForm(nops, instruction));
  ASSERT_TRUE(Classify(nops, CodeMode::kX86_64, instruction));
  EXPECT_EQ(instruction.length, 1);
}

TEST(CommonForm, ReadsDisplacements) {
  std::vector<uint8_t> code = {0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff};
  code.resize(15);
  Instruction instruction;
  ASSERT_TRUE(x86::ClassifyCommonForm(code, instruction));
  EXPECT_EQ(instruction.kind, InstructionClass::kConditional);
  EXPECT_EQ(instruction.length, 6);
  EXPECT_EQ(instruction.displacement, -4);
}

}  // namespace
}  // namespace flowback
