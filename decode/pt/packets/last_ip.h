// SPDX-License-Identifier: MIT
// Compressed instruction pointers and the Last IP they are relative to.
#pragma once

#include <cstdint>
#include <optional>

namespace flowback::pt {

// An IP as a packet carries it.  [SDM "IP Compression"]
struct IpPayload {
  uint8_t ip_bytes = 0;  // the IPBytes field, 3 bits
  uint64_t payload = 0;  // Size(ip_bytes) bytes

  static constexpr uint8_t kSuppressed = 0;
  static constexpr uint8_t kUpdate16 = 1;
  static constexpr uint8_t kUpdate32 = 2;
  static constexpr uint8_t kSignExtend48 = 3;
  static constexpr uint8_t kUpdate48 = 4;
  static constexpr uint8_t kFull = 6;

  // IPBytes 5 and 7 are reserved.
  static constexpr bool Valid(uint8_t ip_bytes) { return ip_bytes < 5 || ip_bytes == kFull; }
  // Bytes of payload; 0 for reserved encodings.
  static constexpr unsigned Size(uint8_t ip_bytes) {
    constexpr uint8_t kSizes[8] = {0, 2, 4, 6, 6, 0, 8, 0};
    return kSizes[ip_bytes & 7];
  }
  bool operator==(const IpPayload&) const = default;
};

// The state that decoder and encoder keep in step. PSB resets it; TIP, TIP.PGE, TIP.PGD and FUP
// with an IP replace it.
class LastIp {
 public:
  void Reset() {
    value_ = 0;
    in_doubt_ = false;
  }
  uint64_t value() const { return value_; }
  void Set(uint64_t ip) { value_ = ip; }
  // A packet before may have been misread. Until a PSB, or an address that needs none before it,
  // shortened addresses are useless.
  void Doubt() { in_doubt_ = true; }
  bool in_doubt() const { return in_doubt_; }
  bool operator==(const LastIp&) const = default;

  // The packet's IP, which becomes the Last IP; nullopt for a suppressed IP, which changes nothing,
  // and for a shortened one that completes a value in doubt.
  std::optional<uint64_t> Apply(const IpPayload& ip) {
    switch (ip.ip_bytes) {
      case IpPayload::kUpdate16:
        return Complete((value_ & ~uint64_t{0xffff}) | ip.payload);
      case IpPayload::kUpdate32:
        return Complete((value_ & ~uint64_t{0xffffffff}) | ip.payload);
      case IpPayload::kUpdate48:
        return Complete((value_ & kUpper16) | ip.payload);
      case IpPayload::kSignExtend48:
        in_doubt_ = false;
        return value_ = SignExtend48(ip.payload);
      case IpPayload::kFull:
        in_doubt_ = false;
        return value_ = ip.payload;
      default:
        return std::nullopt;
    }
  }

  // The shortest encoding of `ip` that Apply turns back into it. Hardware sign-extends where that
  // is right, and keeps the upper 16 bits of Last IP only for addresses that are not canonical.
  IpPayload Compress(uint64_t ip) const {
    const uint64_t change = ip ^ value_;
    if (change >> 16 == 0) return {IpPayload::kUpdate16, ip & 0xffff};
    if (change >> 32 == 0) return {IpPayload::kUpdate32, ip & 0xffffffff};
    if (SignExtend48(ip) == ip) return {IpPayload::kSignExtend48, ip & ~kUpper16};
    if (change >> 48 == 0) return {IpPayload::kUpdate48, ip & ~kUpper16};
    return {IpPayload::kFull, ip};
  }
  // The shortest encoding that does not depend on Last IP.
  static IpPayload Uncompressed(uint64_t ip) {
    if (SignExtend48(ip) == ip) return {IpPayload::kSignExtend48, ip & ~kUpper16};
    return {IpPayload::kFull, ip};
  }

 private:
  static constexpr uint64_t kUpper16 = uint64_t{0xffff} << 48;

  static constexpr uint64_t SignExtend48(uint64_t value) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << 16) >> 16);
  }

  std::optional<uint64_t> Complete(uint64_t ip) {
    value_ = ip;
    if (in_doubt_) return std::nullopt;
    return ip;
  }

  uint64_t value_ = 0;
  bool in_doubt_ = false;
};

}  // namespace flowback::pt
