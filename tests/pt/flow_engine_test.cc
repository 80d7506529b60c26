// SPDX-License-Identifier: MIT
// What the one-file behaviour tests can't say: changing code, gaps, early ends, both sinks.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "decode/pt/time/clock.h"
#include "tests/flow/test_code.h"

namespace flowback::pt {
namespace {

constexpr uint64_t kCode = 0x401000;

struct Recorder : ExecutionConsumer {
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      digest.Append(ip);
      ips.push_back(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent& event) override { events.push_back(event); }
  void OnLoss(const DataLoss& loss) override { losses.push_back(loss); }
  bool Done() const override { return ips.size() >= stop_after; }

  FlowDigest digest;
  std::vector<uint64_t> ips;
  std::vector<TraceEvent> events;
  std::vector<DataLoss> losses;
  size_t stop_after = SIZE_MAX;
};

void Sync(PacketWriter& writer, uint64_t ip) {
  writer.Psb();
  writer.Write(ModeExec{.cs_l = true});
  writer.Fup(ip);
  writer.Write(PsbEnd{});
}

struct Decoded {
  Recorder flow;
  ByteAccount account;
  FlowSummary summary;
};

Decoded DecodeBoth(DecodeInput input, size_t stop_after = SIZE_MAX) {
  Decoded out;
  out.flow.stop_after = stop_after;
  const std::unique_ptr<Decoder> decoder = MakeNativeDecoder();
  out.account = decoder->Decode(input, out.flow).value();
  out.summary = decoder->Summarize(input).value();
  return out;
}

// dec rax; jne -5; ret
const std::vector<uint8_t> kLoop = {0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

TEST(FlowEngine, WithoutCodeItIsAnError) {
  EXPECT_FALSE(MakeNativeDecoder()->Summarize(DecodeInput{}).has_value());
}

TEST(FlowEngine, CountingAndDeliveringAgree) {
  PacketWriter writer;
  Sync(writer, kCode);
  for (int i = 0; i < 40; ++i) writer.TntBit(true);
  writer.TntBit(false);
  writer.Tip(kCode);
  writer.TntBit(true);
  writer.FlushTnt();
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.flow.digest, out.summary.digest);
  EXPECT_EQ(out.summary.digest.count, 41u * 2 + 1 + 2);
  EXPECT_EQ(out.summary.taken, 41u);
  EXPECT_EQ(out.summary.not_taken, 1u);
  EXPECT_EQ(out.summary.returns, 1u);
  EXPECT_EQ(out.summary.blocks, 43u);
  EXPECT_EQ(out.account.decoded + out.account.padding + out.account.lost, input.bytes.size());
  EXPECT_EQ(out.account.lost, 0u);
}

// Addresses of 57 bits, of which the lower 48 are those of others.
TEST(FlowEngine, TellsAddressesByAllTheirBits) {
  constexpr uint64_t kFar = kCode | uint64_t{0x81} << 48;
  PacketWriter writer;
  Sync(writer, kCode);
  for (int i = 0; i < 60; ++i) {
    writer.TntBit(false);
    writer.FlushTnt();
    writer.Tip(i % 3 == 0 ? kFar : kCode);
    if (i % 5 == 0) writer.TntBit(true);
  }
  writer.TntBit(false);
  writer.FlushTnt();
  for (int i = 0; i < 20; ++i) writer.Write(Pad{});
  const AddressSpaceHistory history =
      History(Space({At(kCode, kLoop), At(kFar, {0x90, 0x48, 0xff, 0xc8, 0x75, 0xfa, 0xc3})}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input);
  EXPECT_TRUE(out.flow.losses.empty());
  EXPECT_EQ(out.flow.digest, out.summary.digest);
  EXPECT_EQ(std::ranges::count(out.flow.ips, kFar + 6), 20);
}

// CYC packets of all sizes, between all that the memo of walks takes together.
TEST(FlowEngine, CountsOverCycPackets) {
  constexpr uint64_t kCycles[] = {
      0, 31, 32, 4095, 4096, (1 << 19) - 1, 1 << 19, 1 << 26, 1 << 30, 5u << 28, uint64_t{1} << 40};
  for (const bool with_cyc : {false, true}) {
    PacketWriter writer;
    Sync(writer, kCode);
    writer.Write(Tsc{1'000'000});
    writer.Write(Cbr{24});
    size_t next = 0;
    const auto cyc = [&] {
      if (with_cyc) writer.Write(Cyc{kCycles[next++ % std::size(kCycles)]});
    };
    for (int i = 0; i < 300; ++i) {
      cyc();
      for (const bool taken : {true, false}) writer.TntBit(taken);
      writer.FlushTnt();
      cyc();
      if (i % 7 == 0) cyc();
      writer.Tip(kCode);
      if (i % 5 != 0) cyc();
    }
    const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
    DecodeInput input;
    input.bytes = writer.bytes();
    input.code = &history;
    input.config.Make<PtConfig>().nominal_ratio = 24;
    const Decoded out = DecodeBoth(input);
    EXPECT_TRUE(out.flow.losses.empty());
    EXPECT_EQ(out.summary.digest.count, 300u * 5);
    EXPECT_EQ(out.flow.digest, out.summary.digest);
    Clock clock(PtConfigOf(input.config));
    PebsState pebs;
    Packet packet;
    for (Bytes rest = input.bytes; !rest.empty();) {
      const ReadResult size = ReadPacket(rest, pebs, packet);
      ASSERT_TRUE(size);
      clock.OnAny(packet);
      rest = rest.subspan(*size);
    }
    EXPECT_EQ(out.summary.last_tsc, clock.tsc());
    EXPECT_EQ(out.summary.last_tsc > 1'000'000, with_cyc);
  }
}

TEST(FlowEngine, StopsWhenTheConsumerIsDone) {
  PacketWriter writer;
  Sync(writer, kCode);
  for (int i = 0; i < 1000; ++i) writer.TntBit(true);
  writer.FlushTnt();
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input, 5);
  EXPECT_LT(out.flow.ips.size(), 20u);
}

TEST(FlowEngine, TheCodeChangesWhereTracingStartsAgain) {
  // First epoch: syscall at kCode. Second, after one instruction: nop; syscall.
  PacketWriter writer;
  Sync(writer, kCode);
  for (int i = 0; i < 2; ++i) {
    writer.TipPgd(std::nullopt);
    writer.TipPge(kCode);
  }
  AddressSpaceHistory history = History(Space({At(kCode, {0x0f, 0x05})}));
  history.key = AddressSpaceHistory::Key::kInstructions;
  history.epochs.push_back({0, 1, Space({At(kCode, {0x90, 0x0f, 0x05})})});
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.flow.ips, (std::vector<uint64_t>{kCode, kCode, kCode + 1}));
  EXPECT_TRUE(out.flow.losses.empty());
}

TEST(FlowEngine, CodeThatIsKnownToBeMissingIsNotTakenFromALaterMap) {
  // A library without its file at kLibrary; another one comes there at time 1000.
  constexpr uint64_t kLibrary = 0x500000;
  PacketWriter writer;
  Sync(writer, kCode);
  writer.Tip(kLibrary);
  writer.TntBit(true);
  writer.TntBit(false);
  Sync(writer, kCode);
  writer.Tip(kCode);
  auto first = std::make_shared<AddressSpace>();
  first->Map(At(kCode, {0xff, 0xe0}));  // jmp rax
  first->Explain(kLibrary, kLoop.size(), Section({}));
  AddressSpaceHistory history = History(first);
  history.key = AddressSpaceHistory::Key::kTime;
  history.epochs.push_back({1000, 0, Space({At(kCode, {0xff, 0xe0}), At(kLibrary, kLoop)})});
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input);
  // One before the library, one behind it.
  EXPECT_EQ(out.flow.ips, (std::vector<uint64_t>{kCode, kCode}));
  ASSERT_EQ(out.flow.losses.size(), 1u);
  EXPECT_EQ(out.flow.losses[0].cause, LossCause::kNoImage);
}

