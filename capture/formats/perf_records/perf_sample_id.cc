// SPDX-License-Identifier: MIT
//
// A kernel record other than SAMPLE ends, when the event asks for sample_id_all, with those of the
// fields TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER that the event's sample_type names, in this
// order, eight bytes each. The trailer is found from the record's end, because what comes before
// has no fixed size. A SAMPLE begins with its fields instead:
//
//      IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD   eight bytes each
//      READ CALLCHAIN RAW BRANCH_STACK REGS_USER STACK_USER  of their own sizes
//      WEIGHT DATA_SRC TRANSACTION                           eight bytes each
//      REGS_INTR                                             of its own size
//      PHYS_ADDR CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE        eight bytes each
//      AUX                                                   of its own size
//
// A record's id, IDENTIFIER or ID, names its event, where all events have it at one place; for a
// trailer it matters only when the events' trailers differ.
#include "capture/formats/perf_records/perf_sample_id.h"

#include <algorithm>
#include <bit>

#include "capture/formats/input/field_reader.h"
#include "capture/formats/input/text.h"

namespace flowback::perf {
namespace {

constexpr uint64_t kTrailerFields =
    kSampleTid | kSampleTime | kSampleId | kSampleStreamId | kSampleCpu | kSampleIdentifier;
constexpr uint32_t kFirstRecorderType = 64;
// The fields read that lie behind the branch stack.
constexpr uint64_t kBehindBranches = kSampleRegsUser | kSampleStackUser | kSampleWeight |
                                     kSampleWeightStruct | kSampleDataSource | kSampleTransaction |
                                     kSampleRegsIntr | kSamplePhysicalAddress | kSampleDataPageSize;
constexpr uint64_t kRegistersOf32Bit = 1;  // PERF_SAMPLE_REGS_ABI_32

uint64_t Layout(const EventAttr& attr) {
  return attr.sample_id_all() ? attr.sample_type & kTrailerFields : 0;
}

Bytes TrailerOf(const Record& record, uint64_t layout) {
  const size_t size = 8 * static_cast<size_t>(std::popcount(layout));
  return size <= record.body.size() ? record.body.last(size) : Bytes();
}

uint64_t WordAt(const Record& record, uint64_t offset) {
  FieldReader word(Slice(record.body, offset, 8), record.order);
  return word.U64();
}

SampleId ParseTrailer(Bytes trailer, ByteOrder order, uint64_t layout) {
  FieldReader fields(trailer, order);
  SampleId id;
  id.trailer_size = trailer.size();
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

// PERF_SAMPLE_READ: one value, or a group's, each with what the read format asks for.
void SkipRead(FieldReader& fields, uint64_t format) {
  const auto words = [&](uint64_t mask) {
    return static_cast<uint64_t>(std::popcount(format & mask));
  };
  const uint64_t per_value = 1 + words(kReadId | kReadLost);
  const uint64_t times = words(kReadTimeEnabled | kReadTimeRunning);
  const uint64_t values = format & kReadGroup ? fields.U64() : 1;
  if (values > fields.remaining() / 8) return fields.Skip(fields.remaining() + 1);
  fields.Skip(8 * (times + values * per_value));
}

Bytes TakeCallchain(FieldReader& fields) {
  const uint64_t size = fields.U64();
  return fields.Take(size <= kMaxCallchain ? 8 * size : fields.remaining() + 1);
}

// Takes `count` items of `size` bytes; fails if the record holds fewer.
Bytes TakeItems(FieldReader& fields, uint64_t count, uint64_t size) {
  return fields.Take(count <= fields.remaining() / size ? count * size : fields.remaining() + 1);
}

// PERF_SAMPLE_BRANCH_STACK: the number of entries, where the hardware's newest one was (not there
// for all hardware), the entries, and their counters.
void ReadBranchStack(FieldReader& fields, uint64_t type, Sample& sample) {
  sample.has_branches = true;
  const uint64_t entries = fields.U64();
  if (type & kBranchHardwareIndex) sample.branch_index = fields.U64();
  sample.branches = TakeItems(fields, entries, kBranchEntrySize);
  if (type & kBranchCounters) sample.branch_counters = TakeItems(fields, entries, 8);
}

// None where the registers were of no code that the event may see.
Bytes TakeRegisters(FieldReader& fields, uint64_t mask) {
  return fields.U64() == 0 ? Bytes() : TakeItems(fields, std::popcount(mask), 8);
}

// As much of the room for it as was filled.
Bytes TakeStack(FieldReader& fields) {
  const uint64_t size = fields.U64();
  if (size == 0) return {};
  const Bytes room = fields.Take(size);
  return room.first(std::min<uint64_t>(room.size(), fields.U64()));
}

// What stands behind the branch stack.
void ReadBehindBranches(FieldReader& fields, const EventAttr& attr, Sample& sample) {
  const uint64_t type = attr.sample_type;
  const auto read = [&](uint64_t field, uint64_t& to) {
    if (type & field) to = fields.U64();
  };
  uint64_t unused = 0;
  if (type & kSampleRegsUser) {
    FieldReader abi = fields;
    sample.user_is_32_bit = abi.U64() == kRegistersOf32Bit;
    sample.user_registers = TakeRegisters(fields, attr.regs_user);
  }
  if (type & kSampleStackUser) sample.user_stack = TakeStack(fields);
  read(kSampleWeight | kSampleWeightStruct, sample.weight);
  read(kSampleDataSource, sample.data_source);
  read(kSampleTransaction, sample.transaction);
  if (type & kSampleRegsIntr) sample.registers = TakeRegisters(fields, attr.regs_intr);
  read(kSamplePhysicalAddress, sample.physical);
  read(kSampleCgroup, unused);
  read(kSampleDataPageSize, sample.page_size);
  read(kSampleCodePageSize, unused);
  if (type & kSampleAux) sample.aux = fields.Take(fields.U64());
}

}  // namespace

SampleIdParser::IdPlace SampleIdParser::PlaceOf(const EventAttr& attr) {
  const uint64_t type = attr.sample_type;
  const auto words = [&](uint64_t mask) { return std::popcount(type & mask); };
  if (type & kSampleIdentifier) return {1, 0};
  if (!(type & kSampleId)) return {0, -1};
  return {1 + words(kSampleStreamId | kSampleCpu),
          words(kSampleIp | kSampleTid | kSampleTime | kSampleAddr)};
}

SampleIdParser::SampleIdParser(const std::vector<EventAttr>& attrs,
                               std::vector<Warning>& warnings) {
  if (attrs.empty()) {
    warnings.push_back(
        {"the header names no events: the records' times and CPUs are unknown", kDamageRemedy});
    return;
  }
  const auto same = [&](const EventAttr& a) { return Layout(a) == Layout(attrs.front()); };
  if (std::all_of(attrs.begin(), attrs.end(), same)) only_trailer_ = &attrs.front();
  if (attrs.size() == 1) only_event_ = &attrs.front();
  id_ = PlaceOf(attrs.front());
  ends_with_identifier_ = true;
  for (const EventAttr& attr : attrs) {
    const IdPlace place = PlaceOf(attr);
    if (place.from_end != id_.from_end || !attr.sample_id_all()) id_.from_end = 0;
    if (place.from_begin != id_.from_begin) id_.from_begin = -1;
    ends_with_identifier_ &= (Layout(attr) & kSampleIdentifier) != 0;
    for (const uint64_t id : attr.ids) by_id_.emplace(id, &attr);
  }
  if (!only_trailer_ && id_.from_end == 0) {
    warnings.push_back(
        {"the events' records have different layouts and no identifier that tells them apart: "
         "their "
         "times and CPUs are unknown",
         "perf record --sample-identifier"});
  }
}

void SampleIdParser::AddIdIndex(const Record& record) {
  FieldReader fields = record.Fields();
  constexpr uint64_t kEntry = 4 * 8;  // id, index of the buffer, CPU, thread
  for (uint64_t left = fields.U64(); left != 0 && fields.remaining() >= kEntry; --left) {
    const uint64_t id = fields.U64();
    fields.Skip(8);
    const auto cpu = static_cast<int32_t>(fields.U64());
    fields.Skip(8);
    if (cpu >= 0) cpu_by_id_[id] = cpu;
  }
}

uint64_t SampleIdParser::TrailingId(const Record& record) const {
  const uint64_t from_end = 8 * static_cast<uint64_t>(id_.from_end);
  return from_end == 0 || from_end > record.body.size()
             ? 0
             : WordAt(record, record.body.size() - from_end);
}

const EventAttr* SampleIdParser::AttrOf(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

SampleId SampleIdParser::Parse(const Record& record) const {
  if (record.type >= kFirstRecorderType || record.type == kRecordSample) return {};
  const uint64_t event_id = TrailingId(record);
  // perf describes what existed before with such records of its own making: their trailers are
  // zero.
  if (ends_with_identifier_ && event_id == 0) return {};
  const EventAttr* attr = only_trailer_ ? only_trailer_ : AttrOf(event_id);
  if (!attr) return {};
  const uint64_t layout = Layout(*attr);
  SampleId id = ParseTrailer(TrailerOf(record, layout), record.order, layout);
  const auto cpu = cpu_by_id_.find(event_id);
  if (id.trailer_size != 0 && id.cpu < 0 && !(layout & kSampleCpu) && cpu != cpu_by_id_.end()) {
    id.cpu = cpu->second;
  }
  return id;
}

std::optional<Sample> SampleIdParser::ParseSample(const Record& record) const {
  Sample sample;
  sample.attr = only_event_;
  const uint64_t event_id =
      id_.from_begin < 0 ? 0 : WordAt(record, 8 * static_cast<uint64_t>(id_.from_begin));
  if (!sample.attr && id_.from_begin >= 0) sample.attr = AttrOf(event_id);
  if (!sample.attr) return std::nullopt;
  const uint64_t type = sample.attr->sample_type;
  FieldReader fields = record.Fields();
  const auto skip = [&](uint64_t field) {
    if (type & field) fields.Skip(8);
  };
  skip(kSampleIdentifier);
  if (type & kSampleIp) sample.ip = fields.U64();
  if (type & kSampleTid) {
    sample.id.pid = fields.I32();
    sample.id.tid = fields.I32();
  }
  if (type & kSampleTime) sample.id.time = fields.U64();
  if (type & kSampleAddr) sample.address = fields.U64();
  for (const uint64_t field : {kSampleId, kSampleStreamId}) skip(field);
  if (type & kSampleCpu) {
    sample.id.cpu = fields.I32();
    fields.Skip(4);
  }
  if (type & kSamplePeriod) sample.period = fields.U64();
  if (type & kSampleRead) SkipRead(fields, sample.attr->read_format);
  if (type & kSampleCallchain) sample.callchain = TakeCallchain(fields);
  if (type & kSampleRaw) sample.raw = fields.Take(fields.U32());
  if (type & kSampleBranchStack) ReadBranchStack(fields, sample.attr->branch_sample_type, sample);
  if (type & (kBehindBranches | kSampleAux)) ReadBehindBranches(fields, *sample.attr, sample);
  if (type & kSampleAux) {
    const auto cpu = cpu_by_id_.find(event_id);
    if (!(type & kSampleCpu) && cpu != cpu_by_id_.end()) sample.id.cpu = cpu->second;
  }
  if (!fields.ok()) return std::nullopt;
  return sample;
}

}  // namespace flowback::perf
