// SPDX-License-Identifier: MIT
// Which packets come for which instructions: the stream is read back packet by packet.
#include "capture/record/generate/packet_generator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "decode/pt/packets/packet.h"

namespace flowback::record {
namespace {

constexpr CodeMode k64 = CodeMode::kX86_64;

// The packets' names and payloads, without what is the same in every PSB+.
std::vector<std::string> List(Bytes bytes) {
  std::vector<std::string> lines;
  pt::PebsState pebs;
  while (!bytes.empty()) {
    pt::Packet packet;
    const auto size = pt::ReadPacket(bytes, pebs, packet);
    EXPECT_TRUE(size);
    if (!size) break;
    const std::string text(pt::Describe(packet));
    lines.push_back(std::string(pt::NameOf(packet)) + (text.empty() ? "" : " ") + text);
    bytes = bytes.subspan(*size);
  }
  while (!lines.empty() && lines.back() == "PAD") lines.pop_back();
  return lines;
}

using Lines = std::vector<std::string>;

class Generated : public testing::Test {
 protected:
  PacketGenerator Make(PtSettings settings) { return PacketGenerator(settings, clock_); }
  PacketGenerator WithoutTime() { return Make({.timestamps = false}); }

  // Runs an instruction of `kind` and two bytes at `ip`.
  static void Run(PacketGenerator& generator, InstructionClass kind, uint64_t ip, uint64_t next,
                  uint8_t flags = 0) {
    Instruction instruction;
    instruction.length = 2;
    instruction.kind = kind;
    instruction.flags = flags;
    generator.Completed(instruction, ip, k64, next != ip + 2, next, k64);
  }

  // All lines after the first PSB+ and the count behind it.
  static Lines Rest(PacketGenerator& generator) {
    generator.Finish();
    Lines lines = List(generator.Take());
    const auto end = std::find(lines.begin(), lines.end(), "PSBEND");
    EXPECT_NE(end, lines.end());
    if (lines.end() - end < 2) return lines;
    EXPECT_TRUE((end + 1)->starts_with("MNT ")) << *(end + 1);
    return Lines(end + 2, lines.end());
  }

  const TraceClock clock_{TimeConversion{.shift = 0, .mult = 1, .zero = 0}, 2'500'000'000};
};

TEST_F(Generated, BeginsWithPsbThenEnables) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kOther, 0x401000, 0x401002);
  generator.Finish();
  EXPECT_EQ(List(generator.Take()),
            (Lines{"PSB", "MODE.Exec 64-bit", "MODE.TSX commit", "PSBEND", "MNT 0x7634b90000000000",
                   "TIP.PGE IPBytes 3, 0x401000"}));
}

TEST_F(Generated, NothingForDirectTransfers) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kOther, 0x401000, 0x401002);
  Run(generator, InstructionClass::kJump, 0x401002, 0x402000);
  Run(generator, InstructionClass::kCall, 0x402000, 0x403000);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x401000"}));
  EXPECT_EQ(generator.digest().count, 3u);
}

// It stands behind the branches that led to the operation.
TEST_F(Generated, TheAddressOfALockIsTold) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kConditional, 0x1000, 0x1002);
  generator.TellAddress({.address = 0x7fff'0123'4568});
  generator.TellAddress({.address = 0x10, .futex = true});
  Run(generator, InstructionClass::kConditional, 0x1002, 0x1004);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "TNT N", "MNT 0xa70c7fff01234568",
                                    "MNT 0xa70c800000000010", "TNT N"}));
}

TEST_F(Generated, OneBitAConditionalBranchSixAPacket) {
  auto generator = WithoutTime();
  for (int i = 0; i < 5; ++i) Run(generator, InstructionClass::kConditional, 0x1000, 0x1000);
  Run(generator, InstructionClass::kConditional, 0x1000, 0x1002);
  Run(generator, InstructionClass::kConditional, 0x1002, 0x1004);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "TNT TTTTTN", "TNT N"}));
}

TEST_F(Generated, CompressesAReturnToItsCall) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kCall, 0x1000, 0x2000);
  Run(generator, InstructionClass::kReturn, 0x2000, 0x1002);
  Run(generator, InstructionClass::kReturn, 0x1002, 0x3000);  // the stack is empty
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "TNT T", "TIP IPBytes 1, 0x3000"}));
}

