// SPDX-License-Identifier: MIT
#include "decode/pt/engine/loss_account.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

DataLoss LossAt(uint64_t begin) {
  DataLoss loss;
  loss.cause = LossCause::kFlowMismatch;
  loss.begin = loss.end = begin;
  return loss;
}

void ExpectBytes(const LossAccount& account, uint64_t decoded, uint64_t padding, uint64_t lost) {
  EXPECT_EQ(account.bytes().decoded, decoded);
  EXPECT_EQ(account.bytes().padding, padding);
  EXPECT_EQ(account.bytes().lost, lost);
}

TEST(LossAccount, EachByteCountsOnce) {
  LossAccount account;
  account.Restart(100);
  account.AddPadding(4);
  account.Begin(LossAt(130));
  EXPECT_TRUE(account.losing());
  ExpectBytes(account, 26, 4, 0);
  EXPECT_EQ(account.LostUpTo(150), 20u);
  const DataLoss loss = account.End(160, 7);
  EXPECT_FALSE(account.losing());
  EXPECT_EQ(loss.begin, 130u);
  EXPECT_EQ(loss.end, 160u);
  EXPECT_EQ(loss.end_tsc, 7u);
  EXPECT_EQ(loss.cause, LossCause::kFlowMismatch);
  account.AddPadding(1);
  account.CountDecoded(200);
  ExpectBytes(account, 26 + 39, 5, 30);
  EXPECT_EQ(account.LostUpTo(200), 30u) << "no loss is going on";
}

TEST(LossAccount, ALossThatEndsWhereItBeginsOrBeforeHasNoBytes) {
  for (const uint64_t end : {130u, 120u}) {
    LossAccount account;
    account.Begin(LossAt(130));
    EXPECT_EQ(account.LostUpTo(end), 0u);
    EXPECT_EQ(account.End(end, 0).end, 130u);
    account.CountDecoded(140);
    ExpectBytes(account, 140, 0, 0);
  }
}

TEST(LossAccount, BytesThatWereNoneAfterAllAreTakenBack) {
  LossAccount account;
  account.Begin(LossAt(130));
  account.BeginEarlier(140);
  account.BeginEarlier(125);
  EXPECT_EQ(account.End(125, 0).begin, 125u);
  account.CountDecoded(150);
  ExpectBytes(account, 150, 0, 0);
}

TEST(LossAccount, ANewAccountGoesOnWithTheLoss) {
  LossAccount account;
  account.Begin(LossAt(10));
  account.Restart();
  EXPECT_TRUE(account.losing());
  EXPECT_EQ(account.End(25, 0).begin, 10u);
  account.CountDecoded(30);
  ExpectBytes(account, 5, 0, 15);
}

TEST(LossState, AnOverflowIsResolvedByTheFupThatFollowsAtOnce) {
  LossState state;
  EXPECT_FALSE(state.fup_resolves());
  state.OnOverflow();
  EXPECT_TRUE(state.overflowed());
  EXPECT_TRUE(state.fup_resolves());
  state.OnPacket(true);
  EXPECT_TRUE(state.overflowed()) << "the flow is still lost";
  EXPECT_FALSE(state.fup_resolves());
  state.OnPacket(false);
  EXPECT_FALSE(state.overflowed());
}

TEST(LossState, AnotherLossHidesTheOverflow) {
  LossState state;
  state.OnOverflow();
  state.OnOtherLoss();
  EXPECT_FALSE(state.overflowed());
  EXPECT_TRUE(state.SameOverflow(LossState()));
}

TEST(LossState, OutcomesThatWentByCountUntilTipsAreSentOff) {
  LossState state;
  state.OnLostTnt();
  state.OnOverflow();
  EXPECT_TRUE(state.tnt_lost());
  state.OnTipsSentOff();
  EXPECT_FALSE(state.tnt_lost());
  EXPECT_TRUE(state.overflowed());
  state.OnLostTnt();
  state.OnEnd();
  EXPECT_FALSE(state.tnt_lost());
  EXPECT_FALSE(state.overflowed());
}

}  // namespace
}  // namespace flowback::pt
