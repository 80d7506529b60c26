// SPDX-License-Identifier: MIT
#include "decode/pt/stream/packet_compound.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

const auto kTipFollows = [] { return true; };
const auto kNoTipFollows = [] { return false; };
const auto kNotAsked = [] {
  ADD_FAILURE() << "the packets ahead do not matter";
  return false;
};

// A PTW, or another packet whose FUP is its own.
constexpr PacketCompound::Waiting kOwnsFup{.event = {}};
// A packet that names a place at which an interrupt may begin, too.
constexpr PacketCompound::Waiting kInforms{.event = {}, .must_reach = false, .takes_fup = false};
constexpr PacketCompound::Waiting kAbort{
    .event = {}, .takes_fup = false, .abort = true, .transaction = true};

TEST(PacketCompound, AFupByItselfBeginsATransfer) {
  const PacketCompound::FupUse use = PacketCompound().UseOfFup(kNotAsked);
  EXPECT_TRUE(use.begins_transfer);
  EXPECT_FALSE(use.binds_mode);
  EXPECT_FALSE(use.aborts);
}

TEST(PacketCompound, AFupThatAPacketTakesBeginsNone) {
  PacketCompound compound;
  compound.Wait(kOwnsFup);
  EXPECT_FALSE(compound.UseOfFup(kNotAsked).begins_transfer);
  compound.Wait(kInforms);
  EXPECT_FALSE(compound.UseOfFup(kNotAsked).begins_transfer) << "one of them takes it";
  EXPECT_EQ(compound.TakeWaiting().size(), 2u);
  EXPECT_TRUE(compound.empty());
}

TEST(PacketCompound, WhereAPacketOnlyInformsTheTipTells) {
  PacketCompound compound;
  compound.Wait(kInforms);
  EXPECT_TRUE(compound.UseOfFup(kTipFollows).begins_transfer);
  EXPECT_FALSE(compound.UseOfFup(kNoTipFollows).begins_transfer);
}

TEST(PacketCompound, AnAbortBeginsATransferOfATransaction) {
  PacketCompound compound;
  compound.Wait(kAbort);
  const PacketCompound::FupUse use = compound.UseOfFup(kNotAsked);
  EXPECT_TRUE(use.begins_transfer);
  EXPECT_TRUE(use.aborts);
  compound.BeginTransfer({.from = 0x401000, .aborts = use.aborts});
  EXPECT_TRUE(compound.in_transfer());
  const PacketCompound::Transfer transfer = compound.EndTransfer();
  EXPECT_EQ(transfer.from, 0x401000u);
  EXPECT_TRUE(transfer.aborts);
  EXPECT_FALSE(compound.in_transfer());
}

TEST(PacketCompound, AModeBindsToTheFupBehindItWhateverFollows) {
  PacketCompound compound;
  compound.SetMode(ModeExec{.cs_l = true});
  EXPECT_TRUE(compound.awaits_fup());
  const PacketCompound::FupUse use = compound.UseOfFup(kNotAsked);
  EXPECT_TRUE(use.binds_mode);
  EXPECT_FALSE(use.begins_transfer);
}

TEST(PacketCompound, AnInterruptsFupBindsAModeAheadOfItAsWell) {
  PacketCompound compound;
  compound.SetMode(ModeExec{.cs_l = true});
  compound.Wait(kInforms);
  EXPECT_TRUE(compound.UseOfFup(kTipFollows).binds_mode);
  EXPECT_TRUE(compound.UseOfFup(kTipFollows).begins_transfer);
  EXPECT_FALSE(compound.UseOfFup(kNoTipFollows).begins_transfer);
}

TEST(PacketCompound, AModeWaitsOnWhereTheFupBelongsToAnotherPacket) {
  for (const PacketCompound::Waiting& owner : {kOwnsFup, kAbort}) {
    PacketCompound compound;
    compound.SetMode(ModeExec{.cs_l = true});
    compound.Wait(owner);
    EXPECT_FALSE(compound.UseOfFup(kNotAsked).binds_mode);
    compound.TakeWaiting();
    EXPECT_TRUE(compound.UseOfFup(kNotAsked).binds_mode) << "the next FUP";
  }
}

TEST(PacketCompound, ClearingLeavesTheModeWaiting) {
  PacketCompound compound;
  compound.Wait(kOwnsFup);
  compound.BeginTransfer({.from = 1, .aborts = true});
  compound.SetMode(ModeExec{.cs_l = true});
  compound.Clear();
  EXPECT_FALSE(compound.in_transfer());
  EXPECT_TRUE(compound.TakeWaiting().empty());
  EXPECT_FALSE(compound.empty());
  EXPECT_TRUE(compound.TakeMode().has_value());
  EXPECT_TRUE(compound.empty());
  EXPECT_FALSE(compound.awaits_fup());
}

TEST(PacketCompound, WhichFupsTellThePlaceWhileTheFlowIsLost) {
  PacketCompound compound;
  EXPECT_TRUE(compound.FupTellsPlace(kTipFollows)) << "a transfer begins there";
  EXPECT_FALSE(compound.FupTellsPlace(kNoTipFollows)) << "of an unknown packet";
  compound.Wait(kInforms);
  EXPECT_TRUE(compound.FupTellsPlace(kTipFollows));
  EXPECT_FALSE(compound.FupTellsPlace(kNoTipFollows));
  compound.SetMode(ModeExec{});
  EXPECT_TRUE(compound.FupTellsPlace(kNotAsked));
  compound.Wait({.event = {}, .must_reach = false});
  EXPECT_FALSE(compound.FupTellsPlace(kNotAsked)) << "it only informs, and takes the FUP";
  compound.Wait(kOwnsFup);
  EXPECT_TRUE(compound.FupTellsPlace(kNotAsked));
}

}  // namespace
}  // namespace flowback::pt
