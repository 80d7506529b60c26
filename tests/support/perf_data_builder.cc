// SPDX-License-Identifier: MIT
#include "tests/support/perf_data_builder.h"

#include <algorithm>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::support {
namespace {

using namespace perf;

constexpr uint64_t kAttrSize = 128;

uint64_t PaddedSize(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

void WriteAttr(const Event& event, uint64_t ids_offset, FieldWriter& file) {
  const size_t begin = file.bytes.size();
  file.U32(event.type).U32(kAttrSize).U64(event.config).U64(1).U64(event.sample_type).U64(4);
  file.U64((event.sample_id_all ? kAttrSampleIdAll : 0) |
           (event.exclude_kernel ? kAttrExcludeKernel : 0));
  file.bytes.resize(begin + kBranchSampleTypeAt);
  file.U64(event.branch_sample_type);
  file.bytes.resize(begin + kAttrSize);
  file.U64(ids_offset).U64(8 * event.ids.size());
}

}  // namespace

FieldWriter& FieldWriter::Put(uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return *this;
}

FieldWriter& FieldWriter::Raw(const std::vector<uint8_t>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return *this;
}

FieldWriter& FieldWriter::Text(std::string_view text, size_t alignment) {
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.resize(bytes.size() - text.size() + PaddedSize(text.size() + 1, alignment));
  return *this;
}

const uint64_t PerfDataBuilder::kUsualSampleType =
    kSampleTid | kSampleTime | kSampleCpu | kSampleIdentifier;

PerfDataBuilder PerfDataBuilder::WithIntelPt() {
  PerfDataBuilder file;
  file.AddEvent({8, 0x100f621, kUsualSampleType, true, {100}});
  file.AddEvent({1, 9, kUsualSampleType, true, {102}});
  file.AuxtraceInfo(UsualPtInfo());
  return file;
}

std::vector<uint64_t> PerfDataBuilder::UsualPtInfo() {
  return {8, 31,    894784853, 1000000000000, 1, 0x400, 0x800, 2, 0,
          1, 0x200, 0x3c000,   200,           2, 2,     24,    0};
}

void PerfDataBuilder::Record(uint32_t type, uint16_t misc, const FieldWriter& body) {
  FieldWriter record;
  record.U32(type).U16(misc).U16(static_cast<uint16_t>(kRecordHeaderSize + body.bytes.size()));
  record.Raw(body.bytes);
  data_.insert(data_.end(), record.bytes.begin(), record.bytes.end());
}

void PerfDataBuilder::KernelRecord(uint32_t type, uint16_t misc, FieldWriter body,
                                   const Trailer& trailer) {
  const auto owner = std::find_if(events_.begin(), events_.end(), [&](const Event& event) {
    return std::find(event.ids.begin(), event.ids.end(), trailer.id) != event.ids.end();
  });
  const Event& event = owner == events_.end() ? events_.front() : *owner;
  const uint64_t fields = event.sample_id_all ? event.sample_type : 0;
  if (fields & kSampleTid) {
    body.U32(static_cast<uint32_t>(trailer.pid)).U32(static_cast<uint32_t>(trailer.tid));
  }
  if (fields & kSampleTime) body.U64(trailer.time);
  if (fields & kSampleId) body.U64(trailer.id);
  if (fields & kSampleStreamId) body.U64(trailer.id);
  if (fields & kSampleCpu) body.U32(static_cast<uint32_t>(trailer.cpu)).U32(0);
  if (fields & kSampleIdentifier) body.U64(trailer.id);
  Record(type, misc, body);
}

void PerfDataBuilder::AuxtraceInfo(const std::vector<uint64_t>& values, uint32_t type) {
  FieldWriter body;
  body.U32(type).U32(0);
  for (const uint64_t value : values) body.U64(value);
  Record(kRecordAuxtraceInfo, 0, body);
}

void PerfDataBuilder::Auxtrace(uint64_t offset, uint32_t idx, int32_t tid, int32_t cpu,
                               const std::vector<uint8_t>& data, bool pad) {
  const uint64_t size = pad ? PaddedSize(data.size(), kAuxtraceAlignment) : data.size();
  FieldWriter body;
  body.U64(size).U64(offset).U64(0x123456).U32(idx);
  body.U32(static_cast<uint32_t>(tid)).U32(static_cast<uint32_t>(cpu)).U32(0);
  Record(kRecordAuxtrace, 0, body);
  data_.insert(data_.end(), data.begin(), data.end());
  data_.resize(data_.size() + size - data.size());
}

void PerfDataBuilder::Mmap2(int32_t pid, uint64_t address, uint64_t size, uint64_t offset,
                            std::string_view path, const Trailer& trailer) {
  FieldWriter body;
  body.U32(static_cast<uint32_t>(pid)).U32(static_cast<uint32_t>(pid));
  body.U64(address).U64(size).U64(offset).U64(0).U64(0).U64(0).U32(5).U32(2).Text(path);
  KernelRecord(kRecordMmap2, 2, body, trailer);
}

void PerfDataBuilder::Comm(int32_t pid, int32_t tid, std::string_view name, bool exec,
                           const Trailer& trailer) {
  FieldWriter body;
  body.U32(static_cast<uint32_t>(pid)).U32(static_cast<uint32_t>(tid)).Text(name);
  KernelRecord(kRecordComm, exec ? kMiscCommExec : 0, body, trailer);
}

void PerfDataBuilder::Fork(int32_t pid, int32_t tid, int32_t parent_pid, int32_t parent_tid,
                           const Trailer& trailer) {
  FieldWriter body;
  body.U32(static_cast<uint32_t>(pid)).U32(static_cast<uint32_t>(parent_pid));
  body.U32(static_cast<uint32_t>(tid)).U32(static_cast<uint32_t>(parent_tid)).U64(trailer.time);
  KernelRecord(kRecordFork, 0, body, trailer);
}

void PerfDataBuilder::Exit(int32_t pid, int32_t tid, const Trailer& trailer) {
  FieldWriter body;
  body.U32(static_cast<uint32_t>(pid)).U32(static_cast<uint32_t>(pid));
  body.U32(static_cast<uint32_t>(tid)).U32(static_cast<uint32_t>(pid)).U64(trailer.time);
  KernelRecord(kRecordExit, 0, body, trailer);
}

void PerfDataBuilder::ItraceStart(int32_t pid, int32_t tid, const Trailer& trailer) {
  FieldWriter body;
  body.U32(static_cast<uint32_t>(pid)).U32(static_cast<uint32_t>(tid));
  KernelRecord(kRecordItraceStart, 0, body, trailer);
}

void PerfDataBuilder::Aux(uint64_t offset, uint64_t size, uint64_t flags, const Trailer& trailer) {
  FieldWriter body;
  body.U64(offset).U64(size).U64(flags);
  KernelRecord(kRecordAux, 0, body, trailer);
}

void PerfDataBuilder::TextFeature(unsigned bit, std::string_view text) {
  FieldWriter padded;
  padded.Text(text, 64);
  FieldWriter content;
  content.U32(static_cast<uint32_t>(padded.bytes.size())).Raw(padded.bytes);
  Feature(bit, content);
}

// Header, ids of all events, attributes, data; as perf lays them out.
uint64_t PerfDataBuilder::DataOffset() const {
  uint64_t offset = kFileHeaderSize;
  for (const Event& event : events_) offset += 8 * event.ids.size() + kAttrSize + kSectionSize;
  return offset;
}

std::vector<uint8_t> PerfDataBuilder::Build() const {
  const uint64_t attrs_size = events_.size() * (kAttrSize + kSectionSize);
  FieldWriter file;
  file.Raw({kMagic, kMagic + 8}).U64(kFileHeaderSize).U64(kAttrSize + kSectionSize);
  file.U64(DataOffset() - attrs_size).U64(attrs_size).U64(DataOffset()).U64(data_.size());
  file.U64(0).U64(0);
  uint64_t words[kFeatureBits / 64] = {};
  for (const auto& [bit, content] : features_) words[bit / 64] |= uint64_t{1} << bit % 64;
  for (const uint64_t word : words) file.U64(word);
  for (const Event& event : events_) {
    for (const uint64_t id : event.ids) file.U64(id);
  }
  uint64_t ids_offset = kFileHeaderSize;
  for (const Event& event : events_) {
    WriteAttr(event, ids_offset, file);
    ids_offset += 8 * event.ids.size();
  }
  file.Raw(data_);
  uint64_t content_offset = file.bytes.size() + features_.size() * kSectionSize;
  for (const auto& [bit, content] : features_) {
    file.U64(content_offset).U64(content.size());
    content_offset += content.size();
  }
  for (const auto& [bit, content] : features_) file.Raw(content);
  return file.bytes;
}

}  // namespace flowback::support
