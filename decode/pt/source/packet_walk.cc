// SPDX-License-Identifier: MIT
#include "decode/pt/source/packet_walk.h"

#include <algorithm>
#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"

namespace flowback::pt {

PacketWalk::PacketWalk(const Stream& stream, const CpuId& cpu, uint64_t from)
    : stream_(stream),
      window_(stream.bytes, stream.joined),
      errata_(ErrataOf(cpu)),
      at_(from),
      end_(from) {}

PacketWalk::Step PacketWalk::Next() {
  for (;;) {
    if (synced_ && ReadOne()) return Step::kPacket;
    if (at_ >= end_) {
      if (!NextPart()) return Step::kEnd;
    } else if (!synced_ && FindSync()) {
      return Step::kUnread;
    }
  }
}

// False: that was the last one.
bool PacketWalk::NextPart() {
  const size_t size = stream_.bytes.size();
  do {
    if (at_ >= size) return false;
    end_ = gap_ < stream_.gaps.size() ? std::min<size_t>(stream_.gaps[gap_++].offset, size) : size;
  } while (end_ <= at_);
  cause_ = LossCause::kNoSync;
  pebs_ = {};
  synced_ = at_ == 0 && IsStatusOnly(window_, 0, FindPsb(window_, end_, 0));
  return true;
}

// False: there is none, as the part ends or what follows can't be read.
bool PacketWalk::ReadOne() {
  synced_ = false;
  if (at_ >= end_) return false;
  window_.MoveTo(at_);
  const ReadResult size =
      ReadPacket(stream_.bytes.subspan(at_, end_ - at_), pebs_, packet_, errata_);
  if (!size) {
    cause_ = size.error() == ReadError::kTruncated ? LossCause::kTruncated : LossCause::kBadPacket;
    return false;
  }
  if (std::holds_alternative<Psb>(packet_)) behind_last_psb_ = at_ + 1;
  offset_ = at_;
  size_ = *size;
  at_ += *size;
  synced_ = true;
  return true;
}

// Goes on at the next PSB of the part. False: nothing was left out.
bool PacketWalk::FindSync() {
  const bool damaged = cause_ == LossCause::kBadPacket;
  const size_t from = damaged ? PsbSearchBegin(at_, behind_last_psb_) : at_;
  const size_t psb = FindPsb(window_, end_, from);
  const bool unread = psb != at_;
  offset_ = std::min(at_, psb);
  size_ = psb - offset_;
  at_ = psb;
  pebs_ = {};
  synced_ = psb < end_;
  return unread;
}

}  // namespace flowback::pt
