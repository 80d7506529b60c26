// SPDX-License-Identifier: MIT
// Thread, time and event: the fields that perf appends to a kernel record when sample_id_all is
// set, and the first fields of a sample.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_record_reader.h"

namespace flowback::perf {

// Record::misc of a sample: its ip has no skid.
inline constexpr uint16_t kMiscExactIp = 1 << 14;

// What a record's trailer says; 0 and -1 where it does not.
struct SampleId {
  uint64_t time = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint64_t trailer_size = 0;  // bytes at the record's end that are not its own
};

// Those fields of a sample that matter here.
struct Sample {
  SampleId id;
  const EventAttr* attr = nullptr;
  uint64_t ip = 0;
  uint64_t period = 0;
  Bytes callchain;            // PERF_SAMPLE_CALLCHAIN, a word for each address or mark
  Bytes raw;                  // PERF_SAMPLE_RAW, as a tracepoint writes it
  bool has_branches = false;  // PERF_SAMPLE_BRANCH_STACK
  Bytes branches;             // of it, perf_branch_entry each, the newest first
  uint64_t branch_index = 0;  // where the newest was, as the recorder counts
  Bytes branch_counters;      // a word for each of them; empty: not recorded
  // The sampled instruction's access to data; 0: not recorded, or no access.
  uint64_t address = 0;
  uint64_t physical = 0;
  uint64_t weight = 0;  // as the event's kind of it has it
  uint64_t data_source = 0;
  uint64_t page_size = 0;
  uint64_t transaction = 0;
  Bytes registers;              // PERF_SAMPLE_REGS_INTR: a word for each that the event asks for
  Bytes user_registers;         // PERF_SAMPLE_REGS_USER, in the file's byte order
  bool user_is_32_bit = false;  // they are of a 32-bit program
  Bytes user_stack;             // PERF_SAMPLE_STACK_USER: from the stack pointer on
  Bytes aux;  // PERF_SAMPLE_AUX: the end of the CPU's trace when the sample was taken
};

// Knows which event, and so which layout, each record has.
class SampleIdParser {
 public:
  // `attrs` must outlive the object. Warns when the events' layouts differ and a record does not
  // name its own.
  SampleIdParser(const std::vector<EventAttr>& attrs, std::vector<Warning>& warnings);

  // ID_INDEX: the CPU of each event's id, for records whose layout has no CPU.
  void AddIdIndex(const Record& record);

  // Empty for records that the recorder itself wrote (type >= 64, or id 0).
  SampleId Parse(const Record& record) const;

  // The event of a record of the kernel's that is no sample; null: unknown.
  const EventAttr* EventOf(const Record& record) const {
    return only_event_ != nullptr ? only_event_ : AttrOf(TrailingId(record));
  }

  // Empty when its event is unknown, or when it is too short for its fields.
  std::optional<Sample> ParseSample(const Record& record) const;

 private:
  // Where a record has its event's id.
  struct IdPlace {
    int from_end = 0;    // in words; 0: unknown
    int from_begin = 0;  // of a sample; -1: unknown
  };
  static IdPlace PlaceOf(const EventAttr& attr);
  uint64_t TrailingId(const Record& record) const;
  const EventAttr* AttrOf(uint64_t id) const;

  const EventAttr* only_trailer_ = nullptr;  // all events have this one's trailer
  const EventAttr* only_event_ = nullptr;    // there is just this one
  IdPlace id_;                               // agreed on by all events
  bool ends_with_identifier_ = false;
  std::unordered_map<uint64_t, const EventAttr*> by_id_;
  std::unordered_map<uint64_t, int32_t> cpu_by_id_;
};

}  // namespace flowback::perf
