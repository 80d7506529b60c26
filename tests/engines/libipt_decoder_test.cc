// SPDX-License-Identifier: MIT
// Places where the reference engine has to do more than ask libipt: damage, gaps, ends, endless
// loops, code that comes later.
#include "decode/pt/libipt/libipt_decoder.h"

#include <gtest/gtest.h>

#include "decode/pt/packets/packet_writer.h"

namespace flowback {
namespace {

constexpr uint64_t kCode = 0x401000;

const std::vector<uint8_t> kBytes = {
    0x48, 0xff, 0xc8,              // 401000 dec rax
    0x75, 0xfb,                    // 401003 jne 401000
    0xff, 0xe0,                    // 401005 jmp rax
    0x90,                          // 401007 nop
    0xeb, 0xfe,                    // 401008 jmp 401008
    0xe8, 0x00, 0x00, 0x00, 0x00,  // 40100a call 40100f (the next instruction)
    0xc3,                          // 40100f ret
};

// The flow as text: "401000 401003+ |overflow| ...": + taken, - not taken, ! stopped.
class Script final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      text += Offset(ip);
      ip += length;
    }
    static constexpr const char* kExits[] = {"", "+", "-", "!"};
    text += kExits[static_cast<int>(run.exit)];
    nexts.push_back(run.next);
  }
  void OnEvent(const TraceEvent& event) override {
    text += std::string(" ") + Name(event.kind);
    events.push_back(event);
  }
  void OnLoss(const DataLoss& loss) override {
    text += std::string(" |") + Name(loss.cause) + "|";
    losses.push_back(loss);
  }
  bool Done() const override { return stop_after != 0 && nexts.size() >= stop_after; }

  std::string text;
  std::vector<uint64_t> nexts;
  std::vector<TraceEvent> events;
  std::vector<DataLoss> losses;
  size_t stop_after = 0;

 private:
  static std::string Offset(uint64_t ip) {
    char digits[24];
    std::snprintf(digits, sizeof(digits), " %llx", static_cast<unsigned long long>(ip - kCode));
    return digits;
  }
};

CodeMapping Map(uint64_t address, std::vector<uint8_t> code) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(code));
  CodeMapping mapping;
  mapping.address = address;
  mapping.size = owner->size();
  mapping.section =
      std::make_shared<CodeSection>("code", 0, Bytes(*owner), owner, Verification::kGiven);
  return mapping;
}

std::shared_ptr<const AddressSpace> SpaceOf(std::vector<CodeMapping> mappings) {
  auto space = std::make_shared<AddressSpace>();
  for (CodeMapping& mapping : mappings) space->Map(std::move(mapping));
  return space;
}

class LibiptDecoderTest : public testing::Test {
 protected:
  LibiptDecoderTest() { history_.epochs.push_back({0, 0, SpaceOf({Map(kCode, kBytes)})}); }

  void PsbPlus(std::optional<uint64_t> ip) {
    trace_.Psb();
    if (ip) trace_.Write(pt::ModeExec{.cs_l = true, .cs_d = false, .iflag = false});
    if (ip) trace_.Fup(ip);
    trace_.Write(pt::PsbEnd{});
  }
  void Start(uint64_t ip) {
    PsbPlus(std::nullopt);
    trace_.Write(pt::ModeExec{.cs_l = true, .cs_d = false, .iflag = false});
    trace_.TipPge(ip);
  }
  void Raw(std::initializer_list<uint8_t> bytes) {
    trace_.FlushTnt();
    std::vector<uint8_t> all = Bytes_();
    all.insert(all.end(), bytes);
    bytes_ = std::move(all);
  }
  void Tnt(std::initializer_list<bool> bits) {
    for (const bool bit : bits) trace_.TntBit(bit);
    trace_.FlushTnt();
  }

  void Decode() {
    bytes_ = Bytes_();
    DecodeInput input;
    input.bytes = bytes_;
    input.code = &history_;
    input.gaps = gaps_;
    const Result<ByteAccount> account = MakeLibiptDecoder()->Decode(input, script_);
    ASSERT_TRUE(account) << account.error().message();
    account_ = *account;
    EXPECT_EQ(account_.decoded + account_.padding + account_.lost, bytes_.size());
  }

  // Returns the bytes written so far, raw bytes included.
  std::vector<uint8_t> Bytes_() {
    trace_.FlushTnt();
    const std::vector<uint8_t> more = trace_.Take();
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return bytes_;
  }

