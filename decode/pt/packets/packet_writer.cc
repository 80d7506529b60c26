// SPDX-License-Identifier: MIT
#include "decode/pt/packets/packet_writer.h"

namespace flowback::pt {

void PacketWriter::FlushTnt() {
  if (tnt_count_ == 0) return;
  const auto count = static_cast<uint8_t>(tnt_count_);
  constexpr unsigned kLongSize = 8;
  if (options_.short_where_smaller && !time_among_tnt_ &&
      count <= (kLongSize - 1) * ShortTnt::kMaxCount)
    PutShortTnts();
  else if (count <= ShortTnt::kMaxCount)
    ShortTnt{.count = count, .bits = tnt_bits_}.Encode(ByteSink(bytes_));
  else
    LongTnt{.count = count, .bits = tnt_bits_}.Encode(ByteSink(bytes_));
  tnt_bits_ = 0;
  tnt_count_ = 0;
  time_among_tnt_ = false;
}

void PacketWriter::PutShortTnts() {
  for (unsigned left = tnt_count_; left != 0;) {
    const unsigned count = left < ShortTnt::kMaxCount ? left : ShortTnt::kMaxCount;
    left -= count;
    const uint64_t bits = tnt_bits_ >> left & ((1u << count) - 1);
    ShortTnt{.count = static_cast<uint8_t>(count), .bits = bits}.Encode(ByteSink(bytes_));
  }
}

IpPayload PacketWriter::Compress(std::optional<uint64_t> ip) const {
  if (!ip) return {};
  return last_ip_known_ ? last_ip_.Compress(*ip) : LastIp::Uncompressed(*ip);
}

}  // namespace flowback::pt
