// SPDX-License-Identifier: MIT
// Bytes as the manual's tables draw them, and the encodings that it reserves.
#include <gtest/gtest.h>

#include "tests/packets/packet_samples.h"

namespace flowback::pt {
namespace {

using Raw = std::vector<uint8_t>;

Packet Parse(const Raw& bytes, PebsState pebs = {}) {
  Packet packet;
  const ReadResult size = ReadPacket(bytes, pebs, packet);
  EXPECT_TRUE(size.has_value());
  EXPECT_EQ(size.value_or(0), bytes.size());
  return packet;
}

ReadError ErrorOf(const Raw& bytes) {
  PebsState pebs;
  Packet packet;
  const ReadResult size = ReadPacket(bytes, pebs, packet);
  return size ? ReadError::kEnd : size.error();  // kEnd: not an error of these tests
}

TEST(PacketEncoding, TntReadsOldestOutcomeFromTheTop) {
  // 1 1 0 below the stop bit: taken, taken, not taken.
  const Packet packet = Parse({0b00011100});
  EXPECT_EQ(packet, Packet(ShortTnt{.count = 3, .bits = 0b110}));
  EXPECT_EQ(Describe(packet), "TTN");
  EXPECT_EQ(Parse({0x02, 0xa3, 0b1110, 0, 0, 0, 0, 0}), Packet(LongTnt{.count = 3, .bits = 0b110}));
  EXPECT_EQ(Parse({0x02, 0xa3, 0, 0, 0, 0, 0, 0x80}), Packet(LongTnt{.count = 47, .bits = 0}));
}

TEST(PacketEncoding, PipShiftsCr3) {
  EXPECT_EQ(Parse({0x02, 0x43, 0x03, 0, 0, 0, 0, 0}), Packet(Pip{.cr3 = 0x20, .non_root = true}));
}

TEST(PacketEncoding, VmcsIsAPage) {
  EXPECT_EQ(Parse({0x02, 0xc8, 0x01, 0, 0, 0, 0x80}), Packet(Vmcs{0x8000000001000}));
}

TEST(PacketEncoding, TmaKeepsNineBitsOfFastCounter) {
  EXPECT_EQ(Parse({0x02, 0x73, 0x34, 0x12, 0, 0x56, 0x01}),
            Packet(Tma{.ctc = 0x1234, .fast = 0x156}));
}

TEST(PacketEncoding, CycAddsSevenBitsAByte) {
  EXPECT_EQ(Parse({0xfb}), Packet(Cyc{31}));
  EXPECT_EQ(Parse({0x07, 0x02}), Packet(Cyc{32}));
  EXPECT_EQ(Parse({0xff, 0xff, 0x02}), Packet(Cyc{0x1fff}));
}

TEST(PacketEncoding, PowerPackets) {
  EXPECT_EQ(Parse({0x02, 0x22, 0x80, 0x62}),
            Packet(Pwre{.state = 6, .sub_state = 2, .hardware = true}));
  EXPECT_EQ(Parse({0x02, 0xa2, 0x36, 0x04, 0, 0, 0}),
            Packet(Pwrx{.last = 3, .deepest = 6, .store = true}));
}

TEST(PacketEncoding, BipOnlyInsideABlock) {
  EXPECT_EQ(Parse({0x0c}), Packet(ShortTnt{.count = 2, .bits = 0b10}));
  EXPECT_EQ(Parse({0x0c, 1, 2, 3, 4}, {.item_bytes = 4}),
            Packet(Bip{.id = 1, .payload = 0x04030201, .bytes = 4}));
  EXPECT_EQ(Parse({0x0c, 1, 2, 3, 4, 0, 0, 0, 0}, {.item_bytes = 8}),
            Packet(Bip{.id = 1, .payload = 0x04030201, .bytes = 8}));
  // Other bytes mean the same inside a block as outside.
  EXPECT_EQ(Parse({0x06}, {.item_bytes = 8}), Packet(ShortTnt{.count = 1, .bits = 1}));
}

TEST(PacketEncoding, BlocksOpenAndClose) {
  const auto state_after = [](const Packet& packet) {
    PebsState pebs{.item_bytes = 8};
    Packet parsed;
    EXPECT_TRUE(ReadPacket(BytesOf(packet), pebs, parsed).has_value());
    return pebs.item_bytes;
  };
  EXPECT_EQ(state_after(Bbp{.four_byte = true}), 4);
  EXPECT_EQ(state_after(Bbp{.four_byte = false}), 8);
  EXPECT_EQ(state_after(Bep{}), 0);
  EXPECT_EQ(state_after(Bep{.ip = true}), 0);
  EXPECT_EQ(state_after(Ovf{}), 0);
  EXPECT_EQ(state_after(Psb{}), 0);
  EXPECT_EQ(state_after(Mtc{}), 8);
  EXPECT_EQ(state_after(Pad{}), 8);
}

// Bits that tables list as reserved without a meaning for 1 are not guaranteed to be 0.
TEST(PacketEncoding, ReservedBitsAreIgnored) {
  EXPECT_EQ(Parse({0x02, 0x03, 0x18, 0xff}), Packet(Cbr{0x18}));
  EXPECT_EQ(Parse({0x99, 0x19}), Packet(ModeExec{.cs_l = true}));
  EXPECT_EQ(Parse({0x02, 0x63, 0x64}), Packet(Bbp{.type = 4}));
  EXPECT_EQ(Parse({0x02, 0x22, 0x7f, 0x10}), Packet(Pwre{.state = 1}));
}

TEST(PacketEncoding, ReservedEncodingsAreUnknown) {
  EXPECT_EQ(ErrorOf({0x99, 0x03}), ReadError::kUnknown);  // MODE.Exec with CS.L and CS.D
  EXPECT_EQ(ErrorOf({0x99, 0x23}), ReadError::kUnknown);  // MODE.TSX with InTX and TXAbort
  for (unsigned leaf = 2; leaf < 8; ++leaf)
    EXPECT_EQ(ErrorOf({0x99, static_cast<uint8_t>(leaf << 5)}), ReadError::kUnknown) << leaf;
  for (const uint8_t opcode : {0x0d, 0x11, 0x01, 0x1d})
    for (const uint8_t code : {5, 7}) {
      Raw bytes(9, 0);
      bytes[0] = static_cast<uint8_t>(opcode | code << 5);
      EXPECT_EQ(ErrorOf(bytes), ReadError::kUnknown) << int{opcode};
    }
  for (const uint8_t code : {2, 3}) {  // PTW's payload size
    Raw bytes(16, 0);
    bytes[0] = 0x02;
    bytes[1] = static_cast<uint8_t>(0x12 | code << 5);
    EXPECT_EQ(ErrorOf(bytes), ReadError::kUnknown);
  }
  EXPECT_EQ(ErrorOf({0x02, 0xa3, 0, 0, 0, 0, 0, 0}), ReadError::kUnknown);  // no stop bit
  EXPECT_EQ(ErrorOf({0x02, 0xa3, 1, 0, 0, 0, 0, 0}), ReadError::kUnknown);  // no outcome
  EXPECT_EQ(ErrorOf({0x02, 0x73, 0, 0, 1, 0, 0}), ReadError::kUnknown);
  EXPECT_EQ(ErrorOf({0x02, 0x73, 0, 0, 0, 0, 2}), ReadError::kUnknown);
  EXPECT_EQ(ErrorOf(Raw(16, 0xff)), ReadError::kUnknown);             // CYC without an end
  EXPECT_EQ(ErrorOf({0x02, 0x82, 0x02, 0x83}), ReadError::kUnknown);  // broken PSB
  EXPECT_EQ(ErrorOf({0x02, 0xc3, 0x00}), ReadError::kUnknown);
  EXPECT_EQ(ErrorOf({0xc9}), ReadError::kUnknown);
  EXPECT_EQ(ErrorOf({0x02, 0x04}), ReadError::kUnknown);
}

TEST(PacketEncoding, NamesAndTextsArePrintable) {
  for (const Packet& packet : PacketSamples()) {
    EXPECT_FALSE(NameOf(packet).empty());
    for (const char c : Describe(packet)) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
  EXPECT_EQ(NameOf(Packet(TipPge{})), "TIP.PGE");
  EXPECT_EQ(Describe(Packet(TipPge{{.ip_bytes = 2, .payload = 0x401000}})), "IPBytes 2, 0x401000");
  EXPECT_EQ(Describe(Packet(TipPgd{})), "no IP");
}

TEST(PacketEncoding, DescribeFollowsLastIp) {
  LastIp last;
  EXPECT_EQ(Describe(Packet(Tip{{3, 0x800000401000}}), &last), "0xffff800000401000");
  EXPECT_EQ(Describe(Packet(Fup{{1, 0x2000}}), &last), "0xffff800000402000");
  EXPECT_EQ(Describe(Packet(TipPgd{}), &last), "no IP");
  EXPECT_EQ(Describe(Packet(Psb{}), &last), "");
  EXPECT_EQ(Describe(Packet(Fup{{1, 0x2000}}), &last), "0x2000");
}

}  // namespace
}  // namespace flowback::pt
