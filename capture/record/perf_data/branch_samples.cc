// SPDX-License-Identifier: MIT
#include "capture/record/perf_data/branch_samples.h"

#include <linux/perf_event.h>

#include <cstring>
#include <ranges>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/perf_data_events.h"

namespace flowback::record {

uint64_t BranchSampleType() {
  constexpr uint64_t kSavesPrivilege = 1 << 18;  // newer than some kernels' headers
  return perf::kBranchUser | perf::kBranchAny | PERF_SAMPLE_BRANCH_TYPE_SAVE |
         perf::kBranchHardwareIndex | kSavesPrivilege;
}

Status BranchSamples::Add(const RecordedStream& stream, Bytes bytes,
                          const TimeConversion& conversion, bool with_cpu, const Take& take) {
  for (; bytes.size() >= sizeof(BranchEntry); bytes = bytes.subspan(sizeof(BranchEntry))) {
    BranchEntry entry;
    std::memcpy(&entry, bytes.data(), sizeof entry);
    if (!entry.ends_stack()) {
      stack_.push_back(entry);
      ++index_;
      continue;
    }
    const uint64_t time = conversion.ToNanoseconds(entry.from);
    if (!stack_.empty())
      if (Status taken = take(Encode(stream, entry.to, time, with_cpu), time); !taken) return taken;
    stack_.clear();
    index_ += entry.is_hole();
  }
  return {};
}

RecordBuffer BranchSamples::Encode(const RecordedStream& stream, uint64_t ip, uint64_t time,
                                   bool with_cpu) const {
  RecordBuffer record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  record.U64(kTraceEventId);
  record.U64(ip);
  record.U32(static_cast<uint32_t>(stream.pid));
  record.U32(static_cast<uint32_t>(stream.tid));
  record.U64(time);
  if (with_cpu) record.U64(static_cast<uint32_t>(stream.cpu));
  record.U64(stack_.size());
  record.U64(index_);
  for (const BranchEntry& entry : std::views::reverse(stack_)) {
    record.U64(entry.from);
    record.U64(entry.to);
    record.U64(entry.flags);
  }
  return record;
}

}  // namespace flowback::record
