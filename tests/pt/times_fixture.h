// SPDX-License-Identifier: MIT
// What tests of times have in common: TSC 2.4 GHz, an MTC every 800 ticks, core at 3 GHz.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/flow/test_code.h"
#include "tests/support/exact_flow.h"

namespace flowback::pt::times {
inline constexpr uint64_t kCode = 0x401000;
inline constexpr uint64_t kStart = 1'000'000;
// dec rax; jne -5; ret; syscall
inline const std::vector<uint8_t> kLoop = {0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3, 0x0f, 0x05};
inline constexpr uint64_t kSyscall = kCode + 6;

inline PtConfig Config() {
  PtConfig config;
  config.tsc_ctc_numerator = 200;
  config.tsc_ctc_denominator = 2;
  config.mtc_shift = 3;
  config.nominal_ratio = 24;
  return config;
}

struct Timed {
  uint64_t tsc = 0;
  TscInterval bounds;
};

struct Recorder : ExecutionConsumer {
  void OnBlock(const BlockRun& run) override {
    for (size_t i = 0; i < run.lengths.size(); ++i) {
      digest.Append(run.address + i);
      instructions.push_back({run.TscOf(i), run.BoundsOf(i)});
    }
  }
  void OnEvent(const TraceEvent& event) override {
    events.push_back(event);
    before_event.push_back(instructions.size());
  }
  void OnLoss(const DataLoss& loss) override { losses.push_back(loss); }
  bool Done() const override { return instructions.size() >= stop_after; }

  FlowDigest digest;
  std::vector<Timed> instructions;
  std::vector<TraceEvent> events;
  std::vector<size_t> before_event;
  std::vector<DataLoss> losses;
  size_t stop_after = SIZE_MAX;
};

class TimesTest : public testing::Test {
 protected:
  // PSB+ at kStart; the counter is at the line of MTC 8.
  TimesTest() : history_(History(Space({At(kCode, kLoop)}))) {
    writer_.Psb();
    writer_.TimePacket(Tsc{kStart});
    writer_.TimePacket(Tma{0x40, 0});
    writer_.TimePacket(Cbr{30});
    writer_.Write(ModeExec{.cs_l = true});
    writer_.Fup(kCode);
    writer_.Write(PsbEnd{});
  }
  void Loop(int times) {
    for (int i = 0; i < times; ++i) writer_.TntBit(true);
  }
  // Ten branches, each sent off by the TIP behind it: a processor that does not hold TIPs back. 50
  // instructions for each time.
  void ShowTipsAtOnce() {
    for (int i = 0; i < 10; ++i) {
      Loop(1);
      writer_.TntBit(false);
      writer_.Tip(kCode);
    }
  }
  // Twelve instructions ahead of an overflow and twelve behind it, and the first MTC behind those.
  void LoopAroundAnOverflow() {
    Loop(6);
    writer_.TimePacket(Mtc{9});
    writer_.Write(Ovf{});
    writer_.Fup(kCode);
    Loop(6);
    writer_.TimePacket(Mtc{11});
  }
  // Leaves the loop; a system call stops tracing. Four instructions.
  void Stop() {
    writer_.TntBit(false);
    writer_.Tip(kSyscall);
    writer_.TipPgd(std::nullopt);
  }
  // Just behind an MTC.
  void PsbPlusAt(uint64_t tsc, std::optional<uint64_t> ip) {
    writer_.Psb();
    writer_.TimePacket(Tsc{tsc});
    writer_.TimePacket(Tma{static_cast<uint16_t>(0x40 + (tsc - kStart) / 100), 0});
    if (ip) {
      writer_.Write(ModeExec{.cs_l = true});
      writer_.Fup(*ip);
    }
    writer_.Write(PsbEnd{});
  }
  // `n` periods after the start.
  static uint64_t Line(uint64_t n) { return kStart + n * 800; }

  const Recorder& Decode() {
    writer_.FlushTnt();
    DecodeInput input;
    input.resync = resync_;
    input.bytes = writer_.bytes();
    input.code = &history_;
    input.config = Config();
    const std::unique_ptr<Decoder> decoder = MakeNativeDecoder();
    Recorder plain;
    const ByteAccount expected = decoder->Decode(input, plain).value();
    input.times = true;
    const ByteAccount account = decoder->Decode(input, told_).value();
    if (told_.stop_after == SIZE_MAX) {
      EXPECT_EQ(told_.digest, plain.digest);
      EXPECT_EQ(account.decoded, expected.decoded);
      EXPECT_EQ(told_.losses.size(), plain.losses.size());
      EXPECT_EQ(told_.events.size(), plain.events.size());
    }
    deliveries::DeliveryComparison().ExpectSame(input);
    ExpectOrder();
    return told_;
  }
  void ExpectOrder() const {
    uint64_t lo = 0;
    uint64_t tsc = 0;
    for (const Timed& each : told_.instructions) {
      EXPECT_GE(each.bounds.lo, lo);
      EXPECT_GE(each.tsc, tsc);
      EXPECT_GE(each.tsc, each.bounds.lo);
      if (each.bounds.hi != 0) {
        EXPECT_LE(each.tsc, each.bounds.hi);
      }
      lo = each.bounds.lo;
      tsc = each.tsc;
    }
  }
  // All instructions from `begin` to `end` lie in [lo, hi], a few ticks more at most; hi 0: open.
  void ExpectBounds(size_t begin, size_t end, uint64_t lo, uint64_t hi) const {
    ASSERT_LE(end, told_.instructions.size());
    for (size_t i = begin; i < end; ++i) {
      const TscInterval& bounds = told_.instructions[i].bounds;
      EXPECT_LE(bounds.lo, lo) << i;
      EXPECT_GE(bounds.lo + 3, lo) << i;
      if (hi == 0) {
        EXPECT_EQ(bounds.hi, 0u) << i;
      } else {
        EXPECT_GE(bounds.hi, hi) << i;
        EXPECT_LE(bounds.hi, hi + 3) << i;
      }
    }
  }

  AddressSpaceHistory history_;
  PacketWriter writer_;
  Resync resync_ = Resync::kSyncPoint;
  Recorder told_;
};

}  // namespace flowback::pt::times
