// SPDX-License-Identifier: MIT
// The file: header, event ids, attributes, records with trace bytes between them, features.
//
// Two events, as perf makes them: intel_pt, which owns the trace, and a dummy that delivers the
// sideband. Every sideband record ends with the same three fields (TID, TIME, IDENTIFIER), because
// sample_id_all is set. A thread's trace comes as AUX records, which say what part of a buffer was
// filled, each with an AUXTRACE record behind it and the bytes outside that record's size.
#include "capture/record/perf_data_writer.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "capture/formats/perf_layout.h"
#include "capture/record/feature_buffer.h"
#include "capture/record/perf_data_events.h"

namespace flowback::record {
namespace {

using namespace perf;

constexpr uint64_t kDataSizeAt = 48;     // in the header
constexpr uint64_t kFeatureBitsAt = 72;  // in the header

// Header features that no reader of ours needs.
constexpr unsigned kFeaturePmuMappings = 16;
constexpr unsigned kFeatureSampleTime = 21;

constexpr uint16_t kMiscUser = PERF_RECORD_MISC_USER;
constexpr size_t kStringUnit = 64;  // header strings
constexpr size_t kBuildIdField = 20;

// ---- sideband ----

void PutBuildId(RecordBuffer& record, const BuildId& id) {
  record.U8(static_cast<uint8_t>(id.bytes.size()));
  record.Zeros(3);
  record.Append(id.bytes);
  record.Zeros(kBuildIdField - id.bytes.size());
}

RecordBuffer Encode(const MmapRecord& map) {
  const bool has_id = !map.build_id.empty();
  RecordBuffer record(kRecordMmap2,
                      static_cast<uint16_t>(kMiscUser | (has_id ? kMiscMmapBuildId : 0)));
  record.Thread(map);
  record.U64(map.address);
  record.U64(map.size);
  record.U64(map.file_offset);
  if (has_id)
    PutBuildId(record, map.build_id);
  else
    record.Zeros(4 + kBuildIdField);  // device and inode, not known
  record.U32(PROT_READ | PROT_EXEC);
  record.U32(MAP_PRIVATE);
  record.Text(map.path, kRecordUnit);
  return record;
}

RecordBuffer Encode(const CommRecord& comm) {
  RecordBuffer record(kRecordComm, comm.exec ? kMiscCommExec : 0);
  record.Thread(comm);
  record.Text(comm.comm, kRecordUnit);
  return record;
}

RecordBuffer EncodeTask(uint32_t type, const SidebandBase& base, int32_t parent_pid,
                        int32_t parent_tid) {
  RecordBuffer record(type, 0);
  record.U32(static_cast<uint32_t>(base.pid));
  record.U32(static_cast<uint32_t>(parent_pid));
  record.U32(static_cast<uint32_t>(base.tid));
  record.U32(static_cast<uint32_t>(parent_tid));
  record.U64(base.time);
  return record;
}

RecordBuffer Encode(const ForkRecord& fork) {
  return EncodeTask(kRecordFork, fork, fork.parent_pid, fork.parent_tid);
}

RecordBuffer Encode(const ExitRecord& exit) {
  return EncodeTask(kRecordExit, exit, exit.pid, exit.tid);
}

RecordBuffer Encode(const ItraceStartRecord& start) {
  RecordBuffer record(kRecordItraceStart, 0);
  record.Thread(start);
  return record;
}

RecordBuffer Encode(const AuxRecord& aux) {
  RecordBuffer record(kRecordAux, 0);
  record.U64(aux.offset);
  record.U64(aux.size);
  record.U64(aux.flags);
  return record;
}

RecordBuffer Encode(const SwitchRecord& change) {
  if (!change.out) return RecordBuffer(kRecordSwitch, 0);
  return RecordBuffer(
      kRecordSwitch,
      static_cast<uint16_t>(kMiscSwitchOut | (change.preempted ? kMiscSwitchOutPreempt : 0)));
}

RecordBuffer Encode(const LostRecord& lost) {
  RecordBuffer record(kRecordLost, 0);
  record.U64(kTraceEventId);
  record.U64(lost.count);
  return record;
}

Bytes AsBytes(const perf_event_attr& attr) {
  return {reinterpret_cast<const uint8_t*>(&attr), sizeof attr};
}

// ---- features ----

FeatureBuffer BuildIdFeature(const std::vector<MmapRecord>& maps) {
  FeatureBuffer feature;
  for (const auto& map : maps) {
    RecordBuffer entry(0, kMiscUser | kMiscBuildIdSize);
    entry.U32(~uint32_t{0});  // of the host, not of a guest
    entry.Append(map.build_id.bytes);
    entry.Zeros(kBuildIdField - map.build_id.bytes.size());
    entry.U8(static_cast<uint8_t>(map.build_id.bytes.size()));
    entry.Zeros(3);
    entry.Text(map.path, kStringUnit);
    feature.Append(entry.Done());
  }
  return feature;
}

FeatureBuffer EventDescriptionFeature(Bytes attributes) {
  FeatureBuffer feature;
  feature.U32(2);
  feature.U32(sizeof(perf_event_attr));
  const std::pair<std::string_view, uint64_t> events[] = {{"intel_pt//u", kTraceEventId},
                                                          {"dummy:u", kSidebandEventId}};
  uint64_t at = 0;
  for (const auto& [name, id] : events) {
    feature.Append(Slice(attributes, at, sizeof(perf_event_attr)));
    feature.U32(1);
    feature.String(name);
    feature.U64(id);
    at += sizeof(perf_event_attr);
  }
  return feature;
}

FeatureBuffer PmuMappingsFeature() {
  FeatureBuffer feature;
  feature.U32(2);
  feature.U32(PERF_TYPE_SOFTWARE);
  feature.String("software");
  feature.U32(kIntelPtPmu);
  feature.String("intel_pt");
  return feature;
}

using Feature = std::pair<unsigned, FeatureBuffer>;

// Who recorded, and on which processor.
std::vector<Feature> IdentityFeatures(const PerfHeaderFacts& facts) {
  return {{kFeatureVersion, StringFeature(facts.recorder)},
          {kFeatureCpuDescription, StringFeature("emulated Intel PT processor")},
          {kFeatureCpuid, StringFeature(facts.cpuid)}};
}

// The same as a record among the data, as perf writes it into a pipe.
RecordBuffer EncodeFeature(const Feature& feature) {
  RecordBuffer record(kRecordHeaderFeature, 0);
  record.U64(feature.first);
  record.Append(feature.second.bytes());
  record.Zeros((kRecordUnit - record.size() % kRecordUnit) % kRecordUnit);
  return record;
}

}  // namespace

Result<std::unique_ptr<PerfDataWriter>> PerfDataWriter::Create(const RecordOptions& options,
                                                               const TraceClock& clock,
                                                               PerfHeaderFacts facts) {
  auto file = OutputFile::Create(options.output);
  if (!file) return Fail(std::move(file.error()));
  std::unique_ptr<PerfDataWriter> writer(
      new PerfDataWriter(std::move(*file), std::move(facts), clock.conversion(), options.per_cpu));
  if (auto written = writer->WritePreamble(options, clock); !written)
    return Fail(std::move(written.error()));
  return writer;
}

Status PerfDataWriter::WritePreamble(const RecordOptions& options, const TraceClock& clock) {
  const perf_event_attr attributes[] = {TraceAttributes(options), SidebandAttributes(options)};
  constexpr uint64_t kIdsSize = 2 * sizeof(uint64_t);
  constexpr uint64_t kEntrySize = sizeof(perf_event_attr) + 2 * sizeof(uint64_t);
  data_offset_ = kFileHeaderSize + kIdsSize + 2 * kEntrySize;

  LittleEndianBuffer header;
  header.Append({reinterpret_cast<const uint8_t*>(kMagic), sizeof kMagic - 1});
  header.U64(kFileHeaderSize);
  header.U64(kEntrySize);
  header.U64(kFileHeaderSize + kIdsSize);  // attributes
  header.U64(2 * kEntrySize);
  header.U64(data_offset_);  // data; its size is set with each record
  header.Zeros(kFileHeaderSize - header.size());
  header.U64(kTraceEventId);
  header.U64(kSidebandEventId);
  uint64_t id_at = kFileHeaderSize;
  for (const auto& attr : attributes) {
    header.Append(AsBytes(attr));
    header.U64(id_at);
    header.U64(sizeof(uint64_t));
    id_at += sizeof(uint64_t);
    attributes_.insert(attributes_.end(), AsBytes(attr).begin(), AsBytes(attr).end());
  }
  RecordBuffer records[] = {EncodeTimeConversion(clock.conversion()), EncodeIdIndex(),
                            EncodeAuxtraceInfo(options, clock)};
  for (auto& record : records) header.Append(record.Done());
  // The header's features come last: a killed recorder leaves none. That the trace is emulated, and
  // by which rules it is read, must be known nevertheless.
  for (const Feature& feature : IdentityFeatures(facts_))
    header.Append(EncodeFeature(feature).Done());
  if (auto written = file_.Write(header.bytes()); !written) return written;
  return TellDataSize();
}

// What was written so far is whole. perf takes no file whose data has the size 0, so a recorder
// that may be killed keeps it true.
Status PerfDataWriter::TellDataSize() {
  LittleEndianBuffer data_size;
  data_size.U64(file_.size() - data_offset_);
  return file_.WriteAt(kDataSizeAt, data_size.bytes());
}

Status PerfDataWriter::AddStream(const StreamInfo& stream) {
  stream_sizes_.resize(std::max<size_t>(stream_sizes_.size(), stream.index + 1));
  return {};
}

Status PerfDataWriter::AddSideband(const SidebandRecord& sideband) {
  if (auto written = WriteSideband(sideband); !written) return written;
  return TellDataSize();
}

Status PerfDataWriter::WriteSideband(const SidebandRecord& sideband) {
  return std::visit(
      [this](const auto& content) -> Status {
        if constexpr (!requires { Encode(content); }) {
          return Fail(ErrorCode::kSystem,
                      "a kind of sideband that no engine of ours makes can't be written");
        } else {
          RecordBuffer record = Encode(content);
          const bool of_trace = std::is_same_v<std::decay_t<decltype(content)>, AuxRecord>;
          record.SampleId(content, per_cpu_, of_trace ? kTraceEventId : kSidebandEventId);
          if (first_time_ == 0) first_time_ = content.time;
          last_time_ = std::max(last_time_, content.time);
          if constexpr (std::is_same_v<std::decay_t<decltype(content)>, MmapRecord>)
            NoteBuildId(content);
          return file_.Write(record.Done());
        }
      },
      sideband);
}

Status PerfDataWriter::AddTrace(const StreamInfo& stream, Bytes bytes, uint64_t tsc) {
  uint64_t& size = stream_sizes_[stream.index];
  const uint64_t offset = size;
  size += bytes.size();
  return WriteTrace(stream, bytes, offset, 0, tsc);
}

Status PerfDataWriter::AddSnapshot(const StreamInfo& stream, Bytes bytes, uint64_t offset,
                                   uint64_t tsc) {
  return WriteTrace(stream, bytes, offset, kAuxOverwrite, tsc);
}

Status PerfDataWriter::WriteTrace(const StreamInfo& stream, Bytes bytes, uint64_t offset,
                                  uint64_t flags, uint64_t tsc) {
  AuxRecord aux;
  aux.time = conversion_.ToNanoseconds(tsc);
  aux.pid = stream.pid;
  aux.tid = stream.tid;
  aux.cpu = stream.cpu;
  aux.offset = offset;
  aux.size = bytes.size();
  aux.flags = flags;
  // As perf does: the next piece's offset tells that the zeros are none of the trace's.
  const uint64_t padding = -bytes.size() % kAuxtraceAlignment;
  RecordBuffer record(kRecordAuxtrace, 0);
  record.U64(bytes.size() + padding);
  record.U64(offset);
  record.U64(tsc);  // tells perf the counter's upper bits, which TSC packets lack
  record.U32(stream.index);
  record.U32(static_cast<uint32_t>(stream.tid));
  record.U32(static_cast<uint32_t>(stream.cpu));
  record.U32(0);
  if (auto written = WriteSideband(aux); !written) return written;
  trace_index_.push_back({file_.size(), record.size()});
  if (auto written = file_.Write(record.Done()); !written) return written;
  if (auto written = file_.Write(bytes); !written) return written;
  if (auto written = file_.Write(std::vector<uint8_t>(padding)); !written) return written;
  return TellDataSize();
}

Status PerfDataWriter::Finish(const RecordSummary&) { return WriteFeatures(); }

Status PerfDataWriter::WriteFeatures() {
  utsname system{};
  uname(&system);
  FeatureBuffer index;
  index.U64(trace_index_.size());
  for (const auto& entry : trace_index_) {
    index.U64(entry.file_offset);
    index.U64(entry.size);
  }
  FeatureBuffer times;
  times.U64(first_time_);
  times.U64(last_time_);
  std::vector<Feature> features = {
      {kFeatureBuildId, BuildIdFeature(build_ids_)},
      {kFeatureHostname, StringFeature(system.nodename)},
      {kFeatureOsRelease, StringFeature(system.release)},
      {kFeatureArch, StringFeature(system.machine)},
      {kFeatureCpuCount, CpuCountFeature()},
      {kFeatureCommandLine, CommandLineFeature(facts_.command_line)},
      {kFeatureEventDescriptions, EventDescriptionFeature(attributes_)},
      {kFeaturePmuMappings, PmuMappingsFeature()},
      {kFeatureAuxtrace, index},
      {kFeatureSampleTime, times},
  };
  const auto identity = IdentityFeatures(facts_);
  features.insert(features.end(), identity.begin(), identity.end());
  std::ranges::sort(features, {}, &Feature::first);  // their sections stand in the bits' order
  LittleEndianBuffer table;
  LittleEndianBuffer contents;
  const uint64_t contents_at = file_.size() + features.size() * 2 * sizeof(uint64_t);
  uint64_t bits = 0;
  for (const auto& [feature, content] : features) {
    bits |= uint64_t{1} << feature;
    table.U64(contents_at + contents.size());
    table.U64(content.size());
    contents.Append(content.bytes());
  }
  if (auto written = file_.Write(table.bytes()); !written) return written;
  if (auto written = file_.Write(contents.bytes()); !written) return written;
  LittleEndianBuffer bitmap;
  bitmap.U64(bits);
  return file_.WriteAt(kFeatureBitsAt, bitmap.bytes());
}

}  // namespace flowback::record
