// SPDX-License-Identifier: MIT
#include "capture/record/perf_data/perf_data_events.h"

#include <algorithm>
#include <bit>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/branch_samples.h"

namespace flowback::record {
namespace {

using namespace perf;

// Bits of the intel_pt event's configuration (/sys/bus/event_source/devices/intel_pt/format).
constexpr uint64_t kConfigPt = 1 << 0;
constexpr uint64_t kConfigCyc = 1 << 1;
constexpr uint64_t kConfigMtc = 1 << 9;
constexpr uint64_t kConfigTsc = 1 << 10;
constexpr uint64_t kConfigNoRetComp = 1 << 11;
constexpr uint64_t kConfigBranch = 1 << 13;
constexpr unsigned kMtcPeriodShift = 14;
constexpr uint64_t kConfigMtcPeriod = 0xf << kMtcPeriodShift;
constexpr unsigned kCycThresholdShift = 19;
constexpr unsigned kPsbPeriodShift = 24;

constexpr uint64_t kSampleType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
uint64_t PtEventConfig(const RecordOptions& options) {
  uint64_t config = kConfigPt | kConfigBranch;
  if (options.packets.timestamps) config |= kConfigTsc;
  if (options.packets.timestamps && options.packets.mtc_shift)
    config |= kConfigMtc | uint64_t{*options.packets.mtc_shift} << kMtcPeriodShift;
  if (options.packets.cyc_threshold)
    config |= kConfigCyc | uint64_t{*options.packets.cyc_threshold} << kCycThresholdShift;
  if (!options.packets.return_compression) config |= kConfigNoRetComp;
  // The field counts from 2 KiB in powers of two.
  const unsigned period =
      std::bit_width(std::max(options.packets.psb_period_bytes, 2048u) / 2048) - 1u;
  return config | uint64_t{std::min(period, 15u)} << kPsbPeriodShift;
}

perf_event_attr CommonAttributes(const RecordOptions& options) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_period = 1;
  attr.sample_type = kSampleType | (options.streams.per_cpu ? PERF_SAMPLE_CPU : 0);
  attr.inherit = options.streams.per_cpu;
  attr.read_format = PERF_FORMAT_ID;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.enable_on_exec = 1;
  attr.sample_id_all = 1;
  return attr;
}

}  // namespace

perf_event_attr TraceAttributes(const RecordOptions& options) {
  perf_event_attr attr = CommonAttributes(options);
  if (options.streams.branch_depth) {
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
    attr.sample_period = *options.streams.branch_depth;
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = BranchSampleType();
    return attr;
  }
  attr.type = kIntelPtPmu;
  attr.config = PtEventConfig(options);
  return attr;
}

perf_event_attr SidebandAttributes(const RecordOptions& options) {
  perf_event_attr attr = CommonAttributes(options);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.build_id = 1;
  attr.context_switch = options.streams.per_cpu;
  return attr;
}

RecordBuffer EncodeTimeConversion(const TimeConversion& conversion) {
  RecordBuffer record(kRecordTimeConv, 0);
  record.U64(conversion.shift);
  record.U64(conversion.mult);
  record.U64(conversion.zero);
  record.U64(0);             // cycles of a short counter: the TSC is none
  record.U64(~uint64_t{0});  // its mask
  record.U8(1);              // zero is valid
  record.U8(0);              // no short counter
  record.Zeros(6);
  return record;
}

RecordBuffer EncodeIdIndex() {
  RecordBuffer record(kRecordIdIndex, 0);
  constexpr uint64_t kNone = ~uint64_t{0};
  record.U64(2);
  for (const uint64_t id : {kTraceEventId, kSidebandEventId}) {
    record.U64(id);
    record.U64(0);      // index of the buffer
    record.U64(kNone);  // no CPU: per-thread buffers
    record.U64(kNone);  // threads come and go
  }
  return record;
}

// The form of thread switches, as perf numbers it: by SWITCH records of the tasks' events.
constexpr uint64_t kSwitchRecords = 2;

RecordBuffer EncodeAuxtraceInfo(const RecordOptions& options, const TraceClock& clock) {
  RecordBuffer record(kRecordAuxtraceInfo, 0);
  record.U32(kAuxtraceIntelPt);
  record.U32(0);
  // In the order of the PtInfo enumeration.
  const uint64_t fields[] = {
      kIntelPtPmu,
      clock.conversion().shift,
      clock.conversion().mult,
      clock.conversion().zero,
      1,  // the zero is valid
      kConfigTsc,
      kConfigNoRetComp,
      options.streams.per_cpu ? kSwitchRecords : 0,
      options.streams.snapshot_bytes.has_value(),
      options.streams.per_cpu,
      kConfigMtc,
      kConfigMtcPeriod,
      clock.tsc_per_crystal_tick(),
      1,
      kConfigCyc,
      clock.nominal_ratio(),
      0,  // length of the filter text
      0,  // no event trace
  };
  for (const uint64_t field : fields) record.U64(field);
  return record;
}

}  // namespace flowback::record
