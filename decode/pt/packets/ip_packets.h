// SPDX-License-Identifier: MIT
// Packets that carry an instruction pointer.  [SDM "Target IP (TIP) Packet", "Packet Generation
// Enable (TIP.PGE) Packet", "Packet Generation Disable (TIP.PGD) Packet", "Flow Update (FUP)
// Packet"]
#pragma once

#include "decode/pt/packets/last_ip.h"
#include "decode/pt/packets/wire.h"

namespace flowback::pt {

inline ReadResult ParseIp(Bytes at, IpPayload& out) {
  out.ip_bytes = at[0] >> 5;
  if (!IpPayload::Valid(out.ip_bytes)) return Unknown();
  const unsigned size = IpPayload::Size(out.ip_bytes);
  if (at.size() < 1 + size) return Truncated();
  out.payload = Load(at, 1, size);
  return 1 + size;
}

inline void EncodeIp(ByteSink sink, uint8_t opcode, const IpPayload& ip) {
  sink.Put(static_cast<uint8_t>(opcode | ip.ip_bytes << 5));
  sink.Little(ip.payload, IpPayload::Size(ip.ip_bytes));
}

// "IPBytes 2, 0x1000", or "no IP".
std::string IpText(const IpPayload& ip);

// Target of an indirect branch, an interrupt or another transfer that the code does not contain.
struct Tip {
  static constexpr std::string_view kName = "TIP";
  static constexpr Opcode kOpcode{.value = 0x0d, .mask = 0x1f};

  IpPayload ip;

  static ReadResult Parse(Bytes at, Tip& out) { return ParseIp(at, out.ip); }
  void Encode(ByteSink sink) const { EncodeIp(sink, kOpcode.value, ip); }
  std::string Text() const { return IpText(ip); }
  bool operator==(const Tip&) const = default;
};

// Packet generation begins at this IP.
struct TipPge {
  static constexpr std::string_view kName = "TIP.PGE";
  static constexpr Opcode kOpcode{.value = 0x11, .mask = 0x1f};

  IpPayload ip;

  static ReadResult Parse(Bytes at, TipPge& out) { return ParseIp(at, out.ip); }
  void Encode(ByteSink sink) const { EncodeIp(sink, kOpcode.value, ip); }
  std::string Text() const { return IpText(ip); }
  bool operator==(const TipPge&) const = default;
};

// Packet generation ends; the IP, if any, is the target of the transfer that ended it.
struct TipPgd {
  static constexpr std::string_view kName = "TIP.PGD";
  static constexpr Opcode kOpcode{.value = 0x01, .mask = 0x1f};

  IpPayload ip;

  static ReadResult Parse(Bytes at, TipPgd& out) { return ParseIp(at, out.ip); }
  void Encode(ByteSink sink) const { EncodeIp(sink, kOpcode.value, ip); }
  std::string Text() const { return IpText(ip); }
  bool operator==(const TipPgd&) const = default;
};

// The source of an asynchronous event, or the current IP for a packet that it binds.
struct Fup {
  static constexpr std::string_view kName = "FUP";
  static constexpr Opcode kOpcode{.value = 0x1d, .mask = 0x1f};

  IpPayload ip;

  static ReadResult Parse(Bytes at, Fup& out) { return ParseIp(at, out.ip); }
  void Encode(ByteSink sink) const { EncodeIp(sink, kOpcode.value, ip); }
  std::string Text() const { return IpText(ip); }
  bool operator==(const Fup&) const = default;
};

}  // namespace flowback::pt
