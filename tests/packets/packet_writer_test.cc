// SPDX-License-Identifier: MIT
#include "decode/pt/packets/packet_writer.h"

#include <gtest/gtest.h>

namespace flowback::pt {
namespace {

std::vector<Packet> Read(const std::vector<uint8_t>& bytes) {
  std::vector<Packet> out;
  PebsState pebs;
  for (size_t at = 0; at < bytes.size();) {
    Packet packet;
    const ReadResult size = ReadPacket(Bytes(bytes).subspan(at), pebs, packet);
    if (!size) {
      ADD_FAILURE() << "unreadable at " << at;
      return out;
    }
    out.push_back(packet);
    at += *size;
  }
  return out;
}

TEST(PacketWriter, ShortTntGoesOutWhenFull) {
  PacketWriter writer;
  for (int i = 0; i < 5; ++i) writer.TntBit(i == 0);
  EXPECT_EQ(writer.size(), 0u);
  EXPECT_EQ(writer.pending_tnt(), 5u);
  writer.TntBit(true);
  EXPECT_EQ(Read(writer.bytes()), std::vector<Packet>{(ShortTnt{.count = 6, .bits = 0b100001})});
  writer.FlushTnt();
  EXPECT_EQ(writer.size(), 1u);
}

TEST(PacketWriter, LongTntForMoreThanSix) {
  PacketWriter writer({.long_tnt = true});
  for (int i = 0; i < 48; ++i) writer.TntBit(true);
  writer.FlushTnt();
  EXPECT_EQ(Read(writer.Take()),
            (std::vector<Packet>{LongTnt{.count = 47, .bits = (uint64_t{1} << 47) - 1},
                                 ShortTnt{.count = 1, .bits = 1}}));
  EXPECT_EQ(writer.size(), 0u);
}

TEST(PacketWriter, ShortTntInsteadOfALongOneWhereSmaller) {
  PacketWriter writer({.long_tnt = true, .short_where_smaller = true});
  for (int i = 0; i < 8; ++i) writer.TntBit(i == 0 || i == 7);
  writer.FlushTnt();
  EXPECT_EQ(Read(writer.Take()), (std::vector<Packet>{ShortTnt{.count = 6, .bits = 0b100000},
                                                      ShortTnt{.count = 2, .bits = 0b01}}));
  for (int i = 0; i < 47; ++i) writer.TntBit(true);
  EXPECT_EQ(Read(writer.Take()),
            (std::vector<Packet>{LongTnt{.count = 47, .bits = (uint64_t{1} << 47) - 1}}));
}

// Only the packet that comes first after a time may hold older branches.
TEST(PacketWriter, OneTntPacketAfterATimeAmongItsOutcomes) {
  PacketWriter writer({.long_tnt = true, .short_where_smaller = true});
  for (int i = 0; i < 7; ++i) writer.TntBit(true);
  writer.TimePacket(Mtc{5});
  writer.TntBit(false);
  writer.FlushTnt();
  EXPECT_EQ(Read(writer.Take()),
            (std::vector<Packet>{Mtc{5}, LongTnt{.count = 8, .bits = 0b11111110}}));
}

TEST(PacketWriter, TntStandsBeforeTheNextPacketButNotBeforeTime) {
  PacketWriter writer;
  writer.TntBit(true);
  writer.TimePacket(Mtc{5});
  writer.TntBit(false);
  writer.Write(TraceStop{});
  EXPECT_EQ(Read(writer.bytes()),
            (std::vector<Packet>{Mtc{5}, ShortTnt{.count = 2, .bits = 0b10}, TraceStop{}}));
}

TEST(PacketWriter, CompressesAgainstTheIpBefore) {
  PacketWriter writer;
  writer.Psb();
  writer.Fup(0x401000);
  writer.Tip(0x401234);
  writer.TipPgd(std::nullopt);
  writer.TipPge(0x7fff00001000);
  writer.Psb();
  writer.Fup(0x7fff00001000);
  EXPECT_EQ(Read(writer.bytes()),
            (std::vector<Packet>{Psb{}, Fup{{IpPayload::kUpdate32, 0x401000}},
                                 Tip{{IpPayload::kUpdate16, 0x1234}}, TipPgd{},
                                 TipPge{{IpPayload::kSignExtend48, 0x7fff00001000}}, Psb{},
                                 Fup{{IpPayload::kSignExtend48, 0x7fff00001000}}}));
}

TEST(PacketWriter, TellsTheIpAfterASyncPointInFullWhereAsked) {
  PacketWriter writer({.full_ip_after_psb = true});
  writer.Psb();
  writer.Fup(0x401000);
  writer.Tip(0x401234);
  EXPECT_EQ(Read(writer.bytes()),
            (std::vector<Packet>{Psb{}, Fup{{IpPayload::kSignExtend48, 0x401000}},
                                 Tip{{IpPayload::kUpdate16, 0x1234}}}));
}

TEST(PacketWriter, VerbatimIpsCountForCompression) {
  PacketWriter writer;
  writer.Write(Tip{{IpPayload::kFull, 0x1122334455667788}});
  writer.Tip(0x1122334455660001);
  EXPECT_EQ(Read(writer.bytes()).back(), Packet(Tip{{IpPayload::kUpdate16, 1}}));
}

TEST(PacketWriter, TheIpAfterAnOverflowStandsAlone) {
  PacketWriter writer;
  writer.Tip(0x401000);
  writer.Write(Ovf{});
  writer.TipPgd(std::nullopt);
  writer.TipPge(0x401008);
  writer.Tip(0x401010);
  EXPECT_EQ(Read(writer.bytes()),
            (std::vector<Packet>{Tip{{IpPayload::kUpdate32, 0x401000}}, Ovf{}, TipPgd{},
                                 TipPge{{IpPayload::kSignExtend48, 0x401008}},
                                 Tip{{IpPayload::kUpdate16, 0x1010}}}));
}

}  // namespace
}  // namespace flowback::pt
