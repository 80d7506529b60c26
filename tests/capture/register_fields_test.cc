// SPDX-License-Identifier: MIT
// Dumps of branch registers. The fields are put together here by the tables of the architectures'
// manuals, and must come back as they were.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/recorded/branch_records.h"
#include "flowback/model/recording.h"
#include "tests/capture/register_dump.h"

namespace flowback {
namespace {

using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;
using Level = BranchRecord::Level;
using Path = BranchRecord::Path;

// By the manual's table of TYPE.
constexpr std::pair<uint64_t, BranchKind> kBrbeTypes[] = {{0x00, BranchKind::kJump},
                                                          {0x01, BranchKind::kIndirectJump},
                                                          {0x02, BranchKind::kCall},
                                                          {0x03, BranchKind::kIndirectCall},
                                                          {0x05, BranchKind::kReturn},
                                                          {0x07, BranchKind::kExceptionReturn},
                                                          {0x08, BranchKind::kConditional},
                                                          {0x21, BranchKind::kArchitecture2},
                                                          {0x22, BranchKind::kSystemCall},
                                                          {0x23, BranchKind::kInterrupt},
                                                          {0x24, BranchKind::kSystemError},
                                                          {0x26, BranchKind::kArchitecture4},
                                                          {0x27, BranchKind::kArchitecture5},
                                                          {0x2a, BranchKind::kAlignmentFault},
                                                          {0x2b, BranchKind::kInstructionFault},
                                                          {0x2c, BranchKind::kDataFault},
                                                          {0x2e, BranchKind::kInterrupt},
                                                          {0x2f, BranchKind::kArchitecture1},
                                                          {0x30, BranchKind::kNotTold},
                                                          {0x39, BranchKind::kArchitecture3},
                                                          {0x3f, BranchKind::kNotTold}};

// The count in the register's short float, rounded down where that has too few bits.
uint64_t BrbeCycles(uint64_t cycles, BranchRecord& truth) {
  unsigned exponent = 0;
  uint64_t mantissa = cycles;
  while (mantissa > 0x1ff) mantissa >>= 1, ++exponent;
  if (mantissa > 0xff) mantissa &= 0xff, ++exponent;
  truth.cycles =
      static_cast<uint32_t>(exponent == 0 ? mantissa : (0x100 + mantissa) << (exponent - 1));
  truth.cycles_told = exponent > 1 ? Cycles::kAtLeast : Cycles::kExact;
  return uint64_t{exponent} << 40 | mantissa << 32;
}

// One record's three registers, and what they say.
BranchRecord AddBrbe(Random& random, const std::string& number, DumpText& text) {
  BranchRecord truth;
  const auto& [type, kind] = kBrbeTypes[random.Below(std::size(kBrbeTypes))];
  const uint64_t valid = 1 + random.Below(3), level = random.Below(4);
  const bool wrong = random.Coin();
  truth.kind = kind;
  truth.in_transaction = random.Coin();
  uint64_t info =
      valid | level << 6 | type << 8 | uint64_t{wrong} << 5 | uint64_t{truth.in_transaction} << 16;
  switch (random.Below(4)) {
    case 0:
      info |= uint64_t{1} << 46;  // CCU
      break;
    case 1:
      info |= uint64_t{0x3fff} << 32;  // exceeded
      truth.cycles = 1'046'528;
      truth.cycles_told = Cycles::kAtLeast;
      break;
    case 2:
      info |= BrbeCycles(random.Below(1 << 20), truth);
      break;
    default:
      info |= BrbeCycles(random.Below(600), truth);
  }
  const uint64_t from = random.Address(52), to = random.Address(52);
  if (valid != 1) {
    truth.from = from;
    truth.prediction = wrong ? Prediction::kWrong : Prediction::kRight;
  }
  if (valid != 2) {
    truth.to = to;
    truth.level = level == 0   ? Level::kUser
                  : level == 1 ? Level::kKernel
                  : level == 2 ? Level::kHypervisor
                               : Level::kNotTold;
  }
  text.Set("BRBINF" + number + "_EL1", info)
      .Set("BRBSRC" + number + "_EL1", from)
      .Set("BRBTGT" + number + "_EL1", to);
  return truth;
}

// Up to 64 records in two halves, of which the list may end before.
TEST(RegisterDump, BrbeComesBack) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    DumpText text("brbe");
    text.Line("dump pid=7 tid=8 time=5 ip=0x400000");
    std::vector<BranchRecord> truth;
    const uint64_t count = 1 + random.Below(64);
    const bool by_bank = random.Coin();
    for (uint64_t i = 0; i < count; ++i) {
      if (by_bank && i % 32 == 0) text.Set("BRBFCR_EL1", i / 32 << 28 | 0x7e0000);
      truth.push_back(AddBrbe(random, std::to_string(by_bank ? i % 32 : i), text));
    }
    if (count % 32 != 0) {
      const std::string end = std::to_string(by_bank ? count % 32 : count);
      text.Set("BRBINF" + end + "_EL1", 0x844).Set("BRBSRC" + end + "_EL1", 4);  // VALID is 0
    }
    const std::vector<BranchRecord> read = RecordsIn(ReadDump(text.text()));
    ASSERT_EQ(read.size(), truth.size()) << text.text();
    for (size_t i = 0; i < read.size(); ++i)
      ExpectEqual(read[read.size() - 1 - i], truth[i], text.text());
    EXPECT_TRUE(read.front().begins_stack && read.back().ends_stack);
    EXPECT_EQ(read.back().time, 5u);
  }
}

