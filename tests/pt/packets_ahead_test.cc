// SPDX-License-Identifier: MIT
#include "decode/pt/stream/packets_ahead.h"

#include <gtest/gtest.h>

#include <vector>

#include "decode/pt/packets/packet_writer.h"

namespace flowback::pt {
namespace {

class Ahead : public testing::Test {
 protected:
  // Asks of the packets that were written, from `offset` on.
  template <class Question>
  bool Ask(Question question, size_t offset = 0) {
    input_.bytes = writer_.bytes();
    StreamWindow window(input_.bytes);
    PacketsAhead ahead(input_, window, errata_);
    return question(ahead, From(offset));
  }
  PacketsAhead::From From(size_t offset) const {
    return {.at = input_.bytes.data() + offset, .end = input_.bytes.data() + input_.bytes.size()};
  }
  static constexpr auto kTip = [](PacketsAhead& ahead, const PacketsAhead::From& from) {
    return ahead.FollowedByTip(from);
  };
  static constexpr auto kEnable = [](PacketsAhead& ahead, const PacketsAhead::From& from) {
    return ahead.FollowedByEnable(from);
  };
  static constexpr auto kTnt = [](PacketsAhead& ahead, const PacketsAhead::From& from) {
    return ahead.FollowedByTnt(from);
  };
  static constexpr auto kOff = [](PacketsAhead& ahead, const PacketsAhead::From& from) {
    return ahead.ShowsThatTracingIsOff(from);
  };

  PacketWriter writer_;
  DecodeInput input_;
  Errata errata_;
};

TEST_F(Ahead, WhatSaysNothingOfTheFlowMayStandBeforeATip) {
  writer_.Write(Mtc{1});
  writer_.Write(Pip{});
  writer_.Write(Cyc{});
  writer_.Tip(0x401000);
  EXPECT_TRUE(Ask(kTip));
  EXPECT_FALSE(Ask(kEnable));
  EXPECT_FALSE(Ask(kTnt)) << "only times may stand before that";
}

TEST_F(Ahead, WhatTellsOfTheFlowEndsTheLook) {
  writer_.Write(ShortTnt{.count = 1, .bits = 1});
  writer_.Tip(0x401000);
  EXPECT_FALSE(Ask(kTip));
  EXPECT_TRUE(Ask(kTnt));
}

TEST_F(Ahead, NothingFollowsTheLastPacket) {
  EXPECT_FALSE(Ask(kTip));
  EXPECT_FALSE(Ask(kTnt));
  EXPECT_FALSE(Ask(kOff));
}

TEST_F(Ahead, TracingIsOffWhereItIsTurnedOnNext) {
  writer_.Write(Mtc{1});
  writer_.Write(TipPge{.ip = {.ip_bytes = IpPayload::kFull, .payload = 0x401000}});
  EXPECT_TRUE(Ask(kOff));
  EXPECT_TRUE(Ask(kEnable));
  EXPECT_FALSE(Ask(kTip));
}

TEST_F(Ahead, TracingIsOffWhereAPsbHasNoAddress) {
  writer_.Write(Psb{});
  writer_.Write(PsbEnd{});
  EXPECT_TRUE(Ask(kOff));
}

TEST_F(Ahead, WholePsbHeadersMayStandBeforeTheTipPge) {
  writer_.Write(Mtc{1});
  for (int i = 0; i < 2; ++i) {
    writer_.Write(Psb{});
    writer_.Write(ModeExec{.cs_l = true});
    writer_.Fup(0x401000);
    writer_.Write(PsbEnd{});
  }
  const size_t behind = writer_.bytes().size();
  writer_.Write(ModeExec{.cs_l = true});
  writer_.Write(TipPge{.ip = {.ip_bytes = IpPayload::kFull, .payload = 0x401000}});
  EXPECT_TRUE(Ask(kEnable));
  EXPECT_TRUE(Ask(kEnable, behind));
}

TEST_F(Ahead, AnOverflowInAPsbHeaderEndsTheLookForATipPge) {
  writer_.Write(Psb{});
  writer_.Write(Ovf{});
  writer_.Write(TipPge{.ip = {.ip_bytes = IpPayload::kFull, .payload = 0x401000}});
  EXPECT_FALSE(Ask(kEnable));
}

TEST_F(Ahead, APsbHeaderWithoutAFupEndsTheLookForATipPge) {
  writer_.Write(Psb{});
  writer_.Write(PsbEnd{});
  writer_.Write(TipPge{.ip = {.ip_bytes = IpPayload::kFull, .payload = 0x401000}});
  EXPECT_FALSE(Ask(kEnable));
}

// Otherwise a trace that is idle for gigabytes would be kept in memory.
TEST_F(Ahead, TheLookForATipPgeHasAnEnd) {
  constexpr int kFew = 1000;
  constexpr int kMany = 300'000;
  for (int i = 0; i < kMany; ++i) writer_.Write(Pad{});
  writer_.Write(TipPge{.ip = {.ip_bytes = IpPayload::kFull, .payload = 0x401000}});
  EXPECT_FALSE(Ask(kEnable));
  EXPECT_TRUE(Ask(kEnable, kMany - kFew));
}

// One look serves all the packets that it went over; after a jump another one is made.
TEST_F(Ahead, ALookHoldsForThePacketsItWentOver) {
  writer_.Write(Mtc{1});
  const size_t second = writer_.bytes().size();
  writer_.Write(Mtc{2});
  writer_.Tip(0x401000);
  const size_t behind = writer_.bytes().size();
  writer_.Write(Mtc{3});
  writer_.Write(ShortTnt{.count = 1, .bits = 1});
  input_.bytes = writer_.bytes();
  StreamWindow window(input_.bytes);
  PacketsAhead ahead(input_, window, errata_);
  EXPECT_TRUE(ahead.FollowedByTip(From(0)));
  // Taken for the end, the stream would have no TIP: the first look is remembered.
  EXPECT_TRUE(ahead.FollowedByTip({.at = From(second).at, .end = From(second).at}));
  EXPECT_FALSE(ahead.FollowedByTip(From(behind)));
  ahead.Forget();
  EXPECT_FALSE(ahead.FollowedByTip({.at = From(second).at, .end = From(second).at}));
}

}  // namespace
}  // namespace flowback::pt