// Decoders pop one address, none, or all for the return to 0x4000: nothing later depends on it.
TEST_F(Generated, ForgetsCallsAtAReturnElsewhere) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kCall, 0x1000, 0x2000);
  Run(generator, InstructionClass::kIndirectCall, 0x2000, 0x3000);
  Run(generator, InstructionClass::kReturn, 0x3000, 0x4000);  // not to 0x2002
  Run(generator, InstructionClass::kReturn, 0x4000, 0x1002);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "TIP IPBytes 1, 0x3000",
                                    "TIP IPBytes 1, 0x4000", "TIP IPBytes 1, 0x1002"}));
}

TEST_F(Generated, ACallToTheNextInstructionIsNotPushed) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kCall, 0x1000, 0x2000);
  Run(generator, InstructionClass::kCall, 0x2000, 0x2002, kFlagZeroCall);
  Run(generator, InstructionClass::kReturn, 0x2002, 0x1002);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "TNT T"}));
}

TEST_F(Generated, TellsEveryReturnWhenCompressionIsOff) {
  auto generator = Make({.return_compression = false, .timestamps = false});
  Run(generator, InstructionClass::kCall, 0x1000, 0x2000);
  Run(generator, InstructionClass::kReturn, 0x2000, 0x1002);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "TIP IPBytes 1, 0x1002"}));
}

TEST_F(Generated, SystemCallsTurnTracingOffWithoutAnAddress) {
  auto generator = WithoutTime();
  generator.EnteredKernel(0x1000, k64);
  generator.Interrupted(0x1002);  // in the kernel: nothing to write
  Run(generator, InstructionClass::kOther, 0x1002, 0x1004);
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "TIP.PGD no IP", "TIP.PGE IPBytes 1, 0x1002"}));
  EXPECT_EQ(generator.digest().count, 2u);
}

TEST_F(Generated, FaultsAndInterruptsNameTheInstructionThatDidNotRun) {
  auto generator = WithoutTime();
  Run(generator, InstructionClass::kOther, 0x1000, 0x1002);
  generator.Interrupted(0x1002);
  generator.Faulted(0x3000, k64);  // the first instruction back in user code
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "FUP IPBytes 1, 0x1002", "TIP.PGD no IP",
                   "TIP.PGE IPBytes 1, 0x3000", "FUP IPBytes 1, 0x3000", "TIP.PGD no IP"}));
  EXPECT_EQ(generator.digest().count, 1u);
}

TEST_F(Generated, TransactionsAbort) {
  auto generator = WithoutTime();
  generator.Aborted(0x1000, k64, 0x2000);
  EXPECT_EQ(Rest(generator), (Lines{"TIP.PGE IPBytes 3, 0x1000", "MODE.TSX aborted",
                                    "FUP IPBytes 1, 0x1000", "TIP IPBytes 1, 0x2000"}));
  EXPECT_EQ(generator.digest().count, 0u);
}

TEST_F(Generated, AFarJumpTellsTheNewModeFirst) {
  auto generator = WithoutTime();
  Instruction far_jump;
  far_jump.length = 6;
  far_jump.kind = InstructionClass::kFarJump;
  generator.Completed(far_jump, 0x1000, k64, true, 0x2000, CodeMode::kX86_32);
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "MODE.Exec 32-bit", "TIP IPBytes 1, 0x2000"}));
}

TEST_F(Generated, SyncPointsEmptyTheCallStackAndNameTheNextInstruction) {
  auto generator = Make({.psb_period_bytes = 2048, .timestamps = false});
  Run(generator, InstructionClass::kCall, 0x1000, 0x2000);
  size_t instructions = 1;
  while (generator.size() < 2048 + 16) {
    Run(generator, InstructionClass::kIndirectJump, 0x2000, 0x2000);
    ++instructions;
  }
  Run(generator, InstructionClass::kReturn, 0x2000, 0x1002);
  const Lines lines = Rest(generator);
  const auto sync = std::find(lines.begin(), lines.end(), "PSB");
  ASSERT_NE(sync, lines.end());
  const Lines rest(sync, lines.end());
  EXPECT_EQ(rest[0], "PSB");
  EXPECT_NE(std::find(rest.begin(), rest.end(), "FUP IPBytes 3, 0x2000"), rest.end());
  EXPECT_EQ(rest.back(), "TIP IPBytes 1, 0x1002");
  EXPECT_EQ(generator.digest().count, instructions + 1);
}