// The examples beside the manual's formula.
TEST(RegisterDump, BrbeCyclesOfTheManual) {
  const std::tuple<uint64_t, uint32_t, Cycles> examples[] = {
      {0x0000, 0, Cycles::kExact},          {0x00ff, 255, Cycles::kExact},
      {0x0100, 256, Cycles::kExact},        {0x01ff, 511, Cycles::kExact},
      {0x0200, 512, Cycles::kAtLeast},      {0x0380, 1536, Cycles::kAtLeast},
      {0x0900, 65536, Cycles::kAtLeast},    {0x0cff, 1'046'528, Cycles::kAtLeast},
      {0x3fff, 1'046'528, Cycles::kAtLeast}};
  for (const auto& [field, cycles, told] : examples) {
    DumpText text("brbe");
    text.Set("BRBINF0_EL1", field << 32 | 3).Set("BRBSRC0_EL1", 8).Set("BRBTGT0_EL1", 16);
    const std::vector<BranchRecord> read = RecordsIn(ReadDump(text.text()));
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].cycles, cycles) << field;
    EXPECT_EQ(read[0].cycles_told, told) << field;
  }
}

TEST(RegisterDump, ArchLbrComesBack) {
  constexpr BranchKind kinds[] = {BranchKind::kConditional, BranchKind::kIndirectJump,
                                  BranchKind::kJump,        BranchKind::kIndirectCall,
                                  BranchKind::kCall,        BranchKind::kReturn};
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    DumpText text("arch-lbr");
    const bool by_msr = random.Coin(), has_info = random.Coin();
    const uint64_t depth = 8 * (1 + random.Below(8)), count = 1 + random.Below(depth);
    text.Set("IA32_LBR_DEPTH", depth).Set("IA32_LBR_CTL", 0x7f0007).Line("dump");
    std::vector<BranchRecord> truth;
    for (uint64_t i = 0; i < depth; ++i) {
      const bool filled = i < count;
      BranchRecord record;
      record.from = filled ? random.Address(57) : 0;
      record.to = random.Address(57);
      uint64_t info = 0;
      if (has_info) {
        const uint64_t type = random.Below(16),
                       cycles = random.Below(3) == 0 ? 0xffff : random.Below(0xffff);
        const bool wrong = random.Coin(), valid = random.Coin();
        record.in_transaction = random.Coin();
        record.aborted = random.Coin();
        record.counters = random.Below(256);
        record.prediction = wrong ? Prediction::kWrong : Prediction::kRight;
        record.kind = type < 6 ? kinds[type] : BranchKind::kNotTold;
        if (valid) {
          record.cycles = static_cast<uint32_t>(cycles);
          record.cycles_told = cycles == 0xffff ? Cycles::kAtLeast : Cycles::kExact;
        }
        info = uint64_t{wrong} << 63 | uint64_t{record.in_transaction} << 62 |
               uint64_t{record.aborted} << 61 | uint64_t{valid} << 60 | type << 56 |
               record.counters << 32 | (valid ? cycles : 0);
      }
      const std::string n = std::to_string(i);
      text.Set(by_msr ? Hex(0x1500 + i) : "ia32_lbr_" + n + "_from_ip", record.from)
          .Set(by_msr ? Hex(0x1600 + i) : "IA32_LBR_" + n + "_TO_IP", record.to);
      if (has_info) text.Set(by_msr ? Hex(0x1200 + i) : "IA32_LBR_" + n + "_INFO", info);
      if (filled) truth.push_back(record);
    }
    const Recording recording = ReadDump(text.text());
    const std::vector<BranchRecord> read = RecordsIn(recording);
    ASSERT_EQ(read.size(), truth.size()) << text.text();
    for (size_t i = 0; i < read.size(); ++i)
      ExpectEqual(read[read.size() - 1 - i], truth[i], text.text());
    EXPECT_EQ(BranchStackConfigOf(recording.config).levels.kernel, true);
    EXPECT_TRUE(BranchStackConfigOf(recording.config).all_kinds);
    EXPECT_FALSE(BranchStackConfigOf(recording.config).call_stacks);
    EXPECT_FALSE(BranchStackConfigOf(recording.config).names_compare);
  }
}

