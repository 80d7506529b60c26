// SPDX-License-Identifier: MIT
// Who and when of a kernel record: the fields that perf appends to it when sample_id_all is set.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "capture/formats/perf_header.h"
#include "capture/formats/perf_record_reader.h"

namespace flowback::perf {

// What a record's trailer says; 0 and -1 where it does not.
struct SampleId {
  uint64_t time = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
};

// Knows which event, and so which layout, each record's trailer has.
class SampleIdParser {
 public:
  // `attrs` must outlive the object. Warns when the events' layouts differ and nothing in a record
  // tells which one it has.
  SampleIdParser(const std::vector<EventAttr>& attrs, std::vector<std::string>& warnings);

  // Empty for records that the recorder itself wrote (type >= 64, or id 0).
  SampleId Parse(const Record& record) const;

 private:
  const EventAttr* AttrOf(const Record& record) const;

  const EventAttr* only_ = nullptr;  // all events have this one's layout
  bool has_identifier_ = false;      // each record ends with its event's id
  std::unordered_map<uint64_t, const EventAttr*> by_id_;
};

}  // namespace flowback::perf
