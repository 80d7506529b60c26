// SPDX-License-Identifier: MIT
// Pauses of a trace, from packets: TSC 1 GHz, an MTC every 800 ticks. A tick is a nanosecond.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "decode/pt/source/index_stream.h"
#include "decode/stream_index.h"

namespace flowback {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr uint64_t kStart = 1'000'000;
constexpr uint64_t kNever = ~uint64_t{0};

PtConfig Config() {
  PtConfig config;
  config.tsc_ctc_numerator = 200;
  config.tsc_ctc_denominator = 2;
  config.mtc_shift = 3;
  return config;
}

class PausesTest : public testing::Test {
 protected:
  PausesTest() { Sync(kStart); }

  // The counter is at the line of MTC 8.
  void Sync(uint64_t tsc) {
    writer_.Psb();
    writer_.TimePacket(pt::Tsc{tsc});
    writer_.TimePacket(pt::Tma{0x40, 0});
    writer_.Write(pt::ModeExec{.cs_l = true});
    writer_.Fup(kCode);
    writer_.Write(pt::PsbEnd{});
  }
  void Mtc(uint8_t counter) { writer_.TimePacket(pt::Mtc{counter}); }
  size_t here() const { return writer_.size(); }

  std::vector<Pause> Pauses(const std::vector<StreamGap>& gaps = {}) {
    std::vector<Pause> pauses;
    Stream stream;
    stream.bytes = writer_.bytes();
    stream.gaps = gaps;
    timed_ = pt::VisitPauses(stream, Config(), [&](const Pause& pause) {
      pauses.push_back(pause);
      return true;
    });
    // The last one is the stream's end.
    EXPECT_TRUE(pauses.back().at_end);
    EXPECT_EQ(pauses.back().offset, here());
    pauses.pop_back();
    return pauses;
  }

  pt::PacketWriter writer_;
  bool timed_ = false;
};

TEST_F(PausesTest, LieBetweenTheTimesAroundThem) {
  Mtc(9);
  writer_.TipPgd(std::nullopt);
  Mtc(10);
  const size_t enable = here();
  writer_.TipPge(kCode);
  Mtc(11);
  const std::vector<Pause> pauses = Pauses();
  ASSERT_EQ(pauses.size(), 2);
  EXPECT_EQ(pauses[0].offset, 0);
  EXPECT_EQ(pauses[0].earliest, 0);
  EXPECT_EQ(pauses[0].latest, kStart + 800);
  EXPECT_EQ(pauses[1].offset, enable);
  EXPECT_EQ(pauses[1].earliest, kStart + 799);  // known to a tick
  EXPECT_EQ(pauses[1].latest, kStart + 3 * 800);
  EXPECT_TRUE(timed_);
}

// An overflow may have swallowed a whole turn of the MTC's counter.
TEST_F(PausesTest, AfterAnOverflowOnlyATscPacketTellsTheTime) {
  writer_.Write(pt::Ovf{});
  writer_.Fup(kCode);
  Mtc(9);
  writer_.TipPgd(std::nullopt);
  const size_t enable = here();
  writer_.TipPge(kCode);
  Mtc(10);
  writer_.TimePacket(pt::Tsc{kStart + 256 * 800});
  const std::vector<Pause> pauses = Pauses();
  ASSERT_EQ(pauses.size(), 3);
  EXPECT_EQ(pauses[1].earliest, kStart);
  EXPECT_EQ(pauses[1].latest, kStart + 256 * 800);
  EXPECT_EQ(pauses[2].offset, enable);
  EXPECT_LE(pauses[2].earliest, kStart + 800);
  EXPECT_EQ(pauses[2].latest, kStart + 256 * 800);
}

// What follows a gap is read from its first PSB on.
TEST_F(PausesTest, AGapIsOne) {
  const size_t gap = here();
  writer_.TimePacket(pt::Tsc{kStart + 4000});
  const size_t psb = here();
  Sync(kStart + 5000);
  Mtc(9);
  const std::vector<Pause> pauses = Pauses({{gap, "AUX data truncated"}});
  ASSERT_EQ(pauses.size(), 2);
  EXPECT_EQ(pauses[1].offset, psb);
  EXPECT_EQ(pauses[1].earliest, kStart);
  EXPECT_EQ(pauses[1].latest, kStart + 5800);
}

TEST_F(PausesTest, OfAnUntimedStreamAreNot) {
  writer_.Take();
  writer_.Psb();
  writer_.Write(pt::PsbEnd{});
  const size_t enable = here();
  writer_.TipPge(kCode);
  const std::vector<Pause> pauses = Pauses();
  ASSERT_EQ(pauses.size(), 1);
  EXPECT_EQ(pauses[0].offset, enable);
  EXPECT_EQ(pauses[0].latest, kNever);
  EXPECT_FALSE(timed_);
}

}  // namespace
}  // namespace flowback
