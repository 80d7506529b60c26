// SPDX-License-Identifier: MIT
//
// A kernel record other than SAMPLE ends, when the event asks for sample_id_all, with those of the
// fields TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER that the event's sample_type names, in this
// order, eight bytes each. The trailer is found from the record's end, because what comes before
// has no fixed size. Which event a record belongs to matters only when the events' layouts differ;
// then perf makes all of them end with IDENTIFIER, so the last eight bytes tell.
#include "capture/formats/perf_sample_id.h"

#include <algorithm>
#include <bit>

#include "capture/formats/field_reader.h"

namespace flowback::perf {
namespace {

constexpr uint64_t kTrailerFields =
    kSampleTid | kSampleTime | kSampleId | kSampleStreamId | kSampleCpu | kSampleIdentifier;
constexpr uint32_t kFirstRecorderType = 64;

uint64_t Layout(const EventAttr& attr) {
  return attr.sample_id_all() ? attr.sample_type & kTrailerFields : 0;
}

Bytes TrailerOf(const Record& record, uint64_t layout) {
  const size_t size = 8 * static_cast<size_t>(std::popcount(layout));
  return size <= record.body.size() ? record.body.last(size) : Bytes();
}

uint64_t LastWord(const Record& record) {
  return record.body.size() < 8 ? 0 : LoadLittleEndian(record.body.last(8).data(), 8);
}

SampleId ParseTrailer(Bytes trailer, uint64_t layout) {
  FieldReader fields(trailer);
  SampleId id;
  if (layout & kSampleTid) {
    id.pid = fields.I32();
    id.tid = fields.I32();
  }
  if (layout & kSampleTime) id.time = fields.U64();
  if (layout & kSampleId) fields.Skip(8);
  if (layout & kSampleStreamId) fields.Skip(8);
  if (layout & kSampleCpu) id.cpu = fields.I32();
  const bool blank = (layout & kSampleTime) && id.time == 0;
  return fields.ok() && !blank ? id : SampleId();
}

}  // namespace

SampleIdParser::SampleIdParser(const std::vector<EventAttr>& attrs,
                               std::vector<std::string>& warnings) {
  if (attrs.empty()) {
    warnings.push_back("the header names no events: the records' times and CPUs are unknown");
    return;
  }
  const auto same = [&](const EventAttr& a) { return Layout(a) == Layout(attrs.front()); };
  const auto has_identifier = [](const EventAttr& a) { return Layout(a) & kSampleIdentifier; };
  if (std::all_of(attrs.begin(), attrs.end(), same)) only_ = &attrs.front();
  has_identifier_ = std::all_of(attrs.begin(), attrs.end(), has_identifier);
  if (!only_ && !has_identifier_) {
    warnings.push_back(
        "the events' records have different layouts and no identifier that tells them apart: their "
        "times and CPUs are unknown");
  }
  if (only_ || !has_identifier_) return;
  for (const EventAttr& attr : attrs) {
    for (const uint64_t id : attr.ids) by_id_.emplace(id, &attr);
  }
}

const EventAttr* SampleIdParser::AttrOf(const Record& record) const {
  if (only_) return only_;
  const auto found = by_id_.find(LastWord(record));
  return found == by_id_.end() ? nullptr : found->second;
}

SampleId SampleIdParser::Parse(const Record& record) const {
  if (record.type >= kFirstRecorderType || record.type == kRecordSample) return {};
  // perf describes what existed before with such records of its own making: their trailers are
  // zero.
  if (has_identifier_ && LastWord(record) == 0) return {};
  const EventAttr* attr = AttrOf(record);
  if (!attr) return {};
  const uint64_t layout = Layout(*attr);
  return ParseTrailer(TrailerOf(record, layout), layout);
}

}  // namespace flowback::perf
