// SPDX-License-Identifier: MIT
//
// perf.data in pipe mode (`perf record -o - | ...`): 16 bytes of header, then records only. What a
// file's header holds comes as records: HEADER_ATTR, HEADER_FEATURE, HEADER_BUILD_ID, EVENT_UPDATE,
// HEADER_TRACING_DATA. They stand first, but an event may be described late, so one pass collects
// them and another one reads the rest.
#include <unordered_map>

#include "capture/formats/input/format.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_data/perf_session.h"
#include "capture/formats/perf_records/perf_features.h"
#include "capture/formats/perf_records/perf_header.h"

namespace flowback {
namespace perf {
namespace {

// What a pipe's records say in place of a file's header.
struct PipeHeader {
  std::vector<EventAttr> attrs;
  std::unordered_map<uint64_t, size_t> attr_by_id;
  std::vector<Bytes> tracing_data;
};

// The attribute, as long as its own size field says, and the event's ids.
void TakeAttr(const Record& record, PipeHeader& header) {
  constexpr uint64_t kSizeAt = 4;  // of perf_event_attr::size
  FieldReader size_field(Slice(record.body, kSizeAt, 4), record.order);
  const uint64_t told = size_field.U32();
  const uint64_t size = told == 0 ? kMinAttrSize : told;
  if (size < kMinAttrSize || size > record.body.size()) return;
  EventAttr attr = ParseAttr(record.body.first(size), record.order);
  FieldReader ids(record.body.subspan(size), record.order);
  while (ids.remaining() >= 8) {
    attr.ids.push_back(ids.U64());
    header.attr_by_id.emplace(attr.ids.back(), header.attrs.size());
  }
  header.attrs.push_back(std::move(attr));
}

void TakeEventUpdate(const Record& record, PipeHeader& header) {
  FieldReader fields = record.Fields();
  const uint64_t what = fields.U64();
  const uint64_t id = fields.U64();
  if (!fields.ok() || what != kEventUpdateName) return;
  const auto attr = header.attr_by_id.find(id);
  if (attr == header.attr_by_id.end()) return;
  header.attrs[attr->second].name = TextOf(fields.Take(fields.remaining()));
}

// Damage is reported when the records are read.
PipeHeader CollectHeader(const RecordSection& section, ByteOrder order, Recording& recording) {
  PipeHeader header;
  FeatureDamage damage;
  RecordReader reader = section.Records(order);
  for (Record record; reader.Next(record);) {
    if (record.type == kRecordHeaderAttr) TakeAttr(record, header);
    if (record.type == kRecordHeaderFeature) ReadFeatureRecord(record, recording, damage);
    if (record.type == kRecordEventUpdate) TakeEventUpdate(record, header);
    if (record.type == kRecordHeaderBuildId) ReadBuildIdRecord(record, recording);
    if (record.type == kRecordTracingData) header.tracing_data.push_back(record.aux);
  }
  damage.Report(recording);
  if (recording.events.empty()) {
    for (const EventAttr& attr : header.attrs) recording.events.push_back(attr.name);
  }
  return header;
}

}  // namespace
}  // namespace perf

bool MatchesPerfDataPipe(const Candidate& candidate) {
  const bool foreign = StartsWith(candidate.bytes, perf::kForeignMagic);
  if (!foreign && !StartsWith(candidate.bytes, perf::kMagic)) return false;
  FieldReader size(Slice(candidate.bytes, 8, 8), foreign ? ByteOrder::kBig : ByteOrder::kLittle);
  return size.U64() == perf::kPipeHeaderSize;
}

Status ReadPerfDataPipe(const Candidate& candidate, Recording& recording) {
  using namespace perf;
  const bool foreign = StartsWith(candidate.bytes, kForeignMagic);
  const ByteOrder order = foreign ? ByteOrder::kBig : ByteOrder::kLittle;
  const RecordSection section{candidate.path, candidate.bytes, kPipeHeaderSize,
                              candidate.bytes.size(), candidate.mapped};
  PipeHeader header = CollectHeader(section, order, recording);
  RecordingReader session(std::move(header.attrs), order, recording);
  session.VisitSamples(candidate.visit_samples);
  for (const Bytes data : header.tracing_data) session.UseTracingData(data);
  if (Status status = session.Read(section); !status) return status;
  session.Finish();
  return {};
}

}  // namespace flowback
