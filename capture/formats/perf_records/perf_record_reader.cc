// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_record_reader.h"

#include <algorithm>

#include "capture/formats/input/text.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_sideband.h"

namespace flowback::perf {
namespace {

// Returns how many bytes of the body hold the size of the data behind the record; 0: no data
// follows records of that type.
uint64_t SizeFieldsOf(uint32_t type) {
  if (type == kRecordAuxtrace) return kAuxtraceSize - kRecordHeaderSize;
  return type == kRecordTracingData ? sizeof(uint32_t) : 0;
}

const char* NameOf(uint32_t type) {
  return type == kRecordAuxtrace ? "AUXTRACE" : "HEADER_TRACING_DATA";
}

}  // namespace

RecordHead ParseRecord(Bytes bytes, uint64_t at, ByteOrder order, Record& record) {
  FieldReader fields(Slice(bytes, at, kRecordHeaderSize), order);
  record = Record();
  record.order = order;
  record.type = fields.U32();
  record.misc = fields.U16();
  const uint64_t size = fields.U16();
  if (!fields.ok()) return RecordHead::kCut;
  if (size < kRecordHeaderSize) {
    record.body = bytes.first(0);
    return RecordHead::kTooSmall;
  }
  record.body = Slice(bytes, at + kRecordHeaderSize, size - kRecordHeaderSize);
  return record.size() == size ? RecordHead::kWhole : RecordHead::kCut;
}

bool MayBeCopied(uint32_t type) { return type == kRecordAuxtrace || IsSideband(type); }

uint64_t ZerosAtEnd(Bytes data) {
  const uint64_t most = std::min<uint64_t>(data.size(), kAuxtraceAlignment - 1);
  uint64_t zeros = 0;
  while (zeros < most && data[data.size() - 1 - zeros] == 0) ++zeros;
  return zeros;
}

// From the window, if it holds all of the record.
RecordHead RecordReader::Parse(Record& record) const {
  if (at_ >= window_at_ && at_ - window_at_ < window_size_) {
    const Bytes window(windows_[newer_].data(), window_size_);
    const RecordHead head = ParseRecord(window, at_ - window_at_, order_, record);
    if (head == RecordHead::kWhole && MayBeCopied(record.type)) return head;
  }
  return ParseRecord(file_.first(end_), at_, order_, record);
}

// Records of one kind have one size mostly: then that is where the one after the next begins, which
// memory can bring meanwhile.
void RecordReader::AskFor(uint64_t offset) const {
  constexpr uint64_t kLine = 64;
  if (offset + kLine >= end_) return;
  __builtin_prefetch(file_.data() + offset);
  __builtin_prefetch(file_.data() + offset + kLine);
}

bool RecordReader::Next(Record& record) {
  if (at_ == end_) return false;
  const Bytes section = file_.first(end_);
  const RecordHead head = Parse(record);
  record.offset = at_;
  if (head == RecordHead::kWhole) {
    at_ += record.size();
    AskFor(at_ + record.size());
    return SizeFieldsOf(record.type) == 0 || ReadDataBehind(record);
  }
  if (end_ - at_ < kRecordHeaderSize) {
    damage_ =
        "cut at offset " + Hex(end_) + " inside a record's header, which begins at " + Hex(at_);
  } else if (head == RecordHead::kCut) {
    FieldReader size(Slice(section, at_ + 6, 2), order_);
    damage_ = "cut at offset " + Hex(end_) + " inside a record of type " + Dec(record.type) +
              " that begins at " + Hex(at_) + " and has " + ByteCount(size.U16()) +
              ": nothing is read from there on";
  } else {
    FieldReader size(Slice(section, at_ + 6, 2), order_);
    damage_ = "the record at offset " + Hex(at_) + " says its size is " + ByteCount(size.U16()) +
              ", less than its own header: nothing is read from there on";
  }
  at_ = end_;
  return false;
}

bool RecordReader::ReadDataBehind(Record& record) {
  if (record.body.size() < SizeFieldsOf(record.type)) {
    damage_ = "the " + std::string(NameOf(record.type)) + " record at offset " +
              Hex(record.offset) +
              " is too short to say where its data ends: nothing is read from there on";
    at_ = end_;
    return false;
  }
  FieldReader fields = record.Fields();
  const uint64_t size = record.type == kRecordAuxtrace ? fields.U64() : fields.U32();
  const uint64_t rest = end_ - at_;
  record.aux = file_.subspan(at_, std::min(size, rest));
  record.aux_offset = at_;
  if (size > rest) {
    damage_ = "cut at offset " + Hex(end_) + " inside the " +
              (record.type == kRecordAuxtrace ? "AUX area" : "tracing data") + " of " +
              ByteCount(size) + " that begins at " + Hex(at_) + ": " + ByteCount(rest) +
              " of it are there";
  }
  at_ += record.aux.size();
  if (record.type == kRecordAuxtrace) OpenWindow(record);
  return true;
}

// At what may be the padding of the record's data.
void RecordReader::OpenWindow(Record& record) {
  const uint64_t tail = std::min<uint64_t>(record.aux.size(), kAuxtraceAlignment - 1);
  const uint64_t at = at_ - tail;
  const uint64_t want = std::min(kWindow, end_ - at);
  newer_ = 1 - newer_;
  window_size_ = 0;
  const uint64_t got = reader_ ? reader_->Read(at, std::span(windows_[newer_]).first(want)) : 0;
  if (got < want) {
    record.aux_zeros = ZerosAtEnd(record.aux);
    return;
  }
  record.aux_zeros = ZerosAtEnd(Bytes(windows_[newer_].data(), tail));
  window_at_ = at;
  window_size_ = got;
}

}  // namespace flowback::perf