TEST(RegisterDump, ArchLbrOfCallStacksSaysSo) {
  DumpText text("arch-lbr");
  text.Set("IA32_LBR_CTL", 0x3f000d).Set("0x1500", 8).Set("0x1600", 16);
  const Recording recording = ReadDump(text.text());
  EXPECT_TRUE(BranchStackConfigOf(recording.config).call_stacks);
  EXPECT_EQ(BranchStackConfigOf(recording.config).levels.kernel, false);
}

// The ring begins behind TOS; what the bits around the addresses are depends on the format.
TEST(RegisterDump, LbrOfEachFormatComesBack) {
  for (unsigned seed = 0; seed < 8 * kSeeds; ++seed) {
    Random random(seed);
    const uint64_t format = seed % 8, depth = random.Coin() ? 16 : 32;
    const uint64_t newest = random.Below(depth);
    const uint64_t count = random.Coin() ? depth : 1 + random.Below(depth);
    DumpText text("lbr");
    text.Set("IA32_PERF_CAPABILITIES", 0x3300 | format).Line("dump");
    text.Set("MSR_LASTBRANCH_TOS", newest);
    std::vector<BranchRecord> truth;
    for (uint64_t age = 0; age < depth; ++age) {
      const std::string n = std::to_string((newest + depth - age) % depth);
      BranchRecord record;
      uint64_t from = 0, to = 0, info = 0;
      if (age < count) {
        const bool flags = format >= 3, transactions = format == 4 || format == 5;
        const bool cycles = format >= 5, wrong = random.Coin();
        record.from = format == 0 ? 1 + random.Below(0xffffffff) : random.Address(48);
        record.to = format == 0 ? 1 + random.Below(0xffffffff) : random.Address(48);
        if (flags) record.prediction = wrong ? Prediction::kWrong : Prediction::kRight;
        record.in_transaction = transactions && random.Coin();
        record.aborted = transactions && random.Coin();
        if (cycles) {
          record.cycles = static_cast<uint32_t>(random.Below(0x10000));
          record.cycles_told = record.cycles == 0xffff ? Cycles::kAtLeast : Cycles::kExact;
        }
        from = format == 0 ? record.from | record.to << 32 : record.from;
        to = record.to;
        constexpr uint64_t kOne = 1;
        if (format == 3 || format == 6) from = (from & ~(kOne << 63)) | uint64_t{wrong} << 63;
        if (format == 4)
          from = (from & ~(uint64_t{7} << 61)) | uint64_t{wrong} << 63 |
                 uint64_t{record.in_transaction} << 62 | uint64_t{record.aborted} << 61;
        if (format == 6) to = (to & 0xffffffffffff) | uint64_t{record.cycles} << 48;
        info = uint64_t{wrong} << 63 | uint64_t{record.in_transaction} << 62 |
               uint64_t{record.aborted} << 61 | record.cycles;
        truth.push_back(record);
      }
      text.Set("MSR_LASTBRANCH_" + n + "_FROM_IP", from);
      if (format != 0) text.Set("MSR_LASTBRANCH_" + n + "_TO_IP", to);
      if (format == 5 || format == 7) text.Set("MSR_LBR_INFO_" + n, info);
    }
    const std::vector<BranchRecord> read = RecordsIn(ReadDump(text.text()));
    ASSERT_EQ(read.size(), truth.size()) << text.text();
    for (size_t i = 0; i < read.size(); ++i)
      ExpectEqual(read[read.size() - 1 - i], truth[i], text.text());
  }
}

