// SPDX-License-Identifier: MIT
#include "tests/packets/packet_samples.h"

#include <limits>

namespace flowback::pt {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};

uint64_t LowBytes(unsigned width) { return width == 8 ? kAll : (uint64_t{1} << 8 * width) - 1; }

template <class T>
void AddTnt(std::vector<Packet>& out) {
  for (unsigned count = 1; count <= T::kMaxCount; ++count) {
    const uint64_t all = (uint64_t{1} << count) - 1;
    for (const uint64_t bits : {uint64_t{0}, uint64_t{1}, all, all ^ 1, all & 0x5555555555555555})
      out.push_back(T{.count = static_cast<uint8_t>(count), .bits = bits});
  }
}

template <class T>
void AddIp(std::vector<Packet>& out) {
  for (const uint8_t code : {0, 1, 2, 3, 4, 6}) {
    const unsigned size = IpPayload::Size(code);
    out.push_back(T{.ip = {code, 0}});
    out.push_back(T{.ip = {code, 0x8877665544332211 & LowBytes(size)}});
    out.push_back(T{.ip = {code, LowBytes(size)}});
  }
}

void AddTime(std::vector<Packet>& out) {
  for (const uint64_t tsc : {uint64_t{0}, uint64_t{0x66554433221100}, LowBytes(7)})
    out.push_back(Tsc{tsc});
  for (const uint16_t ctc : {0, 1, 0xff00, 0xffff})
    for (const uint16_t fast : {0, 1, 0xff, 0x100, 0x1ff})
      out.push_back(Tma{.ctc = ctc, .fast = fast});
  for (const uint8_t value : {0, 1, 0x7f, 0xff}) {
    out.push_back(Mtc{value});
    out.push_back(Cbr{value});
  }
  // Around each change of the packet's size.
  for (unsigned bits = 5; bits < 61; bits += 7) {
    out.push_back(Cyc{(uint64_t{1} << bits) - 1});
    out.push_back(Cyc{uint64_t{1} << bits});
  }
  out.push_back(Cyc{0});
  out.push_back(Cyc{Cyc::kMaxCycles});
}

void AddModes(std::vector<Packet>& out) {
  for (const bool iflag : {false, true}) {
    out.push_back(ModeExec{.iflag = iflag});
    out.push_back(ModeExec{.cs_l = true, .iflag = iflag});
    out.push_back(ModeExec{.cs_d = true, .iflag = iflag});
  }
  out.push_back(ModeTsx{});
  out.push_back(ModeTsx{.in_transaction = true});
  out.push_back(ModeTsx{.aborted = true});
}

void AddContext(std::vector<Packet>& out) {
  for (const uint64_t cr3 : {uint64_t{0}, uint64_t{0x20}, uint64_t{0xfffffffffffe0}})
    for (const bool non_root : {false, true}) out.push_back(Pip{.cr3 = cr3, .non_root = non_root});
  for (const uint64_t base : {uint64_t{0}, uint64_t{0x1000}, uint64_t{0xffffffffff000}})
    out.push_back(Vmcs{base});
}

void AddPower(std::vector<Packet>& out) {
  for (const bool ip : {false, true}) out.push_back(ExStop{ip});
  constexpr uint32_t kAll32 = std::numeric_limits<uint32_t>::max();
  out.push_back(Mwait{});
  out.push_back(Mwait{.hints = kAll32, .extensions = 0});
  out.push_back(Mwait{.hints = 0x12345678, .extensions = 0x9abcdef0});
  for (const uint8_t state : {0, 1, 15})
    for (const uint8_t sub : {0, 2, 15})
      for (const bool hardware : {false, true})
        out.push_back(Pwre{.state = state, .sub_state = sub, .hardware = hardware});
  out.push_back(Pwrx{});
  out.push_back(Pwrx{.last = 15, .deepest = 1, .interrupt = true});
  out.push_back(Pwrx{.last = 1, .deepest = 15, .store = true});
  out.push_back(Pwrx{.last = 6, .deepest = 7, .autonomous = true});
}

void AddPtw(std::vector<Packet>& out) {
  for (const uint8_t bytes : {4, 8}) {
    for (const uint64_t payload :
         {uint64_t{0}, 0x8877665544332211 & LowBytes(bytes), LowBytes(bytes)})
      for (const bool ip : {false, true})
        out.push_back(Ptw{.payload = payload, .bytes = bytes, .ip = ip});
  }
}

void AddPebs(std::vector<Packet>& out) {
  for (const uint8_t type : {0, 1, 31})
    for (const bool four : {false, true}) out.push_back(Bbp{.type = type, .four_byte = four});
  for (const uint8_t bytes : {4, 8})
    for (const uint8_t id : {0, 5, 31})
      out.push_back(Bip{.id = id, .payload = 0x8877665544332211 & LowBytes(bytes), .bytes = bytes});
  for (const bool ip : {false, true}) out.push_back(Bep{ip});
}

void AddEvents(std::vector<Packet>& out) {
  for (const uint8_t type : {0, 1, 31})
    for (const bool ip : {false, true}) out.push_back(Cfe{.type = type, .vector = 0xfe, .ip = ip});
  for (const uint8_t type : {0, 2, 63}) out.push_back(Evd{.type = type, .payload = kAll - type});
  out.push_back(Trig{});
  out.push_back(Trig{.triggers = 0xff, .ip = true});
  out.push_back(Trig{.triggers = 0x80, .mult = true, .icnt_valid = true, .icnt = 0xfffe});
}

}  // namespace

std::vector<Packet> PacketSamples() {
  std::vector<Packet> out = {Pad{}, Psb{}, PsbEnd{}, Ovf{}, TraceStop{}, Mnt{0}, Mnt{kAll - 1}};
  AddTnt<ShortTnt>(out);
  AddTnt<LongTnt>(out);
  AddIp<Tip>(out);
  AddIp<TipPge>(out);
  AddIp<TipPgd>(out);
  AddIp<Fup>(out);
  AddTime(out);
  AddModes(out);
  AddContext(out);
  AddPower(out);
  AddPtw(out);
  AddPebs(out);
  AddEvents(out);
  return out;
}

PebsState StateFor(const Packet& packet) {
  const Bip* bip = std::get_if<Bip>(&packet);
  return {.item_bytes = bip == nullptr ? uint8_t{0} : bip->bytes};
}

}  // namespace flowback::pt
