// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/packet_mirror.h"

namespace flowback::libipt {

void PacketMirror::AdvanceTo(uint64_t offset) {
  while (next_offset_ < offset) {
    pt_packet packet;
    const int size = pt_pkt_next(decoder_.get(), &packet, sizeof(packet));
    if (size <= 0) {
      next_offset_ = offset;  // can't happen in a range that was read before; never loop on it
      return;
    }
    Note(packet, next_offset_);
    next_offset_ += static_cast<uint64_t>(size);
  }
}

void PacketMirror::Note(const pt_packet& packet, uint64_t offset) {
  switch (packet.type) {
    case ppt_pad:
      ++padding_;
      return;
    case ppt_tnt_8:
    case ppt_tnt_64:
      tnt_bits_ = (tnt_bits_ << packet.payload.tnt.bit_size) | packet.payload.tnt.payload;
      tnt_count_ += packet.payload.tnt.bit_size;
      return;
    case ppt_tsc:
    case ppt_tma:
    case ppt_mtc:
    case ppt_cyc:
      return;
    case ppt_tip:
      ++tips_;
      break;
    case ppt_psb:
      psb_ = true;
      break;
    case ppt_ovf:
      overflow_offset_ = offset;
      break;
    default:
      break;
  }
  event_offset_ = offset;
}

std::optional<bool> PacketMirror::TakeTnt() {
  if (tnt_count_ == 0) return std::nullopt;
  --tnt_count_;
  // A branch never leaves more than one packet's bits behind, so older bits can't shift out.
  return (tnt_bits_ >> (tnt_count_ & 63) & 1) != 0;
}

bool PacketMirror::TakeTip() {
  if (tips_ <= 0) return false;
  --tips_;
  return true;
}

}  // namespace flowback::libipt
