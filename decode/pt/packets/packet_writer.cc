// SPDX-License-Identifier: MIT
#include "decode/pt/packets/packet_writer.h"

namespace flowback::pt {

void PacketWriter::FlushTnt() {
  if (tnt_count_ == 0) return;
  const auto count = static_cast<uint8_t>(tnt_count_);
  if (count <= ShortTnt::kMaxCount)
    ShortTnt{.count = count, .bits = tnt_bits_}.Encode(ByteSink(bytes_));
  else
    LongTnt{.count = count, .bits = tnt_bits_}.Encode(ByteSink(bytes_));
  tnt_bits_ = 0;
  tnt_count_ = 0;
}

IpPayload PacketWriter::Compress(std::optional<uint64_t> ip) const {
  if (!ip) return {};
  return last_ip_known_ ? last_ip_.Compress(*ip) : LastIp::Uncompressed(*ip);
}

}  // namespace flowback::pt
