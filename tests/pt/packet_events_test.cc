// SPDX-License-Identifier: MIT
#include "decode/pt/stream/packet_events.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

TEST(PacketEvents, AValueIsTheEvents) {
  const PacketEvent told = EventOf(Pip{.cr3 = 0x1000, .non_root = true});
  EXPECT_EQ(told.event.kind, EventKind::kPaging);
  EXPECT_EQ(told.event.value, 0x1000u);
  EXPECT_EQ(told.event.extra, 1u);
  EXPECT_FALSE(told.waits);
}

TEST(PacketEvents, OneWithAnIpWaitsForItsFup) {
  EXPECT_FALSE(EventOf(Ptw{.payload = 7}).waits);
  const PacketEvent told = EventOf(Ptw{.payload = 7, .ip = true});
  EXPECT_TRUE(told.waits);
  EXPECT_TRUE(told.Waiting().must_reach);
  EXPECT_TRUE(told.Waiting().takes_fup);
  EXPECT_EQ(told.Waiting().event.value, 7u);
  EXPECT_TRUE(EventOf(Mwait{}).waits) << "it has no such bit: a FUP always follows";
}

TEST(PacketEvents, WhatIsSampledOnlyInformsOfItsPlace) {
  EXPECT_FALSE(EventOf(Bep{.ip = true}).must_reach);
  EXPECT_TRUE(EventOf(Bep{.ip = true}).takes_fup);
  EXPECT_FALSE(EventOf(Trig{.ip = true}).must_reach);
}

// An interrupt's FUP is where the flow is left, too; that of an IRET names the IRET.
TEST(PacketEvents, AControlFlowEventTakesItsFupWhereItIsAnInstruction) {
  constexpr uint8_t kInterrupt = 0x01, kIret = 0x02;
  const PacketEvent interrupt = EventOf(Cfe{.type = kInterrupt, .vector = 14, .ip = true});
  EXPECT_EQ(interrupt.event.extra, 14u);
  EXPECT_FALSE(interrupt.must_reach);
  EXPECT_FALSE(interrupt.takes_fup);
  EXPECT_TRUE(EventOf(Cfe{.type = kIret, .ip = true}).must_reach);
  EXPECT_TRUE(EventOf(Cfe{.type = kIret, .ip = true}).takes_fup);
}

}  // namespace
}  // namespace flowback::pt
