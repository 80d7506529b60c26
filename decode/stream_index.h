// SPDX-License-Identifier: MIT
// The result of one pass over a stream's bytes, without the code: a value that can be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flowback/model/execution.h"
#include "flowback/model/machine.h"

namespace flowback {

// Tracing was off, or the flow was lost: the kernel ran, and may have switched threads. Times in
// ticks of the trace, or in the unit of the TimeConversion that was asked for.
struct Pause {
  uint64_t offset = 0;    // of the packet that begins the flow again
  uint64_t earliest = 0;  // the pause did not begin before; 0: not known
  uint64_t resumed = 0;   // the flow does not go on before; 0: not known, or at_end
  uint64_t latest = 0;    // the flow goes on at this time at the latest
  bool inside = false;    // a change of address space while tracing was on: part of a switch
  bool at_end = false;    // no flow follows: the stream ends

  // The same with times in the conversion's unit.
  Pause In(const TimeConversion& time) const;
  bool operator==(const Pause&) const = default;
};

// A stream's pauses in order, each in a few bytes: as differences to the one before it. Not of more
// than `most_bytes` in all: a list that becomes longer is given up.
class PauseList {
 public:
  explicit PauseList(size_t most_bytes = 0) : most_bytes_(most_bytes) {}

  void Add(const Pause& pause);
  // False: there were too many to keep them.
  bool complete() const { return complete_; }
  size_t bytes() const { return bytes_.size(); }
  // Calls `visit` for each, in order, until it returns false. REQUIRES: complete().
  void Visit(const std::function<bool(const Pause&)>& visit) const;

 private:
  size_t most_bytes_;
  bool complete_ = true;
  uint64_t last_offset_ = 0;
  uint64_t last_time_ = 0;
  std::vector<uint8_t> bytes_;
};

// A place where decoding can begin, and the facts known there.
struct SyncPoint {
  uint64_t offset = 0;
  uint64_t first_tsc = 0;        // the first time from there on; 0: none ahead of a gap
  std::optional<uint64_t> ip{};  // where execution is, if tracing is on
  bool operator==(const SyncPoint&) const = default;
};

struct PacketCount {
  uint64_t count = 0;
  uint64_t bytes = 0;
  bool operator==(const PacketCount&) const = default;
};

// Takes no more than a thirtieth of the stream's size, and a few kilobytes.
struct StreamIndex {
  // Sync points closer to the last one than this are left out.
  static constexpr uint64_t kSyncSpacing = 4096;
  // The limit of bytes for pauses, by the stream's size.
  static constexpr size_t MostPauseBytes(size_t stream_size) { return 4096 + stream_size / 64; }

  std::vector<SyncPoint> sync_points;
  PauseList pauses;  // in ticks
  // By the kind's name, in the names' order; they live forever.
  std::vector<std::pair<std::string_view, PacketCount>> packets;
  // The three add up to the stream. What the flow is made of, padding, and what can't be read.
  uint64_t packet_bytes = 0;
  uint64_t padding_bytes = 0;
  uint64_t unread_bytes = 0;
  TscInterval times;  // the first and the last time; zeros: none
};

}  // namespace flowback
