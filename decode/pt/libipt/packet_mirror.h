// SPDX-License-Identifier: MIT
// What libipt's instruction decoder has read so far, seen from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "decode/pt/libipt/handles.h"

namespace flowback::libipt {

// Follows an instruction decoder packet by packet. That decoder reports neither a conditional
// branch's outcome nor, after an error, whether the last branch had got its packet; both follow
// from the packets it has passed and from what its earlier branches took from them. Offsets count
// from the configuration's begin.
class PacketMirror {
 public:
  // `decoder` stands at the sync point.
  explicit PacketMirror(PacketDecoder decoder) : decoder_(std::move(decoder)) {}

  // Reads every packet that starts before `offset`, the instruction decoder's position.
  void AdvanceTo(uint64_t offset);
  // Takes the next outcome; empty: no outcome is left.
  std::optional<bool> TakeTnt();
  // False when no TIP is left for an indirect branch.
  bool TakeTip();
  // An asynchronous branch consumes a TIP, which may not have been read yet.
  void DropTip() { --tips_; }
  // As libipt does at TIP.PGE and at OVF.
  void ForgetBranches() { tnt_count_ = 0, tips_ = 0; }

  // Whether a PSB has been passed since this was asked last.
  bool TakePsb() { return std::exchange(psb_, false); }

  // Offset of the last packet that is no padding, TNT or timing packet.
  uint64_t event_offset() const { return event_offset_; }
  uint64_t overflow_offset() const { return overflow_offset_; }  // of the last OVF
  uint64_t padding() const { return padding_; }

 private:
  void Note(const pt_packet& packet, uint64_t offset);

  PacketDecoder decoder_;
  uint64_t next_offset_ = 0;
  uint64_t event_offset_ = 0;
  uint64_t overflow_offset_ = 0;
  uint64_t padding_ = 0;
  bool psb_ = false;
  uint64_t tnt_bits_ = 0;  // the oldest outcome is the highest of the lowest tnt_count_ bits
  unsigned tnt_count_ = 0;
  int tips_ = 0;  // negative: dropped before they were read
};

}  // namespace flowback::libipt
