// SPDX-License-Identifier: MIT
#include "decode/pt/source/pauses.h"

#include <variant>

#include "decode/pt/packets/packet_groups.h"
#include "decode/stream_index.h"

namespace flowback::pt {
namespace {

// The end of a pause has no upper bound.
constexpr uint64_t kAnyTime = ~uint64_t{0};

}  // namespace

void PauseFinder::Take(const Packet& packet, size_t offset) {
  at_ = offset;
  std::visit([this](const auto& p) { On(p); }, packet);
}

template <class P>
void PauseFinder::On(const P& packet) {
  if constexpr (kIsOneOf<P, Tsc, Tma, Mtc, Cyc, Cbr>) {
    clock_.On(packet);
    if (clock_.tsc() != time_) TimeMoved();
  } else if constexpr (kIsOneOf<P, TipPgd>) {
    if (on()) Begin(State::kOff);
  } else if constexpr (kIsOneOf<P, Ovf>) {
    Lose();
  } else if constexpr (kIsOneOf<P, ExStop>) {
    clock_.OnGap();
  } else if constexpr (kIsOneOf<P, Psb>) {
    psb_ = at_;
    in_header_ = true;
  } else if constexpr (kIsOneOf<P, PsbEnd>) {
    in_header_ = false;
  } else if constexpr (kIsOneOf<P, TipPge>) {
    End(at_);
  } else if constexpr (kIsOneOf<P, Fup, Tip, ShortTnt, LongTnt>) {
    // While tracing is off a FUP may belong to an event.
    if (state_ == State::kLost) End(in_header_ ? psb_ : at_);
  } else if constexpr (kIsOneOf<P, Pip>) {
    // In a PSB+ it repeats the current address space.
    if (on() && !in_header_) Add({.offset = at_, .earliest = clock_.lo(), .inside = true});
  }
}

void PauseFinder::Begin(State state) {
  state_ = state;
  earliest_ = clock_.lo();
}

void PauseFinder::Lose() {
  clock_.OnGap();
  in_header_ = false;
  if (on()) earliest_ = clock_.lo();
  state_ = State::kLost;
}

void PauseFinder::End(size_t offset) {
  if (!on()) Add({.offset = offset, .earliest = earliest_, .resumed = clock_.lo()});
  state_ = State::kOn;
}

void PauseFinder::Finish(size_t offset) {
  Add({.offset = offset, .earliest = on() ? clock_.lo() : earliest_, .at_end = true});
  TellAll(kAnyTime);
}

void PauseFinder::Add(const Pause& pause) {
  pending_.push_back(pause);
  constexpr size_t kMaxPending = 1 << 16;  // of a trace whose clock stands still
  if (pending_.size() == kMaxPending) TellAll(kAnyTime);
}

void PauseFinder::TimeMoved() {
  time_ = clock_.tsc();
  // It may be later than the clock says; the next TSC packet shows it.
  if (!clock_.in_doubt()) TellAll(time_);
}

void PauseFinder::TellAll(uint64_t latest) {
  for (Pause& pause : pending_) {
    pause.latest = latest;
    tell_(pause);
  }
  pending_.clear();
}

}  // namespace flowback::pt
