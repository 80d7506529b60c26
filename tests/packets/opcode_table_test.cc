// SPDX-License-Identifier: MIT
// The check that makes two packets with the same opcode a compile error finds them.
#include "decode/pt/packets/opcode_table.h"

#include <gtest/gtest.h>

#include "decode/pt/packets/packet_list.h"

namespace flowback::pt {
namespace {

template <Page kPage, uint8_t kValue, uint8_t kMask = 0xff>
struct Fake {
  static constexpr Opcode kOpcode{.page = kPage, .value = kValue, .mask = kMask};
};

static_assert(OpcodesAreDistinct(PacketList<>{}));
static_assert(OpcodesAreDistinct(PacketList<Pad, ShortTnt, Tip, Cyc>{}));
static_assert(!OpcodesAreDistinct(PacketList<Pad, Pad>{}), "the same kind twice");
static_assert(!OpcodesAreDistinct(PacketList<Psb, Fake<Page::kExtended, 0x82>>{}), "same byte");
static_assert(!OpcodesAreDistinct(PacketList<ShortTnt, Fake<Page::kFirst, 0x10>>{}), "in a mask");
static_assert(!OpcodesAreDistinct(PacketList<Cyc, Fake<Page::kFirst, 0x03, 0x1f>>{}), "two masks");
static_assert(!OpcodesAreDistinct(PacketList<Fake<Page::kFirst, 0x02>>{}), "a prefix");
static_assert(!OpcodesAreDistinct(PacketList<Fake<Page::kFirst, 0x99>>{}), "a prefix");
static_assert(!OpcodesAreDistinct(PacketList<Fake<Page::kExtended, 0xc3>>{}), "a prefix");
static_assert(OpcodesAreDistinct(PacketList<Fake<Page::kMode, 0x02>, Fake<Page::kThird, 0x02>>{}));

TEST(OpcodeTable, EveryKindHasABytePattern) {
  const auto pages = MakePages(Packets{});
  std::vector<unsigned> bytes(Packets::kSize);
  for (const OpcodePage& page : pages)
    for (const uint8_t kind : page)
      if (kind != kNoPacket) ++bytes[kind];
  for (size_t kind = 0; kind < bytes.size(); ++kind) EXPECT_GT(bytes[kind], 0u) << kind;
}

}  // namespace
}  // namespace flowback::pt
