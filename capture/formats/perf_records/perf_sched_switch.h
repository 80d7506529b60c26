// SPDX-License-Identifier: MIT
// Samples of the tracepoint sched:sched_switch become switch records.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "capture/formats/perf_records/perf_sample_id.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

// Recognises the tracepoint's events and knows where its fields lie.
class SchedSwitch {
 public:
  // Where a number lies in the tracepoint's raw data.
  struct Field {
    uint64_t offset = 0;
    unsigned size = 0;
  };

  // The fields' places since Linux 2.6.
  SchedSwitch() = default;

  // `tracing_data`: the tracepoints' formats as the recorder copied them from tracefs. If they name
  // other places than the usual ones, these are used.
  void UseFormats(Bytes tracing_data);

  bool IsOne(const EventAttr& attr) const;

  // The thread that goes and the one that comes. Empty when the raw data is too short.
  std::optional<std::pair<SwitchRecord, SwitchRecord>> Parse(const Sample& sample,
                                                             ByteOrder order) const;

 private:
  std::optional<uint64_t> number_;  // of the tracepoint: its perf_event_attr::config
  Field previous_{24, 4};
  Field state_{32, 8};
  Field next_{56, 4};
};

}  // namespace flowback::perf