TEST(FlowEngine, WhatTheRecorderLostIsALossAndDecodingGoesOnAfterIt) {
  PacketWriter writer;
  Sync(writer, kCode);
  writer.TntBit(true);
  writer.FlushTnt();
  const size_t gap = writer.size();
  Sync(writer, kCode);
  writer.TntBit(false);
  writer.FlushTnt();
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  input.gaps = {{gap, "AUX data truncated"}};
  const Decoded out = DecodeBoth(input);
  ASSERT_EQ(out.flow.losses.size(), 1u);
  EXPECT_EQ(out.flow.losses[0].cause, LossCause::kAuxLost);
  EXPECT_EQ(out.flow.losses[0].detail, "AUX data truncated");
  EXPECT_EQ(out.flow.ips.size(), 4u);
}

TEST(FlowEngine, WhereStaysBeginHidesNoPsb) {
  // Half a CBR takes the first two bytes of the PSB behind it.
  PacketWriter writer;
  Sync(writer, kCode);
  std::vector<uint8_t> bytes = writer.Take();
  const size_t damage = bytes.size();
  bytes.insert(bytes.end(), {0x02, 0x03});
  Sync(writer, kCode);
  writer.TntBit(true);
  writer.TntBit(false);
  writer.FlushTnt();
  const std::vector<uint8_t> behind = writer.Take();
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  DecodeInput input;
  input.bytes = bytes;
  input.code = &history;
  const std::vector<uint64_t> expected = DecodeBoth(input).flow.ips;
  EXPECT_EQ(expected.size(), 4u);
  const std::shared_ptr<const AddressSpaceHistory> code(&history, [](const auto*) {});
  const ThreadStay first{.code = code};
  const ThreadStay second{.code = code};
  for (size_t at = damage; at < damage + 24; ++at) {
    input.changes = {{0, &first}, {at, &second}};
    const Decoded out = DecodeBoth(input);
    EXPECT_EQ(out.flow.ips, expected) << at - damage;
    EXPECT_EQ(out.summary.digest, out.flow.digest) << at - damage;
    uint64_t end = 0;
    for (const FlowPart& part : out.summary.parts) {
      EXPECT_EQ(std::exchange(end, part.end), part.begin);
      EXPECT_EQ(part.totals.bytes_decoded, part.end - part.begin);
    }
    EXPECT_EQ(end, bytes.size());
    input.threads = 2;
    input.segment_bytes = 16;
    const FlowSummary pieces = MakeNativeDecoder()->Summarize(input).value();
    EXPECT_EQ(pieces.digest, out.summary.digest) << at - damage;
    EXPECT_EQ(pieces.parts.size(), out.summary.parts.size()) << at - damage;
  }
}