TEST(RegisterDump, AmdComesBack) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    DumpText text("lbrv2");
    std::vector<BranchRecord> truth;
    const uint64_t count = 1 + random.Below(16);
    for (uint64_t i = 0; i < 16; ++i) {
      BranchRecord record;
      uint64_t to = 0, from = 0;
      if (i < count) {
        const uint64_t valid_and_speculative = 1 + random.Below(3);  // bits 63 and 62
        const bool wrong = random.Coin();
        record.from = random.Address(57);
        record.to = random.Address(57);
        record.prediction = wrong ? Prediction::kWrong : Prediction::kRight;
        record.path = valid_and_speculative == 1   ? Path::kWrong
                      : valid_and_speculative == 2 ? Path::kRight
                                                   : Path::kRightSpeculative;
        constexpr uint64_t kAddress = (uint64_t{1} << 58) - 1;
        from = (record.from & kAddress) | uint64_t{wrong} << 63;
        to = (record.to & kAddress) | valid_and_speculative << 62;
        truth.push_back(record);
      }
      text.Set(Hex(0xc0010300 + 2 * i), from).Set(Hex(0xc0010301 + 2 * i), to);
    }
    const Recording recording = ReadDump(text.text());
    EXPECT_TRUE(BranchStackConfigOf(recording.config).names_compare);
    const std::vector<BranchRecord> read = RecordsIn(recording);
    ASSERT_EQ(read.size(), truth.size()) << text.text();
    for (size_t i = 0; i < read.size(); ++i)
      ExpectEqual(read[read.size() - 1 - i], truth[i], text.text());
  }
}

TEST(RegisterDump, BrsComesBack) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    DumpText text("brs");
    const uint64_t next = random.Below(16);
    text.Set("DBG_EXTN_CFG", 0x44 | 1 << 5 | next << 16);
    std::vector<BranchRecord> truth;
    for (uint64_t i = 0; i < 16; ++i) {
      BranchRecord record;
      record.from = random.Address(48);
      record.to = random.Address(48);
      text.Set("SAMP_BR_FROM_" + std::to_string(i), record.from)
          .Set("SAMP_BR_TO_" + std::to_string(i), record.to & 0xffffffffffff);
      if (i < next) truth.push_back(record);
    }
    const Recording recording = ReadDump(text.text());
    const std::vector<BranchRecord> read = RecordsIn(recording);
    ASSERT_EQ(read.size(), truth.size()) << text.text();
    for (size_t i = 0; i < read.size(); ++i) ExpectEqual(read[i], truth[i], text.text());
  }
}

}  // namespace
}  // namespace flowback
