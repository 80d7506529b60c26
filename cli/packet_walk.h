// SPDX-License-Identifier: MIT
// One pass over a stream's packets, without code: for `decode --as packets` and `info`.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "decode/pt/errata.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

// Calls on_packet(offset, size, packet) for every packet, on_loss(cause, begin, end) for every
// range that can't be read, in stream order; what they cover adds up to the stream. After bytes
// that are no packet it goes on at the next PSB; into that a packet that damage made may reach.
// Either returns false to end the walk.
template <class OnPacket, class OnLoss>
class PacketWalk {
 public:
  PacketWalk(const Stream& stream, const CpuId& cpu, OnPacket on_packet, OnLoss on_loss)
      : stream_(stream),
        window_(stream.bytes, stream.joined),
        errata_(pt::ErrataOf(cpu)),
        on_packet_(std::move(on_packet)),
        on_loss_(std::move(on_loss)) {}

  void Run() {
    size_t begin = 0;
    for (const StreamGap& gap : stream_.gaps) {
      const size_t end = std::min<size_t>(gap.offset, stream_.bytes.size());
      if (end > begin && !Part(begin, end)) return;
      begin = std::max(begin, end);
    }
    if (begin < stream_.bytes.size()) Part(begin, stream_.bytes.size());
  }

 private:
  // The bytes between two gaps are a stream of their own.
  bool Part(size_t begin, size_t end) {
    LossCause cause = LossCause::kNoSync;
    size_t at = begin;
    if (begin == 0 && pt::IsStatusOnly(window_, 0, pt::FindPsb(window_, end, 0)) &&
        !Packets(at, end, cause))
      return false;
    while (at < end) {
      const bool damaged = cause == LossCause::kBadPacket;
      const size_t from = damaged ? pt::PsbSearchBegin(at, behind_last_psb_) : at;
      const size_t psb = pt::FindPsb(window_, end, from);
      if (psb != at && !on_loss_(cause, std::min(at, psb), psb)) return false;
      at = psb;
      if (!Packets(at, end, cause)) return false;
    }
    return true;
  }

  // From `at`, a PSB, to the first bytes that are no packet, or the end.
  bool Packets(size_t& at, size_t end, LossCause& cause) {
    pt::PebsState pebs;
    pt::Packet packet;
    while (at < end) {
      window_.MoveTo(at);
      const auto size = pt::ReadPacket(stream_.bytes.subspan(at, end - at), pebs, packet, errata_);
      if (!size) {
        cause = size.error() == pt::ReadError::kTruncated ? LossCause::kTruncated
                                                          : LossCause::kBadPacket;
        return true;
      }
      if (std::holds_alternative<pt::Psb>(packet)) behind_last_psb_ = at + 1;
      if (!on_packet_(at, *size, packet)) return false;
      at += *size;
    }
    return true;
  }

  const Stream& stream_;
  StreamWindow window_;
  pt::Errata errata_;
  OnPacket on_packet_;
  OnLoss on_loss_;
  size_t behind_last_psb_ = 0;  // where it begins, and one
};

}  // namespace flowback::cli
