// SPDX-License-Identifier: MIT
#include "capture/record/perf_data/perf_data_header.h"

#include <sys/utsname.h>
#include <time.h>

#include <string_view>
#include <utility>

#include "capture/formats/perf_records/named_region.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/perf_data_events.h"
#include "capture/record/perf_data/perf_record_buffer.h"
#include "capture/record/perf_data/process_end.h"
#include "capture/record/watch/region_log.h"

namespace flowback::record {
namespace {

using namespace perf;

// Header features that no reader of ours needs.
constexpr unsigned kFeaturePmuMappings = 16;
constexpr unsigned kFeatureSampleTime = 21;

constexpr size_t kStringUnit = 64;  // header strings
constexpr size_t kMostOfRecord = 0xffff;

Bytes AsBytes(const perf_event_attr& attr) {
  return {reinterpret_cast<const uint8_t*>(&attr), sizeof attr};
}

void AppendMagic(LittleEndianBuffer& out) {
  out.Append({reinterpret_cast<const uint8_t*>(kMagic), sizeof kMagic - 1});
}

void AppendAttrRecord(LittleEndianBuffer& out, const RecordedEvent& event) {
  RecordBuffer record(kRecordHeaderAttr, 0);
  record.Append(AsBytes(event.attr));
  for (const uint64_t id : event.ids) record.U64(id);
  out.Append(record.Done());
}

void AppendIds(LittleEndianBuffer& out, const RecordedEvent& event) {
  for (const uint64_t id : event.ids) out.U64(id);
}

HeaderFeature EventDescriptionFeature(const RecordedEvents& events) {
  FeatureBuffer feature;
  feature.U32(static_cast<uint32_t>(events.size()));
  feature.U32(sizeof(perf_event_attr));
  for (const RecordedEvent& event : events) {
    feature.Append(AsBytes(event.attr));
    feature.U32(static_cast<uint32_t>(event.ids.size()));
    feature.String(event.name);
    AppendIds(feature, event);
  }
  return {kFeatureEventDescriptions, std::move(feature)};
}

HeaderFeature PmuMappingsFeature(const std::vector<PmuNumber>& pmus) {
  FeatureBuffer feature;
  feature.U32(static_cast<uint32_t>(pmus.size()));
  for (const PmuNumber& pmu : pmus) {
    feature.U32(pmu.type);
    feature.String(pmu.name);
  }
  return {kFeaturePmuMappings, std::move(feature)};
}

}  // namespace

void AppendFileHeader(LittleEndianBuffer& out, const RecordedEvents& events) {
  constexpr uint64_t kEntrySize = sizeof(perf_event_attr) + 2 * sizeof(uint64_t);
  uint64_t ids_size = 0;
  for (const RecordedEvent& event : events) ids_size += event.ids.size() * sizeof(uint64_t);
  AppendMagic(out);
  out.U64(kFileHeaderSize);
  out.U64(kEntrySize);
  out.U64(kFileHeaderSize + ids_size);  // attributes
  out.U64(events.size() * kEntrySize);
  out.U64(kFileHeaderSize + ids_size + events.size() * kEntrySize);  // data
  out.Zeros(kFileHeaderSize - out.size());
  for (const RecordedEvent& event : events) AppendIds(out, event);
  uint64_t id_at = kFileHeaderSize;
  for (const RecordedEvent& event : events) {
    out.Append(AsBytes(event.attr));
    out.U64(id_at);
    out.U64(event.ids.size() * sizeof(uint64_t));
    id_at += event.ids.size() * sizeof(uint64_t);
  }
}

void AppendPipeHeader(LittleEndianBuffer& out, const RecordedEvents& events) {
  AppendMagic(out);
  out.U64(kPipeHeaderSize);
  for (const RecordedEvent& event : events) AppendAttrRecord(out, event);
}

std::vector<HeaderFeature> IdentityFeatures(const std::string& recorder, const std::string& cpu,
                                            const std::string& cpuid) {
  return {{kFeatureVersion, StringFeature(recorder)},
          {kFeatureCpuDescription, StringFeature(cpu)},
          {kFeatureCpuid, StringFeature(cpuid)}};
}

std::vector<HeaderFeature> MachineFeatures(const std::vector<std::string>& command_line,
                                           const RecordedEvents& events,
                                           const std::vector<PmuNumber>& pmus,
                                           const std::string& architecture) {
  utsname system{};
  uname(&system);
  return {{kFeatureHostname, StringFeature(system.nodename)},
          {kFeatureOsRelease, StringFeature(system.release)},
          {kFeatureArch, StringFeature(architecture.empty() ? system.machine : architecture)},
          {kFeatureCpuCount, CpuCountFeature()},
          {kFeatureCommandLine, CommandLineFeature(command_line)},
          EventDescriptionFeature(events),
          PmuMappingsFeature(pmus)};
}

// The wall clock is read between two readings of the other: it is taken for their middle.
ClockMoment MomentOf(const TraceClock& clock) {
  constexpr uint64_t kSecond = 1'000'000'000;
  timespec wall{};
  const uint64_t before = TraceClock::HostNow();
  clock_gettime(CLOCK_REALTIME, &wall);
  const uint64_t after = TraceClock::HostNow();
  return {
      .wall_ns = static_cast<uint64_t>(wall.tv_sec) * kSecond + static_cast<uint64_t>(wall.tv_nsec),
      .clock_ns = clock.ToNanoseconds(before + (after - before) / 2)};
}

HeaderFeature ClockDataFeature(const ClockMoment& moment) {
  FeatureBuffer feature;
  feature.U32(1);             // version
  feature.U32(~uint32_t{0});  // perf's own clock is none of clock_gettime's
  feature.U64(moment.wall_ns);
  feature.U64(moment.clock_ns);
  return {kFeatureClockData, std::move(feature)};
}

HeaderFeature BuildIdFeature(const std::vector<MmapRecord>& maps) {
  FeatureBuffer feature;
  for (const auto& map : maps) {
    RecordBuffer entry(0, PERF_RECORD_MISC_USER | kMiscBuildIdSize);
    entry.U32(~uint32_t{0});  // of the host, not of a guest
    entry.Append(map.build_id.bytes);
    entry.Zeros(kBuildIdField - map.build_id.bytes.size());
    entry.U8(static_cast<uint8_t>(map.build_id.bytes.size()));
    entry.Zeros(3);
    entry.Text(map.path, kStringUnit);
    feature.Append(entry.Done());
  }
  return {kFeatureBuildId, std::move(feature)};
}

HeaderFeature TraceIndexFeature(const std::vector<TraceIndexEntry>& index) {
  FeatureBuffer feature;
  feature.U64(index.size());
  for (const auto& entry : index) {
    feature.U64(entry.file_offset);
    feature.U64(entry.size);
  }
  return {kFeatureAuxtrace, std::move(feature)};
}

HeaderFeature SampleTimeFeature(uint64_t first, uint64_t last) {
  FeatureBuffer feature;
  feature.U64(first);
  feature.U64(last);
  return {kFeatureSampleTime, std::move(feature)};
}

namespace {

// All in one feature, or as many in each as fit into a record.
template <class Value, class Encode>
std::vector<HeaderFeature> FeaturesOf(unsigned bit, const std::vector<Value>& values,
                                      bool in_records, Encode encode) {
  constexpr size_t kRoom = kMostOfRecord - 64;  // for what stands around it
  std::vector<HeaderFeature> features;
  for (const Value& value : values) {
    FeatureBuffer one;
    encode(value, one);
    if (features.empty() || (in_records && features.back().content.size() + one.size() > kRoom))
      features.push_back({bit, {}});
    features.back().content.Append(one.bytes());
  }
  return features;
}

void AppendNamedRegion(const NamedRegion& region, FeatureBuffer& out) {
  for (const uint64_t number : {region.begun, region.ended, region.total_ns, region.longest_ns})
    out.U64(number);
  out.String(region.name.substr(0, kLongestRegionName));
}

}  // namespace

std::vector<HeaderFeature> ProcessEndFeatures(const std::vector<ProcessEnd>& ends,
                                              bool in_records) {
  return FeaturesOf(kFeatureProcessEnds, ends, in_records, AppendProcessEnd);
}

std::vector<HeaderFeature> RegionFeatures(const std::vector<NamedRegion>& regions,
                                          bool in_records) {
  return FeaturesOf(kFeatureRegions, regions, in_records, AppendNamedRegion);
}

void AppendFeatureRecord(LittleEndianBuffer& out, const HeaderFeature& feature) {
  RecordBuffer record(kRecordHeaderFeature, 0);
  record.U64(feature.bit);
  record.Append(feature.content.bytes());
  record.Zeros(-record.size() % kRecordUnit);
  if (record.size() <= kMostOfRecord) out.Append(record.Done());
}

}  // namespace flowback::record