  pt::PacketWriter trace_;
  std::vector<uint8_t> bytes_;
  AddressSpaceHistory history_;
  std::vector<StreamGap> gaps_;
  Script script_;
  ByteAccount account_;
};

TEST_F(LibiptDecoderTest, AnEmptyStreamIsNothing) {
  Decode();
  EXPECT_EQ(script_.text, "");
}

TEST_F(LibiptDecoderTest, AStreamWithoutPsbIsLost) {
  trace_.TipPge(kCode);
  Tnt({true, false});
  Decode();
  EXPECT_EQ(script_.text, " |no sync point|");
  EXPECT_EQ(account_.lost, bytes_.size());
}

TEST_F(LibiptDecoderTest, OutcomesAndTargetsAreTold) {
  Start(kCode);
  Tnt({true, false});
  trace_.Tip(kCode + 0xa);
  trace_.Tip(kCode + 7);
  Decode();
  // The last branch leads into an endless loop, whose progress no packet shows.
  EXPECT_EQ(
      script_.text,
      " started exec-mode 0 3+ 0 3- 5+ a+ f+ |loop without packets: number of rounds not proven|");
  EXPECT_EQ(script_.nexts,
            (std::vector<uint64_t>{kCode, kCode + 5, kCode + 0xa, kCode + 0xf, kCode + 7}));
}

TEST_F(LibiptDecoderTest, WhatFollowsTheLastPacketIsNotTold) {
  Start(kCode);
  Tnt({true});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+");
  EXPECT_EQ(script_.nexts, std::vector<uint64_t>{kCode});
}

TEST_F(LibiptDecoderTest, PaddingIsCounted) {
  Start(kCode);
  for (int i = 0; i < 5; ++i) trace_.Write(pt::Pad{});
  Tnt({false});
  trace_.Write(pt::Pad{});
  Decode();
  EXPECT_EQ(account_.padding, 6u);
  EXPECT_EQ(account_.lost, 0u);
}

TEST_F(LibiptDecoderTest, OutcomesBeforeAnUnknownPacketCount) {
  Start(kCode);
  Tnt({true, true, false});
  const size_t bad = Bytes_().size();
  Raw({0x02, 0x0b});  // no such extended opcode
  PsbPlus(kCode);
  const size_t psb = bad + 2;
  Tnt({true});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ 0 3+ 0 3- |unknown or damaged packet| 0 3+");
  ASSERT_EQ(script_.losses.size(), 1u);
  EXPECT_EQ(script_.losses[0].begin, bad);
  EXPECT_EQ(script_.losses[0].end, psb);
  EXPECT_EQ(script_.losses[0].last_ip, kCode + 5);
}

// libipt reads ahead into the PSB+ and, when that fails, drops the outcomes it had just read.
TEST_F(LibiptDecoderTest, OutcomesBeforeADamagedPsbPlusCount) {
  Start(kCode);
  Tnt({true, true});
  const size_t damaged = Bytes_().size();
  trace_.Psb();
  Tnt({true});  // a TNT can't be in PSB+
  trace_.Write(pt::PsbEnd{});
  PsbPlus(kCode);
  Tnt({false});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ 0 3+ |packets contradict the code| 0 3-");
  ASSERT_EQ(script_.losses.size(), 1u);
  EXPECT_EQ(script_.losses[0].begin, damaged);
}

TEST_F(LibiptDecoderTest, InstructionsBeforeAContradictedBranchCount) {
  Start(kCode);
  Tnt({true});
  trace_.Tip(kCode + 0xa);  // at the jne
  PsbPlus(kCode);
  Tnt({false});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ 0 |packets contradict the code| 0 3-");
  EXPECT_EQ(script_.losses.at(0).last_ip, kCode + 3);
}

TEST_F(LibiptDecoderTest, AReturnWithoutItsCallIsAMismatch) {
  Start(kCode + 0xa);
  Tnt({true});  // a call to the next instruction is not on the call stack
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode a+ |compressed return without its call|");
  EXPECT_EQ(script_.losses.at(0).last_ip, kCode + 0xf);
}

TEST_F(LibiptDecoderTest, AnEndlessLoopIsFoundAndNotCounted) {
  Start(kCode + 7);
  Tnt({true});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode |endless loop without packets|");
}

