// SPDX-License-Identifier: MIT
// Where each byte of a stream goes, and the loss that is going on.
//
//   begin ---- decoded, padding ---- | ------- loss ------- | ---- decoded ---- | ...
//                                Begin(loss)            End(offset)
//
// Every byte counts once: as decoded, as padding (PAD packets), or as lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "flowback/decode/decoder.h"
#include "flowback/model/execution.h"

namespace flowback::pt {

class LossAccount {
 public:
  // The account of bytes from `offset` on. REQUIRES: no loss is going on.
  void Restart(uint64_t offset) {
    bytes_ = {};
    counted_ = offset;
    counted_padding_ = 0;
  }
  // The same from where it stands; a loss may go on.
  void Restart() {
    bytes_ = {};
    counted_padding_ = 0;
  }
  const ByteAccount& bytes() const { return bytes_; }
  void AddPadding(uint64_t bytes) { bytes_.padding += bytes; }

  // All bytes since the last loss up to `offset` are good: decoded, or padding.
  void CountDecoded(uint64_t offset) {
    bytes_.decoded += offset - counted_ - (bytes_.padding - counted_padding_);
    counted_ = offset;
    counted_padding_ = bytes_.padding;
  }

  bool losing() const { return losing_; }
  // At `loss.begin`. REQUIRES: no loss is going on.
  void Begin(DataLoss loss) {
    losing_ = true;
    CountDecoded(loss.begin);
    loss_ = std::move(loss);
  }
  // The loss that was going on, up to `offset`. One may end where it begins, or before: it has no
  // bytes then, only the flow has a break. REQUIRES: one is going on.
  DataLoss End(uint64_t offset, uint64_t tsc) {
    losing_ = false;
    loss_.end = std::max<uint64_t>(offset, loss_.begin);
    loss_.end_tsc = tsc;
    bytes_.lost += loss_.end - loss_.begin;
    counted_ = loss_.end;
    return std::exchange(loss_, {});
  }
  // The loss begins earlier: bytes from there on that were taken for decoded are none.
  // REQUIRES: one is going on.
  void BeginEarlier(uint64_t offset) {
    if (offset >= loss_.begin) return;
    bytes_.decoded -= loss_.begin - offset;
    loss_.begin = offset;
  }
  // Returns the lost bytes if the current loss reaches to `offset`.
  uint64_t LostUpTo(uint64_t offset) const {
    return bytes_.lost + (losing_ ? offset - std::min(loss_.begin, offset) : 0);
  }

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [bytes, counted, counted_padding, loss, losing] = of;
    use(bytes, counted, counted_padding, loss, losing);
  }

 private:
  ByteAccount bytes_;
  uint64_t counted_ = 0;          // bytes before it are in the account
  uint64_t counted_padding_ = 0;  // of bytes_.padding, what lies before that
  DataLoss loss_;
  bool losing_ = false;
};

// What the packets since a loss, or an overflow, say about where the flow may go on.
class LossState {
 public:
  // An OVF packet.
  void OnOverflow() { overflow_ = Overflow::kFresh; }
  // Something else was lost: an overflow before it has no bearing any more.
  void OnOtherLoss() { overflow_ = Overflow::kNone; }
  // The loss has ended.
  void OnEnd() { *this = {}; }
  // A packet that is no time, no OVF and no PSB has been taken; `lost`: the flow is still.
  void OnPacket(bool lost) {
    if (overflow_ == Overflow::kFresh) overflow_ = Overflow::kOpen;
    if (!lost) overflow_ = Overflow::kNone;
  }
  // Branch outcomes went by that nothing was made of. TIPs that belong to branches before them may
  // come behind them, where TIPs are deferred...
  void OnLostTnt() { tnt_lost_ = true; }
  // ... until a packet comes that sends off all of those.
  void OnTipsSentOff() { tnt_lost_ = false; }

  // An overflow has not been resolved yet.
  bool overflowed() const { return overflow_ != Overflow::kNone; }
  // Nor has anything but time come since, so the next FUP resolves it.
  bool fup_resolves() const { return overflow_ == Overflow::kFresh; }
  bool tnt_lost() const { return tnt_lost_; }
  bool SameOverflow(const LossState& other) const { return overflow_ == other.overflow_; }

  // All that it consists of.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [overflow, tnt_lost] = of;
    use(overflow, tnt_lost);
  }

 private:
  enum class Overflow : uint8_t { kNone, kOpen, kFresh };
  Overflow overflow_ = Overflow::kNone;
  bool tnt_lost_ = false;
};

}  // namespace flowback::pt
