// SPDX-License-Identifier: MIT
// Counters in perf's records: READ of threads that ended, STAT of all together.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "flowback/model/counters.h"

namespace flowback::perf {

class CounterCollector {
 public:
  // `attrs` must outlive it.
  explicit CounterCollector(const std::vector<EventAttr>& attrs);

  // Adds a READ record of `attr`'s event (null: unknown), a STAT or a STAT_ROUND record. False: it
  // is too short for its fields.
  bool AddRead(const Record& record, const EventAttr* attr);
  bool AddStat(const Record& record);
  void AddRound() { ++readings_; }

  // Returns the events that were counted.
  CountedEvents Take() &&;

 private:
  const std::vector<EventAttr>& attrs_;
  std::map<uint64_t, size_t> event_by_id_;  // in attrs_
  // By id and the thread's number in the thread map: values go on from reading to reading.
  std::map<std::pair<uint64_t, uint32_t>, CounterValue> latest_;
  std::map<std::pair<int32_t, int32_t>, size_t> place_;       // by process and thread
  std::map<std::pair<size_t, size_t>, ThreadCount> threads_;  // by that place, and event of attrs_
  uint64_t readings_ = 0;
};

}  // namespace flowback::perf