TEST(FlowEngine, WithoutReturnCompressionAReturnNeverTakesABit) {
  // call +1; ret is never reached by a TNT bit: jne after the return gets it.
  //   1000 call 1008 ; 1005 jne 1005 ; 1007 nop ; 1008 ret
  PacketWriter writer;
  Sync(writer, 0x1000);
  writer.Write(ShortTnt{.count = 1, .bits = 0});  // held back: the jne's
  writer.Tip(0x1005);
  writer.TipPge(0x1000);
  const AddressSpaceHistory history =
      History(Space({At(0x1000, {0xe8, 0x03, 0, 0, 0, 0x75, 0xfe, 0x90, 0xc3})}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  input.config.Make<PtConfig>().return_compression = false;
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.flow.ips, (std::vector<uint64_t>{0x1000, 0x1008, 0x1005}));
}

TEST(FlowEngine, AfterDeferredTipsOnlyAnUnambiguousPacketEndsALoss) {
  // 1000 jmp rax ; 1002 jne 1002 ; 1004 jmp rax. One TNT holds the bit that belongs behind the TIP.
  const std::vector<uint8_t> code = {0xff, 0xe0, 0x75, 0xfe, 0xff, 0xe0};
  PacketWriter writer;
  Sync(writer, 0x1000);
  writer.Write(ShortTnt{.count = 1, .bits = 0});
  writer.Tip(0x1002);
  writer.Write(ShortTnt{.count = 2, .bits = 0});
  writer.Write(ShortTnt{.count = 1, .bits = 0});  // contradicts: a TIP is due
  writer.Tip(0x1002);                             // whose bits came before?
  writer.TntBit(false);
  writer.FlushTnt();
  writer.Write(TipPge{LastIp::Uncompressed(0x1000)});
  writer.Tip(0x1002);
  const AddressSpaceHistory history = History(Space({At(0x1000, code)}));
  DecodeInput input;
  input.bytes = writer.bytes();
  input.code = &history;
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.flow.ips, (std::vector<uint64_t>{0x1000, 0x1002, 0x1000}));
  ASSERT_EQ(out.flow.losses.size(), 1u);
}

TEST(FlowEngine, BytesBeforeTheFirstPsbAreLostUnlessTheyOnlyTellTheTime) {
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  DecodeInput input;
  input.code = &history;
  PacketWriter time;
  time.Write(Tsc{1});
  time.Write(Cbr{30});
  Sync(time, kCode);
  input.bytes = time.bytes();
  EXPECT_EQ(DecodeBoth(input).account.lost, 0u);
  PacketWriter flow;
  flow.Write(ShortTnt{.count = 3, .bits = 5});
  Sync(flow, kCode);
  input.bytes = flow.bytes();
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.account.lost, 1u);
  ASSERT_EQ(out.flow.losses.size(), 1u);
  EXPECT_EQ(out.flow.losses[0].cause, LossCause::kNoSync);
}

TEST(FlowEngine, AStreamWithoutPsbIsLostWhole) {
  const AddressSpaceHistory history = History(Space({At(kCode, kLoop)}));
  const std::vector<uint8_t> bytes(100, 0x0c);
  DecodeInput input;
  input.code = &history;
  input.bytes = bytes;
  const Decoded out = DecodeBoth(input);
  EXPECT_EQ(out.account.lost, 100u);
  EXPECT_EQ(out.flow.ips.size(), 0u);
}

}  // namespace
}  // namespace flowback::pt
