// SPDX-License-Identifier: MIT
// Our bytes read by libipt, and libipt's read by us. libipt 2.0.5 knows no PEBS, event trace or
// trigger packets.
#include <gtest/gtest.h>
#include <intel-pt.h>

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "tests/packets/packet_samples.h"

namespace flowback::pt {
namespace {

struct Libipt {
  pt_packet packet{};

  explicit Libipt(pt_packet_type type) { packet.type = type; }
};

pt_packet IpPacket(pt_packet_type type, const IpPayload& ip) {
  pt_packet out = Libipt(type).packet;
  out.payload.ip.ipc = static_cast<pt_ip_compression>(ip.ip_bytes);
  out.payload.ip.ip = ip.payload;
  return out;
}

template <class T>
pt_packet TntPacket(pt_packet_type type, const T& tnt) {
  pt_packet out = Libipt(type).packet;
  out.payload.tnt.bit_size = tnt.count;
  out.payload.tnt.payload = tnt.bits;
  return out;
}

// The same packet as libipt states it; nullopt when it can't.
struct ToLibipt {
  using Answer = std::optional<pt_packet>;

  Answer operator()(const Pad&) const { return Libipt(ppt_pad).packet; }
  Answer operator()(const Psb&) const { return Libipt(ppt_psb).packet; }
  Answer operator()(const PsbEnd&) const { return Libipt(ppt_psbend).packet; }
  Answer operator()(const Ovf&) const { return Libipt(ppt_ovf).packet; }
  Answer operator()(const TraceStop&) const { return Libipt(ppt_stop).packet; }
  Answer operator()(const ShortTnt& p) const { return TntPacket(ppt_tnt_8, p); }
  Answer operator()(const LongTnt& p) const { return TntPacket(ppt_tnt_64, p); }
  Answer operator()(const Tip& p) const { return IpPacket(ppt_tip, p.ip); }
  Answer operator()(const TipPge& p) const { return IpPacket(ppt_tip_pge, p.ip); }
  Answer operator()(const TipPgd& p) const { return IpPacket(ppt_tip_pgd, p.ip); }
  Answer operator()(const Fup& p) const { return IpPacket(ppt_fup, p.ip); }
  Answer operator()(const ModeExec& p) const {
    if (p.iflag) return {};  // came with event trace
    pt_packet out = Libipt(ppt_mode).packet;
    out.payload.mode.leaf = pt_mol_exec;
    out.payload.mode.bits.exec.csl = p.cs_l;
    out.payload.mode.bits.exec.csd = p.cs_d;
    return out;
  }
  Answer operator()(const ModeTsx& p) const {
    pt_packet out = Libipt(ppt_mode).packet;
    out.payload.mode.leaf = pt_mol_tsx;
    out.payload.mode.bits.tsx.intx = p.in_transaction;
    out.payload.mode.bits.tsx.abrt = p.aborted;
    return out;
  }
  Answer operator()(const Pip& p) const {
    pt_packet out = Libipt(ppt_pip).packet;
    out.payload.pip.cr3 = p.cr3;
    out.payload.pip.nr = p.non_root;
    return out;
  }
  Answer operator()(const Vmcs& p) const {
    pt_packet out = Libipt(ppt_vmcs).packet;
    out.payload.vmcs.base = p.base;
    return out;
  }
  Answer operator()(const Tsc& p) const {
    pt_packet out = Libipt(ppt_tsc).packet;
    out.payload.tsc.tsc = p.tsc;
    return out;
  }
  Answer operator()(const Tma& p) const {
    pt_packet out = Libipt(ppt_tma).packet;
    out.payload.tma.ctc = p.ctc;
    out.payload.tma.fc = p.fast;
    return out;
  }
  Answer operator()(const Mtc& p) const {
    pt_packet out = Libipt(ppt_mtc).packet;
    out.payload.mtc.ctc = p.ctc;
    return out;
  }
  Answer operator()(const Cyc& p) const {
    pt_packet out = Libipt(ppt_cyc).packet;
    out.payload.cyc.value = p.cycles;
    return out;
  }
  Answer operator()(const Cbr& p) const {
    pt_packet out = Libipt(ppt_cbr).packet;
    out.payload.cbr.ratio = p.ratio;
    return out;
  }
  Answer operator()(const Mnt& p) const {
    pt_packet out = Libipt(ppt_mnt).packet;
    out.payload.mnt.payload = p.payload;
    return out;
  }
  Answer operator()(const Ptw& p) const {
    pt_packet out = Libipt(ppt_ptw).packet;
    out.payload.ptw.payload = p.payload;
    out.payload.ptw.plc = p.bytes == 8 ? 1 : 0;
    out.payload.ptw.ip = p.ip;
    return out;
  }
  Answer operator()(const ExStop& p) const {
    pt_packet out = Libipt(ppt_exstop).packet;
    out.payload.exstop.ip = p.ip;
    return out;
  }
  Answer operator()(const Mwait& p) const {
    pt_packet out = Libipt(ppt_mwait).packet;
    out.payload.mwait.hints = p.hints;
    out.payload.mwait.ext = p.extensions;
    return out;
  }
  Answer operator()(const Pwre& p) const {
    // libipt takes bit 3 of the payload for HW; the manual's table and the kernel's decoder say 7.
    if (p.hardware) return {};
    pt_packet out = Libipt(ppt_pwre).packet;
    out.payload.pwre.state = p.state;
    out.payload.pwre.sub_state = p.sub_state;
    return out;
  }
  Answer operator()(const Pwrx& p) const {
    pt_packet out = Libipt(ppt_pwrx).packet;
    out.payload.pwrx.last = p.last;
    out.payload.pwrx.deepest = p.deepest;
    out.payload.pwrx.interrupt = p.interrupt;
    out.payload.pwrx.store = p.store;
    out.payload.pwrx.autonomous = p.autonomous;
    return out;
  }
  Answer operator()(const Bbp&) const { return {}; }
  Answer operator()(const Bip&) const { return {}; }
  Answer operator()(const Bep&) const { return {}; }
  Answer operator()(const Cfe&) const { return {}; }
  Answer operator()(const Evd&) const { return {}; }
  Answer operator()(const Trig&) const { return {}; }
};

using PacketDecoder = std::unique_ptr<pt_packet_decoder, decltype(&pt_pkt_free_decoder)>;
using Encoder = std::unique_ptr<pt_encoder, decltype(&pt_free_encoder)>;

pt_config ConfigFor(std::vector<uint8_t>& bytes) {
  pt_config config;
  pt_config_init(&config);
  config.begin = bytes.data();
  config.end = bytes.data() + bytes.size();
  return config;
}

// What libipt encodes.
std::vector<uint8_t> EncodeByLibipt(const pt_packet& packet) {
  std::vector<uint8_t> bytes(32);
  pt_config config = ConfigFor(bytes);
  const Encoder encoder(pt_alloc_encoder(&config), &pt_free_encoder);
  const int size = pt_enc_next(encoder.get(), &packet);
  bytes.resize(size < 0 ? 0 : size);
  return bytes;
}

// What libipt reads at the start of `bytes`: size or negative error.
int DecodeByLibipt(std::vector<uint8_t> bytes, pt_packet& out) {
  pt_config config = ConfigFor(bytes);
  const PacketDecoder decoder(pt_pkt_alloc_decoder(&config), &pt_pkt_free_decoder);
  pt_pkt_sync_set(decoder.get(), 0);
  out = {};
  return pt_pkt_next(decoder.get(), &out, sizeof out);
}

std::string Show(const Packet& packet) {
  return std::string(NameOf(packet)) + " " + Describe(packet);
}

TEST(LibiptPackets, ReadsItsEncoder) {
  unsigned compared = 0;
  for (const Packet& packet : PacketSamples()) {
    const auto theirs = std::visit(ToLibipt{}, packet);
    if (!theirs) continue;
    const auto bytes = EncodeByLibipt(*theirs);
    PebsState pebs;
    Packet parsed;
    EXPECT_EQ(ReadPacket(bytes, pebs, parsed), bytes.size()) << Show(packet);
    EXPECT_EQ(parsed, packet) << Show(packet) << " became " << Show(parsed);
    ++compared;
  }
  EXPECT_GT(compared, 300u);
}

TEST(LibiptPackets, ItReadsOurEncoder) {
  for (const Packet& packet : PacketSamples()) {
    const auto expected = std::visit(ToLibipt{}, packet);
    if (!expected) continue;
    const auto bytes = BytesOf(packet);
    pt_packet actual;
    ASSERT_EQ(DecodeByLibipt(bytes, actual), static_cast<int>(bytes.size())) << Show(packet);
    ASSERT_EQ(actual.type, expected->type) << Show(packet);
    // What libipt decoded, encoded again, is what it encodes for the packet we meant.
    EXPECT_EQ(EncodeByLibipt(actual), EncodeByLibipt(*expected)) << Show(packet);
  }
}

// Byte for byte what our encoder makes of the same values. Not for the kinds that libipt 2.0.5
// does not know (BBP, BIP, BEP, CFE, EVD, TRIG), MODE.Exec with the interrupt flag, which came
// with event trace, and PWRE with HW, of which it takes another bit.
TEST(LibiptPackets, ItsEncoderWritesOurBytes) {
  std::set<std::string_view> kinds;
  for (const Packet& packet : PacketSamples()) {
    const auto theirs = std::visit(ToLibipt{}, packet);
    if (!theirs) continue;
    EXPECT_EQ(EncodeByLibipt(*theirs), BytesOf(packet)) << Show(packet);
    kinds.insert(NameOf(packet));
  }
  for (const std::string_view written :
       {"PAD", "PSB", "PSBEND", "OVF", "TNT", "TIP", "TIP.PGE", "TIP.PGD", "FUP", "MODE.Exec",
        "MODE.TSX", "TSC", "TMA", "MTC", "CYC", "CBR"})
    EXPECT_TRUE(kinds.contains(written)) << written << " is written by the recorders";
}

bool IsNewerThanLibipt(const Packet& packet) {
  return std::holds_alternative<Bbp>(packet) || std::holds_alternative<Bep>(packet) ||
         std::holds_alternative<Cfe>(packet) || std::holds_alternative<Evd>(packet) ||
         std::holds_alternative<Trig>(packet);
}

// MODE with both bits, which the manual reserves and libipt's packet decoder takes as it is.
bool IsReservedMode(const std::vector<uint8_t>& bytes) {
  return bytes[0] == kModePrefix && bytes[1] < 0x40 && (bytes[1] & 3) == 3;
}

TEST(LibiptPackets, AgreesOnArbitraryBytes) {
  std::mt19937 random(2024);
  unsigned read = 0;
  for (int i = 0; i < 200000; ++i) {
    std::vector<uint8_t> bytes(20);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    if (i % 2 == 0) bytes[0] = kExtendedPrefix;
    if (IsReservedMode(bytes)) continue;
    PebsState pebs;
    Packet ours;
    const ReadResult size = ReadPacket(bytes, pebs, ours);
    if (size && IsNewerThanLibipt(ours)) continue;
    pt_packet theirs;
    const int their_size = DecodeByLibipt(bytes, theirs);
    ASSERT_EQ(size.has_value(), their_size > 0)
        << "first byte " << int{bytes[0]} << ", second " << int{bytes[1]} << ": " << their_size;
    if (!size) continue;
    ASSERT_EQ(static_cast<int>(*size), their_size) << Show(ours);
    const auto expected = std::visit(ToLibipt{}, ours);
    if (expected && !std::holds_alternative<Pwre>(ours)) {
      EXPECT_EQ(EncodeByLibipt(theirs), EncodeByLibipt(*expected)) << Show(ours);
    }
    ++read;
  }
  EXPECT_GT(read, 50000u);
}

}  // namespace
}  // namespace flowback::pt