TEST_F(Generated, TellsTheTimeWhereTracingResumes) {
  auto generator = Make({.timestamps = true, .mtc_shift = 14});
  generator.EnteredKernel(0x1000, k64);
  generator.EnteredKernel(0x1002, k64);
  const Lines lines = Rest(generator);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_TRUE(lines[2].starts_with("TSC 0x"));
  EXPECT_TRUE(lines[3].starts_with("TMA "));
  EXPECT_EQ(lines[4], "TIP.PGE IPBytes 1, 0x1002");
}

// On the instruction clock an instruction takes a cycle. A CYC stands before a TNT with the time of
// its first branch, before what tracing stops with, and not between the packets of one group; an
// MTC stands at its line of the grid, ahead of it what was held back.
TEST_F(Generated, CyclesStandBeforeEachPacketGroup) {
  std::atomic<uint64_t> ticks = 0;
  const TraceClock clock = TraceClock::OfInstructions(ticks);
  PacketGenerator generator({.timestamps = true, .mtc_shift = 0, .cyc_threshold = 0}, clock);
  for (int i = 0; i < 3; ++i) Run(generator, InstructionClass::kOther, 0x1000, 0x1002);
  for (int i = 0; i < 8; ++i) Run(generator, InstructionClass::kConditional, 0x1000, 0x1000);
  Run(generator, InstructionClass::kIndirectJump, 0x1000, 0x1000);
  for (int i = 0; i < 26; ++i) Run(generator, InstructionClass::kOther, 0x1000, 0x1002);
  Run(generator, InstructionClass::kConditional, 0x1000, 0x1000);
  Run(generator, InstructionClass::kOther, 0x1000, 0x1000);
  Run(generator, InstructionClass::kConditional, 0x1000, 0x1000);
  Run(generator, InstructionClass::kOther, 0x1000, 0x1000);
  generator.Interrupted(0x1000);
  ASSERT_EQ(clock.tsc_per_crystal_tick(), 40u);
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "CYC 4", "TNT TTTTTT", "CYC 6", "TNT TT", "CYC 2",
                   "TIP IPBytes 1, 0x1000", "CYC 27", "TNT T", "CYC 1", "MTC 0x41", "CYC 1",
                   "TNT T", "CYC 1", "FUP IPBytes 1, 0x1000", "TIP.PGD no IP"}));
}

// Below the threshold a CYC waits, and its count then begins at the last written time.
TEST_F(Generated, CyclesWaitForTheThreshold) {
  std::atomic<uint64_t> ticks = 0;
  const TraceClock clock = TraceClock::OfInstructions(ticks);
  PacketGenerator generator({.timestamps = true, .cyc_threshold = 3}, clock);  // 4 cycles
  for (int i = 0; i < 5; ++i) Run(generator, InstructionClass::kIndirectJump, 0x1000, 0x1000);
  generator.Interrupted(0x1000);
  EXPECT_EQ(Rest(generator),
            (Lines{"TIP.PGE IPBytes 3, 0x1000", "TIP IPBytes 1, 0x1000", "TIP IPBytes 1, 0x1000",
                   "TIP IPBytes 1, 0x1000", "CYC 4", "TIP IPBytes 1, 0x1000",
                   "TIP IPBytes 1, 0x1000", "FUP IPBytes 1, 0x1000", "TIP.PGD no IP"}));
}

TEST_F(Generated, PiecesAreWholePackets) {
  auto generator = WithoutTime();
  generator.Begin(0x1000, k64);
  generator.Take();
  for (int i = 0; i < 7; ++i) {
    Run(generator, InstructionClass::kConditional, 0x1000, 0x1000);
    Run(generator, InstructionClass::kIndirectJump, 0x1000, 0x1000);
    EXPECT_EQ(List(generator.Take()), (Lines{"TNT T", "TIP IPBytes 1, 0x1000"}));
  }
  EXPECT_TRUE(generator.Take().empty());
}

}  // namespace
}  // namespace flowback::record
