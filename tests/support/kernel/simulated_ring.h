// SPDX-License-Identifier: MIT
// The kernel's side of what it shares with a recorder: it writes records and AUX data, and counts
// what there was no room for.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback::test {

class SimulatedRing {
 public:
  // `bytes` with the page in front.
  explicit SimulatedRing(size_t bytes);

  std::span<uint8_t> pages() { return {memory_.data(), memory_.size()}; }
  perf_event_mmap_page& page() { return *reinterpret_cast<perf_event_mmap_page*>(memory_.data()); }
  std::span<uint8_t> MapAux(size_t bytes);
  // Sets how many bytes of records wake the reader (default: half of the ring). Half of the AUX
  // area does, too.
  void SetWatermark(size_t bytes) { watermark_ = bytes; }
  // Whether the reader is to be woken, since it was asked last.
  bool TakeWakeUp() { return std::exchange(wakes_, false); }
  bool has_aux() const { return !aux_.empty(); }

  // A record; `end` is what sample_id_all adds to this one and to records of losses. One that finds
  // no room is lost; the next that does has a LOST record in front.
  void Write(uint32_t type, uint16_t misc, Bytes body, Bytes end);
  // AUX data with its record, as much as there is room for: the rest is dropped, and the record
  // says so. Returns how much was taken.
  size_t WriteAux(Bytes data, Bytes end);
  // Writes the area's present content again.
  size_t RepeatAux(size_t size, Bytes end);
  // Overwrites the oldest bytes, going round.
  void OverwriteAux(Bytes data);
  // The trace stops: where it stands, as the driver reports it.
  void EndOverwriting(Bytes end);
  // Behind data that was dropped for another reason.
  void NoteAux(uint64_t flags, Bytes end);

  uint64_t lost_records() const { return lost_in_all_; }

 private:
  size_t RoomForAux(size_t size);
  void TellAux(size_t size, uint64_t flags, Bytes end);
  bool Put(uint32_t type, uint16_t misc, Bytes body, Bytes end);

  std::vector<uint8_t> memory_;
  std::vector<uint8_t> aux_;
  uint64_t place_ = 0;  // of the byte overwritten next
  uint64_t watermark_ = 0;
  uint64_t woken_at_ = 0, aux_woken_at_ = 0;  // of data_head and aux_head
  bool wakes_ = false;
  uint64_t lost_ = 0;  // since the last that found room
  uint64_t lost_in_all_ = 0;
};

}  // namespace flowback::test
