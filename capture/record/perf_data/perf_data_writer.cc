// SPDX-License-Identifier: MIT
// The file: header, event ids, attributes, records with trace bytes between them, features. In a
// pipe all but the first words of the header are records, too, and stand in front.
//
// Two events, as perf makes them: intel_pt, which owns the trace, and a dummy that delivers the
// sideband. Every sideband record ends with the same three fields (TID, TIME, IDENTIFIER), because
// sample_id_all is set. A thread's trace comes as AUX records, which name the filled part of a
// buffer, each with an AUXTRACE record after it and the bytes outside that record's size. For
// branch stacks the first event is "branches", and the trace is its samples.
#include "capture/record/perf_data/perf_data_writer.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/feature_sections.h"
#include "capture/record/perf_data/perf_data_events.h"
#include "capture/record/perf_data/sideband_buffers.h"

namespace flowback::record {
namespace {

using namespace perf;

// What the reader is to know of the program's calls; "; " parts these words from others.
std::string UnlikeNativeText(const RecordSummary& summary) {
  std::string text;
  for (const UnlikeNative& call : summary.unlike_native) {
    std::string name = call.comm;
    std::ranges::replace(name, ';', '_');
    text += "; unlike native: " + call.call + " by " + name + " (" + std::to_string(call.pid) + ")";
  }
  return text;
}

constexpr uint64_t kDataSizeAt = 48;  // in the header

std::vector<PmuNumber> Pmus() {
  return {{PERF_TYPE_SOFTWARE, "software"}, {kIntelPtPmu, "intel_pt"}};
}

}  // namespace

Result<std::unique_ptr<PerfDataWriter>> PerfDataWriter::Create(const RecordOptions& options,
                                                               const TraceClock& clock,
                                                               PerfHeaderFacts facts) {
  const bool pipe = options.files.pipe >= 0;
  auto file = pipe ? OutputFile::OfPipe(options.files.output, options.files.pipe)
                   : OutputFile::Create(options.files.output);
  if (!file) return Fail(std::move(file.error()));
  std::unique_ptr<PerfDataWriter> writer(
      new PerfDataWriter(std::move(*file), std::move(facts), clock.conversion(), options));
  if (auto written = writer->WritePreamble(options, clock); !written)
    return Fail(std::move(written.error()));
  return writer;
}

Status PerfDataWriter::WritePreamble(const RecordOptions& options, const TraceClock& clock) {
  LittleEndianBuffer preamble;
  if (pipe_) {
    AppendPipeHeader(preamble, events_);
    for (const HeaderFeature& feature :
         MachineFeatures(facts_.command_line, events_, Pmus(), facts_.architecture))
      AppendFeatureRecord(preamble, feature);
  } else {
    AppendFileHeader(preamble, events_);
    data_offset_ = preamble.size();
  }
  if (!branches_) {
    RecordBuffer records[] = {EncodeTimeConversion(clock.conversion()), EncodeIdIndex(),
                              EncodeAuxtraceInfo(options, clock)};
    for (auto& record : records) preamble.Append(record.Done());
  }
  // The header's features come last: a killed recorder leaves none. That the trace is emulated, and
  // by which rules it is read, must be known nevertheless.
  for (const HeaderFeature& feature : Identity({})) AppendFeatureRecord(preamble, feature);
  if (!clock.counts_instructions()) moment_ = MomentOf(clock);
  if (moment_) AppendFeatureRecord(preamble, ClockDataFeature(*moment_));
  if (auto written = file_.Write(preamble.bytes()); !written) return written;
  return TellDataSize();
}

// Marks the part written so far as whole. perf takes no file whose data has the size 0, so a
// recorder that may be killed keeps it true.
Status PerfDataWriter::TellDataSize() {
  if (pipe_) return {};
  LittleEndianBuffer data_size;
  data_size.U64(file_.size() - data_offset_);
  return file_.WriteAt(kDataSizeAt, data_size.bytes());
}

Status PerfDataWriter::AddStream(const RecordedStream& stream) {
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
        if constexpr (!requires { EncodeSideband(content); }) {
          return Fail(ErrorCode::kSystem,
                      "a kind of sideband that no engine of ours makes can't be written");
        } else {
          RecordBuffer record = EncodeSideband(content);
          const bool of_trace = std::is_same_v<std::decay_t<decltype(content)>, AuxRecord>;
          record.SampleId(content, per_cpu_, of_trace ? kTraceEventId : kSidebandEventId);
          NoteTime(content.time);
          if constexpr (std::is_same_v<std::decay_t<decltype(content)>, MmapRecord>)
            NoteBuildId(content);
          return file_.Write(record.Done());
        }
      },
      sideband);
}

