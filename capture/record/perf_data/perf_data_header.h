// SPDX-License-Identifier: MIT
// The header of perf.data, in a file and in a pipe, and its features.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/formats/perf_records/named_regions.h"
#include "capture/record/generate/trace_clock.h"
#include "capture/record/perf_data/feature_buffer.h"
#include "capture/record/perf_data/little_endian_buffer.h"
#include "flowback/model/recording.h"

namespace flowback::record {

// The bytes that records have for a build-id, however long it is.
constexpr size_t kBuildIdField = 20;

// An event, with the numbers by which records name it: one for each CPU or thread it is opened on.
struct RecordedEvent {
  perf_event_attr attr{};
  std::string name;
  std::vector<uint64_t> ids;
};
using RecordedEvents = std::vector<RecordedEvent>;

// A kind of events as the machine numbers them.
struct PmuNumber {
  uint32_t type = 0;
  std::string name;
};

struct HeaderFeature {
  unsigned bit = 0;
  FeatureBuffer content;
};

struct TraceIndexEntry {
  uint64_t file_offset = 0;
  uint64_t size = 0;
};

// Header, event ids and attributes; behind them stands the data, whose size is set with each
// record.
void AppendFileHeader(LittleEndianBuffer& out, const RecordedEvents& events);
// The same for a pipe: attributes are records.
void AppendPipeHeader(LittleEndianBuffer& out, const RecordedEvents& events);

// Returns the features with recorder and processor.
std::vector<HeaderFeature> IdentityFeatures(const std::string& recorder, const std::string& cpu,
                                            const std::string& cpuid);
// Returns the features of this machine, and those of the recording that are known before it begins.
// `architecture`: of another one, which is emulated.
std::vector<HeaderFeature> MachineFeatures(const std::vector<std::string>& command_line,
                                           const RecordedEvents& events,
                                           const std::vector<PmuNumber>& pmus,
                                           const std::string& architecture = {});
// What the wall clock and the recording's show at the same moment.
struct ClockMoment {
  uint64_t wall_ns = 0;   // since 1970
  uint64_t clock_ns = 0;  // as the records' times
};
// Returns the current moment. REQUIRES: the clock is the host's.
ClockMoment MomentOf(const TraceClock& clock);
HeaderFeature ClockDataFeature(const ClockMoment& moment);
HeaderFeature BuildIdFeature(const std::vector<MmapRecord>& maps);
HeaderFeature TraceIndexFeature(const std::vector<TraceIndexEntry>& index);
HeaderFeature SampleTimeFeature(uint64_t first, uint64_t last);
// Returns one feature with all of them, or several that each fit into a record. Returns no feature
// for an empty list.
std::vector<HeaderFeature> ProcessEndFeatures(const std::vector<ProcessEnd>& ends, bool in_records);
std::vector<HeaderFeature> RegionFeatures(const std::vector<NamedRegion>& regions, bool in_records);

// The feature as a record among the data, as perf writes it into a pipe. One that is too large for
// a record is left out.
void AppendFeatureRecord(LittleEndianBuffer& out, const HeaderFeature& feature);

}  // namespace flowback::record
