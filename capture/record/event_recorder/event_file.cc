// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/event_file.h"

#include <utility>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/feature_sections.h"
#include "capture/record/perf_data/perf_record_buffer.h"

namespace flowback::record {
namespace {

using namespace perf;

constexpr uint64_t kHeaderDataSizeAt = 48;

// In a pipe: the fields of tracepoints follow the record with their size.
void AppendTracingData(LittleEndianBuffer& out, Bytes data) {
  const uint64_t padding = -data.size() % kRecordUnit;
  RecordBuffer record(kRecordTracingData, 0);
  record.U32(static_cast<uint32_t>(data.size() + padding));
  out.Append(record.Done());
  out.Append(data);
  out.Zeros(padding);
}

}  // namespace

Result<EventFile> EventFile::Create(const RecordOptions& options, RecordedEvents events,
                                    EventFileFacts facts) {
  const bool pipe = options.files.pipe >= 0;
  auto file = pipe ? OutputFile::OfPipe(options.files.output, options.files.pipe)
                   : OutputFile::Create(options.files.output);
  if (!file) return Fail(std::move(file.error()));
  EventFile written(std::move(*file), std::move(events), std::move(facts), pipe);
  if (Status begun = written.WriteHeader(); !begun) return Fail(std::move(begun.error()));
  return written;
}

std::vector<HeaderFeature> EventFile::Features() const {
  std::vector<HeaderFeature> features = MachineFeatures(facts_.command_line, events_, facts_.pmus);
  for (HeaderFeature& feature : IdentityFeatures(facts_.recorder, facts_.cpu, facts_.cpuid))
    features.push_back(std::move(feature));
  return features;
}

Status EventFile::WriteHeader() {
  LittleEndianBuffer header;
  if (pipe_) {
    AppendPipeHeader(header, events_);
    for (const HeaderFeature& feature : Features()) AppendFeatureRecord(header, feature);
    for (const HeaderFeature& feature : facts_.more)
      if (feature.bit == kFeatureTracingData) AppendTracingData(header, feature.content.bytes());
  } else {
    AppendFileHeader(header, events_);
    data_offset_ = header.size();
  }
  if (Status written = file_.Write(header.bytes()); !written) return written;
  return TellDataSize();
}

// perf takes no file whose data has the size 0.
Status EventFile::TellDataSize() {
  if (pipe_) return {};
  LittleEndianBuffer size;
  size.U64(file_.size() - data_offset_);
  return file_.WriteAt(kHeaderDataSizeAt, size.bytes());
}

Status EventFile::AddRecords(const RingPart& records) {
  if (Status written = file_.Write(records.first); !written) return written;
  return records.second.empty() ? Status() : file_.Write(records.second);
}

Status EventFile::AddTrace(const RecordedStream& stream, const RingPart& trace, uint64_t offset) {
  const uint64_t padding = -trace.size() % kAuxtraceAlignment;
  RecordBuffer record(kRecordAuxtrace, 0);
  record.U64(trace.size() + padding);
  record.U64(offset);
  record.U64(0);  // no reference: the trace has its times
  record.U32(stream.index);
  record.U32(static_cast<uint32_t>(stream.tid));
  record.U32(static_cast<uint32_t>(stream.cpu));
  record.U32(0);
  trace_index_.push_back({file_.size(), record.size()});
  if (Status written = file_.Write(record.Done()); !written) return written;
  if (Status written = AddRecords(trace); !written) return written;
  return padding == 0 ? Status() : file_.Write(std::vector<uint8_t>(padding));
}

Status EventFile::EndRound() {
  RecordBuffer round(kRecordFinishedRound, 0);
  if (Status written = file_.Write(round.Done()); !written) return written;
  return TellDataSize();
}

Status EventFile::Finish() {
  const Status told = TellDataSize();
  const Status written = !told ? told : pipe_ ? WriteLast() : WriteFeatures();
  const Status closed = file_.Close();
  return written ? closed : written;
}

// A pipe's features stand in front, but for what was not known then.
Status EventFile::WriteLast() {
  LittleEndianBuffer last;
  for (const HeaderFeature& feature : RegionFeatures(regions_, true))
    AppendFeatureRecord(last, feature);
  for (const HeaderFeature& feature : ProcessEndFeatures(ends_, true))
    AppendFeatureRecord(last, feature);
  return last.size() == 0 ? Status() : file_.Write(last.bytes());
}

Status EventFile::WriteFeatures() {
  std::vector<HeaderFeature> features = Features();
  for (const HeaderFeature& feature : facts_.more) features.push_back(feature);
  for (HeaderFeature& feature : RegionFeatures(regions_, false))
    features.push_back(std::move(feature));
  for (HeaderFeature& feature : ProcessEndFeatures(ends_, false))
    features.push_back(std::move(feature));
  if (!trace_index_.empty()) features.push_back(TraceIndexFeature(trace_index_));
  return WriteFeatureSections(file_, std::move(features));
}

}  // namespace flowback::record