void PerfDataWriter::NoteTime(uint64_t time) {
  if (first_time_ == 0) first_time_ = time;
  last_time_ = std::max(last_time_, time);
}

Status PerfDataWriter::WriteSamples(const RecordedStream& stream, Bytes bytes) {
  const Status written = samples_[stream.index].Add(stream, bytes, conversion_, per_cpu_,
                                                    [this](RecordBuffer record, uint64_t time) {
                                                      NoteTime(time);
                                                      return file_.Write(record.Done());
                                                    });
  return written ? TellDataSize() : written;
}

Status PerfDataWriter::AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) {
  if (branches_) return WriteSamples(stream, bytes);
  uint64_t& size = stream_sizes_[stream.index];
  const uint64_t offset = size;
  size += bytes.size();
  return WriteTrace(stream, bytes, offset, 0, tsc);
}

Status PerfDataWriter::AddSnapshot(const RecordedStream& stream, Bytes bytes, uint64_t offset,
                                   uint64_t tsc) {
  return WriteTrace(stream, bytes, offset, kAuxOverwrite, tsc);
}

Status PerfDataWriter::WriteTrace(const RecordedStream& stream, Bytes bytes, uint64_t offset,
                                  uint64_t flags, uint64_t tsc) {
  AuxRecord aux;
  aux.time = conversion_.ToNanoseconds(tsc);
  aux.pid = stream.pid;
  aux.tid = stream.tid;
  aux.cpu = stream.cpu;
  aux.offset = offset;
  aux.size = bytes.size();
  aux.flags = flags;
  // As perf does: the next piece's offset shows that the zeros are no trace.
  const uint64_t padding = -bytes.size() % kAuxtraceAlignment;
  RecordBuffer record(kRecordAuxtrace, 0);
  record.U64(bytes.size() + padding);
  record.U64(offset);
  record.U64(tsc);  // gives perf the counter's upper bits, which TSC packets lack
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

std::vector<HeaderFeature> PerfDataWriter::Identity(const RecordSummary& summary) const {
  return IdentityFeatures(
      facts_.recorder + WatchText(facts_.watched, summary) + UnlikeNativeText(summary), facts_.cpu,
      facts_.cpuid);
}

// A pipe's features stand in front, but for what was not known then; its reader goes on where the
// writer is done.
Status PerfDataWriter::Finish(const RecordSummary& summary) {
  const Status written = pipe_ ? WriteLast(summary) : WriteFeatures(summary);
  const Status closed = file_.Close();
  return written ? closed : written;
}

Status PerfDataWriter::WriteLast(const RecordSummary& summary) {
  LittleEndianBuffer last;
  if (!facts_.watched.everything() || !summary.unlike_native.empty())
    for (const HeaderFeature& feature : Identity(summary)) AppendFeatureRecord(last, feature);
  for (const HeaderFeature& feature : ProcessEndFeatures(summary.process_ends, true))
    AppendFeatureRecord(last, feature);
  for (const HeaderFeature& feature : RegionFeatures(summary.regions, true))
    AppendFeatureRecord(last, feature);
  return file_.Write(last.bytes());
}

Status PerfDataWriter::WriteFeatures(const RecordSummary& summary) {
  std::vector<HeaderFeature> features =
      MachineFeatures(facts_.command_line, events_, Pmus(), facts_.architecture);
  for (HeaderFeature& feature : Identity(summary)) features.push_back(std::move(feature));
  if (moment_) features.push_back(ClockDataFeature(*moment_));
  features.push_back(BuildIdFeature(build_ids_));
  features.push_back(TraceIndexFeature(trace_index_));
  features.push_back(SampleTimeFeature(first_time_, last_time_));
  for (HeaderFeature& feature : ProcessEndFeatures(summary.process_ends, false))
    features.push_back(std::move(feature));
  for (HeaderFeature& feature : RegionFeatures(summary.regions, false))
    features.push_back(std::move(feature));
  return WriteFeatureSections(file_, std::move(features));
}

}  // namespace flowback::record
