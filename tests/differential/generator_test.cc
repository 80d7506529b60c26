// SPDX-License-Identifier: MIT
// The generator itself: its code is what it says, its streams repeat and show everything.
#include <gtest/gtest.h>

#include "decode/instruction/classify.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/generator/stream_generator_program.h"

namespace flowback::testing {
namespace {

InstructionClass ClassOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kConditional:
      return InstructionClass::kConditional;
    case NodeKind::kJump:
      return InstructionClass::kJump;
    case NodeKind::kCall:
    case NodeKind::kZeroCall:
      return InstructionClass::kCall;
    case NodeKind::kIndirectJump:
      return InstructionClass::kIndirectJump;
    case NodeKind::kIndirectCall:
      return InstructionClass::kIndirectCall;
    case NodeKind::kReturn:
      return InstructionClass::kReturn;
    case NodeKind::kSystemCall:
    case NodeKind::kSignalReturn:
    case NodeKind::kSoftInterrupt:
      return InstructionClass::kFarCall;
    case NodeKind::kSystemReturn:
    case NodeKind::kInterruptReturn:
      return InstructionClass::kFarReturn;
    case NodeKind::kFarJump:
      return InstructionClass::kFarJump;
    default:
      return InstructionClass::kOther;
  }
}

uint8_t FlagOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kPtwrite:
      return kFlagPtwrite;
    case NodeKind::kMovCr3:
      return kFlagMovCr3;
    case NodeKind::kZeroCall:
      return kFlagZeroCall;
    case NodeKind::kRep:
      return kFlagRep;
    default:
      return 0;
  }
}

Bytes CodeAt(const Program& program, uint64_t address) {
  for (const GeneratedSection& section : program.sections)
    if (address - section.address < section.bytes.size())
      return Bytes(section.bytes).subspan(address - section.address);
  return {};
}

void ExpectIsWhatItSays(const Program& program, const Node& node) {
  Instruction instruction;
  const Bytes code = CodeAt(program, node.address);
  ASSERT_TRUE(Classify(code, node.mode, instruction)) << std::hex << node.address;
  EXPECT_EQ(instruction.length, node.length) << std::hex << node.address;
  EXPECT_EQ(instruction.kind, ClassOf(node.kind)) << std::hex << node.address;
  EXPECT_EQ(instruction.flags & FlagOf(node.kind), FlagOf(node.kind)) << std::hex << node.address;
  if (IsDirect(instruction.kind)) {
    EXPECT_EQ(instruction.Target(node.address), program.nodes[node.target].address);
  }
}

TEST(Generator, CodeIsWhatItSays) {
  for (uint64_t seed = 1; seed <= 60 && !::testing::Test::HasFailure(); ++seed) {
    const GeneratorOptions options = MixedOptions(seed);
    SCOPED_TRACE(Describe(options));
    Random random(seed);
    const Program program = BuildProgram(options, random);
    for (const Node& node : program.nodes) {
      ExpectIsWhatItSays(program, node);
      if (::testing::Test::HasFailure()) break;
    }
  }
}

TEST(Generator, SameSeedSameStream) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const GeneratedStream one = GenerateStream(MixedOptions(seed));
    const GeneratedStream other = GenerateStream(MixedOptions(seed));
    EXPECT_EQ(one.bytes, other.bytes);
    EXPECT_EQ(one.truth.digest, other.truth.digest);
  }
}

// A mix that never shows something would test nothing of it.
TEST(Generator, MixShowsEverything) {
  GeneratedTruth sum;
  uint64_t lost = 0;
  uint64_t resumed_off = 0;
  uint64_t into_psb = 0;
  uint64_t psbs_off = 0;
  uint64_t wrong_without_pop = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const GeneratedTruth truth = GenerateStream(MixedOptions(seed)).truth;
    sum.compressed_returns += truth.compressed_returns;
    sum.mismatched_returns += truth.mismatched_returns;
    sum.ptwrites += truth.ptwrites;
    sum.events += truth.events;
    sum.flag_changes += truth.flag_changes;
    sum.far += truth.far;
    for (const GeneratedLoss& loss : truth.losses) {
      lost += loss.lost;
      resumed_off += loss.resume_ip == 0;
      into_psb += loss.into_psb;
    }
    for (const GeneratedPsb& psb : truth.psbs) psbs_off += psb.ip == 0;
    wrong_without_pop += truth.wrong_without_pop;
  }
  EXPECT_GT(sum.compressed_returns, 1000u);
  EXPECT_GT(sum.mismatched_returns, 100u);
  EXPECT_GT(sum.ptwrites, 100u);
  EXPECT_GT(sum.events, 100u);
  EXPECT_GT(sum.flag_changes, 2u);
  EXPECT_GT(sum.far, 1000u);
  EXPECT_GT(lost, 1000u);
  EXPECT_GT(resumed_off, 10u);
  EXPECT_GT(into_psb, 3u);
  EXPECT_GT(psbs_off, 100u);
  EXPECT_GT(wrong_without_pop, 1u);
}

}  // namespace
}  // namespace flowback::testing