TEST_F(LibiptDecoderTest, AnInterruptInAnEndlessLoopIsNoRunaway) {
  Start(kCode + 7);
  trace_.Fup(kCode + 8);
  trace_.Tip(kCode);
  Tnt({false});
  Decode();
  EXPECT_EQ(
      script_.text,
      " started exec-mode 7 |loop without packets: number of rounds not proven| interrupted 0 3-");
  EXPECT_EQ(script_.events.back().target, kCode);
}

TEST_F(LibiptDecoderTest, MissingCodeIsALossAtItsAddress) {
  Start(kCode);
  Tnt({false});
  trace_.Tip(0x500000);
  Tnt({true});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3- 5+ |no code image|");
  EXPECT_EQ(script_.losses.at(0).last_ip, 0x500000u);
}

TEST_F(LibiptDecoderTest, AGapEndsTheFlowAndIsReported) {
  Start(kCode);
  Tnt({true});
  gaps_.push_back({Bytes_().size(), "AUX data truncated"});
  Tnt({true, true});  // belongs to nothing
  const size_t begin = gaps_[0].offset;
  const size_t psb = Bytes_().size();
  PsbPlus(kCode);
  Tnt({false});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ |AUX data lost| 0 3-");
  ASSERT_EQ(script_.losses.size(), 1u);
  EXPECT_EQ(script_.losses[0].begin, begin);
  EXPECT_EQ(script_.losses[0].end, psb);
  EXPECT_EQ(script_.losses[0].detail, "AUX data truncated");
}

TEST_F(LibiptDecoderTest, ACutPacketAtTheEndIsATruncation) {
  Start(kCode);
  Tnt({true});
  const size_t cut = Bytes_().size();
  Raw({0x02, 0xa3, 0x00});  // a long TNT has eight bytes
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ |trace cut|");
  EXPECT_EQ(script_.losses.at(0).begin, cut);
  EXPECT_EQ(script_.losses.at(0).end, cut + 3);
}

TEST_F(LibiptDecoderTest, AnOverflowIsALossAndAnEvent) {
  Start(kCode);
  Tnt({true});
  const size_t overflow = Bytes_().size();
  trace_.Write(pt::Ovf{});
  trace_.Fup(kCode + 3);
  Tnt({false});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ |internal buffer overflow| overflow 3-");
  EXPECT_EQ(script_.losses.at(0).begin, overflow);
  EXPECT_EQ(script_.losses.at(0).end, overflow + 2);
  EXPECT_EQ(script_.events.back().ip, kCode + 3);
}

TEST_F(LibiptDecoderTest, AnAbortHasItsTarget) {
  Start(kCode);
  trace_.Write(pt::ModeTsx{.in_transaction = true, .aborted = false});
  trace_.Fup(kCode);
  Tnt({true});
  trace_.Write(pt::ModeTsx{.in_transaction = false, .aborted = true});
  trace_.Fup(kCode + 3);
  trace_.Tip(kCode + 5);
  trace_.Tip(kCode);
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode tx-begin 0 3+ 0 tx-abort 5+");
  EXPECT_EQ(script_.events.back().ip, kCode + 3);
  EXPECT_EQ(script_.events.back().target, kCode + 5);
}

TEST_F(LibiptDecoderTest, CodeMayChangeWhileTracingIsOff) {
  history_.key = AddressSpaceHistory::Key::kInstructions;
  // The second program has a nop where the first has dec rax.
  std::vector<uint8_t> changed = kBytes;
  changed[0] = changed[1] = changed[2] = 0x90;
  history_.epochs.push_back({0, 2, SpaceOf({Map(kCode, changed)})});
  Start(kCode);
  Tnt({true});
  trace_.Fup(kCode);
  trace_.TipPgd(std::nullopt);
  trace_.TipPge(kCode);
  Tnt({false});
  Decode();
  EXPECT_EQ(script_.text, " started exec-mode 0 3+ stopped-async started 0 1 2 3-");
}

TEST_F(LibiptDecoderTest, EndsWhenTheConsumerHasEnough) {
  Start(kCode);
  for (int i = 0; i < 50; ++i) Tnt({true, true, true, true, true, true});
  script_.stop_after = 2;
  Decode();
  EXPECT_EQ(script_.nexts.size(), 2u);
}

}  // namespace
}  // namespace flowback
