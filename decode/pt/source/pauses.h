// SPDX-License-Identifier: MIT
// The places in a stream where the thread can have changed, and when that was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/time/clock.h"
#include "decode/stream_index.h"
#include "flowback/model/machine.h"

namespace flowback::pt {

// Receives a stream's packets in order, and reports its pauses, in ticks, once a later packet
// bounds when the flow went on.
class PauseFinder {
 public:
  PauseFinder(const PtConfig& config, std::function<void(const Pause&)> tell)
      : clock_(config), tell_(std::move(tell)) {}

  // Tracing is on: short TNTs, TIPs and padding change nothing, and need not be given.
  bool on() const { return state_ == State::kOn; }
  // The packet at `offset`. REQUIRES: the packet is not before the first PSB.
  void Take(const Packet& packet, size_t offset);
  // Bytes are missing here, or can't be read.
  void Lose();
  // The stream ends.
  void Finish(size_t offset);

  const Clock& clock() const { return clock_; }

 private:
  enum class State : uint8_t { kOn, kOff, kLost };

  template <class P>
  void On(const P& packet);
  void Begin(State state);
  void End(size_t offset);
  void Add(const Pause& pause);
  void TimeMoved();
  void TellAll(uint64_t latest);

  Clock clock_;
  std::function<void(const Pause&)> tell_;
  size_t at_ = 0;  // of the packet in work
  size_t psb_ = 0;
  uint64_t time_ = 0;
  State state_ = State::kLost;
  bool in_header_ = false;
  uint64_t earliest_ = 0;  // of the pause that goes on
  std::vector<Pause> pending_;
};

}  // namespace flowback::pt
