// SPDX-License-Identifier: MIT
// Each packet encodes to bytes that parse back to it, and to nothing when a byte is missing.
#include <gtest/gtest.h>

#include <set>

#include "tests/packets/packet_samples.h"

namespace flowback::pt {
namespace {

std::string Show(const Packet& packet) {
  return std::string(NameOf(packet)) + " " + Describe(packet);
}

TEST(PacketRoundTrip, SamplesCoverEveryKind) {
  std::set<size_t> kinds;
  for (const Packet& packet : PacketSamples()) kinds.insert(packet.index());
  EXPECT_EQ(kinds.size(), Packets::kSize);
}

TEST(PacketRoundTrip, ParsesWhatItEncodes) {
  for (const Packet& packet : PacketSamples()) {
    const auto bytes = BytesOf(packet);
    PebsState pebs = StateFor(packet);
    Packet parsed;
    const ReadResult size = ReadPacket(bytes, pebs, parsed);
    ASSERT_TRUE(size.has_value()) << Show(packet);
    EXPECT_EQ(*size, bytes.size()) << Show(packet);
    EXPECT_EQ(parsed, packet) << Show(packet) << " became " << Show(parsed);
  }
}

TEST(PacketRoundTrip, BytesAfterThePacketDoNotMatter) {
  for (const Packet& packet : PacketSamples()) {
    auto bytes = BytesOf(packet);
    const size_t own = bytes.size();
    bytes.insert(bytes.end(), 16, 0xff);
    PebsState pebs = StateFor(packet);
    Packet parsed;
    EXPECT_EQ(ReadPacket(bytes, pebs, parsed), own) << Show(packet);
    EXPECT_EQ(parsed, packet);
  }
}

TEST(PacketRoundTrip, EveryCutIsTruncated) {
  for (const Packet& packet : PacketSamples()) {
    const auto bytes = BytesOf(packet);
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      // An exact allocation, so that a sanitizer sees a read past the end.
      const std::vector<uint8_t> part(bytes.begin(), bytes.begin() + cut);
      PebsState pebs = StateFor(packet);
      Packet parsed;
      const ReadResult size = ReadPacket(part, pebs, parsed);
      ASSERT_FALSE(size.has_value()) << Show(packet) << " cut to " << cut;
      EXPECT_EQ(size.error(), ReadError::kTruncated) << Show(packet) << " cut to " << cut;
      EXPECT_EQ(pebs.item_bytes, StateFor(packet).item_bytes);
    }
  }
}

TEST(PacketRoundTrip, NoBytesIsTheEnd) {
  PebsState pebs;
  Packet parsed;
  EXPECT_EQ(ReadPacket({}, pebs, parsed).error(), ReadError::kEnd);
  EXPECT_EQ(ReadAnyPacket({}, pebs, parsed).error(), ReadError::kEnd);
}

TEST(PacketRoundTrip, InPlaceAndTableReadersAgree) {
  for (const Packet& packet : PacketSamples()) {
    const auto bytes = BytesOf(packet);
    PebsState pebs = StateFor(packet);
    Packet parsed;
    ASSERT_TRUE(ReadAnyPacket(bytes, pebs, parsed).has_value());
    EXPECT_EQ(parsed, packet) << Show(packet);
  }
}

}  // namespace
}  // namespace flowback::pt
