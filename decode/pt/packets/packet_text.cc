// SPDX-License-Identifier: MIT
// Packets in words, for people who compare a trace with the manual.
#include "decode/pt/packets/packet.h"

namespace flowback::pt {
namespace {

// "a, b" from "a" and "b"; either may be empty.
std::string Join(std::string text, bool wanted, std::string_view word) {
  if (!wanted) return text;
  if (!text.empty()) text += ", ";
  return text.append(word);
}

// The IP of a packet that has one.
const IpPayload* IpOf(const Packet& packet) {
  return std::visit(
      [](const auto& p) -> const IpPayload* {
        if constexpr (requires { p.ip.ip_bytes; })
          return &p.ip;
        else
          return nullptr;
      },
      packet);
}

}  // namespace

std::string TntText(unsigned count, uint64_t bits) {
  std::string text;
  for (unsigned i = count; i-- > 0;) text += (bits >> i & 1) != 0 ? 'T' : 'N';
  return text;
}

std::string IpText(const IpPayload& ip) {
  if (ip.ip_bytes == IpPayload::kSuppressed) return "no IP";
  return "IPBytes " + std::to_string(ip.ip_bytes) + ", " + Hex(ip.payload);
}

std::string ModeExec::Text() const {
  std::string text = cs_l ? "64-bit" : cs_d ? "32-bit" : "16-bit";
  return Join(std::move(text), iflag, "IF");
}

std::string ModeTsx::Text() const {
  if (aborted) return "aborted";
  return in_transaction ? "begin" : "commit";
}

std::string Pwre::Text() const {
  return Join("C" + std::to_string(state) + "." + std::to_string(sub_state), hardware, "hardware");
}

std::string Pwrx::Text() const {
  std::string text = "last C" + std::to_string(last) + ", deepest C" + std::to_string(deepest);
  text = Join(std::move(text), interrupt, "interrupt");
  text = Join(std::move(text), store, "store");
  return Join(std::move(text), autonomous, "autonomous");
}

std::string Bbp::Text() const {
  return "type " + std::to_string(type) + ", " + (four_byte ? "4" : "8") + "-byte items";
}

std::string Cfe::Text() const {
  return Join("type " + std::to_string(type) + ", vector " + std::to_string(vector), ip, "IP");
}

std::string Evd::Text() const { return "type " + std::to_string(type) + ", " + Hex(payload); }

std::string Trig::Text() const {
  std::string text = "triggers " + Hex(triggers);
  text = Join(std::move(text), icnt_valid, "after " + std::to_string(icnt) + " instructions");
  text = Join(std::move(text), mult, "more fired");
  return Join(std::move(text), ip, "IP");
}

std::string_view NameOf(const Packet& packet) {
  return std::visit([](const auto& p) { return p.kName; }, packet);
}

std::string Describe(const Packet& packet, LastIp* last_ip) {
  if (last_ip != nullptr) {
    if (std::holds_alternative<Psb>(packet)) last_ip->Reset();
    if (const IpPayload* ip = IpOf(packet)) {
      const auto address = last_ip->Apply(*ip);
      return address ? Hex(*address) : "no IP";
    }
  }
  return std::visit([](const auto& p) { return p.Text(); }, packet);
}

void Follow(const Packet& packet, LastIp& last_ip) {
  if (std::holds_alternative<Psb>(packet)) last_ip.Reset();
  if (const IpPayload* ip = IpOf(packet)) last_ip.Apply(*ip);
}

void Encode(const Packet& packet, std::vector<uint8_t>& out) {
  std::visit([&](const auto& p) { p.Encode(ByteSink(out)); }, packet);
}

}  // namespace flowback::pt
