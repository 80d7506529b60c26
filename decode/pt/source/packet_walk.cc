// SPDX-License-Identifier: MIT
#include "decode/pt/source/packet_walk.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/packets/psb.h"

namespace flowback::pt {
namespace {

constexpr uint64_t kEach = 0x0101010101010101;  // byte of a word

// How many of a word's bytes are zero.
constexpr unsigned ZerosIn(uint64_t word) {
  // The upper bit of each byte that is not zero. No carry leaves its byte.
  const uint64_t others = (((word & 0x7f * kEach) + 0x7f * kEach) | word) & 0x80 * kEach;
  return 8 - static_cast<unsigned>(std::popcount(others));
}

// Eight short TNTs and PADs: all bytes are even, and none is the prefix of another packet.
constexpr bool IsFlow(uint64_t word) {
  return (word & kEach) == 0 && ZerosIn(word ^ kExtendedPrefix * kEach) == 0;
}

}  // namespace

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

void PacketWalk::SkipFlow(Flow& flow) {
  if (!synced_ || pebs_.item_bytes != 0 || at_ >= end_) return;
  window_.MoveTo(at_);
  const uint8_t* const bytes = stream_.bytes.data();
  const size_t end = std::min(end_, window_.reach());
  uint64_t pads = 0;
  size_t at = at_;
  size_t tip_bytes = 0;
  for (;;) {
    for (; end - at >= 8; at += 8) {
      const uint64_t word = LoadLittleEndian(bytes + at, 8);
      if (!IsFlow(word)) break;
      pads += ZerosIn(word);
    }
    while (at < end && (bytes[at] & 1) == 0 && bytes[at] != kExtendedPrefix)
      pads += bytes[at++] == 0 ? 1 : 0;
    if (at >= end || !Tip::kOpcode.Matches(bytes[at])) break;
    Tip tip;
    const ReadResult size = Tip::Parse(stream_.bytes.subspan(at, end_ - at), tip);
    if (!size) break;
    ++flow.tips;
    tip_bytes += *size;
    at += *size;
    if (at >= end) break;
  }
  flow.tip_bytes += tip_bytes;
  flow.pads += pads;
  flow.tnts += at - at_ - tip_bytes - pads;
  at_ = at;
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

// Reads one packet. False: the part ends, or the next bytes cannot be read.
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
  if (psb < at_) told_twice_ += at_ - psb;
  offset_ = std::min(at_, psb);
  size_ = psb - offset_;
  at_ = psb;
  pebs_ = {};
  synced_ = psb < end_;
  return unread;
}

}  // namespace flowback::pt
