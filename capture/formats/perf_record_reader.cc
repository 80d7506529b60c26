// SPDX-License-Identifier: MIT
#include "capture/formats/perf_record_reader.h"

#include "capture/formats/field_reader.h"
#include "capture/formats/perf_layout.h"
#include "capture/formats/text.h"

namespace flowback::perf {

bool RecordReader::Next(Record& record) {
  const uint64_t rest = end_ - at_;
  if (rest == 0) return false;
  if (rest < kRecordHeaderSize) {
    damage_ =
        "cut at offset " + Hex(end_) + " inside a record's header, which begins at " + Hex(at_);
    at_ = end_;
    return false;
  }
  FieldReader fields(Slice(file_, at_, kRecordHeaderSize));
  record = Record();
  record.type = fields.U32();
  record.misc = fields.U16();
  record.offset = at_;
  const uint64_t size = fields.U16();
  if (size < kRecordHeaderSize || size > rest) {
    damage_ = size > rest
                  ? "cut at offset " + Hex(end_) + " inside a record of type " + Dec(record.type) +
                        " that begins at " + Hex(at_) + " and has " + ByteCount(size)
                  : "the record at offset " + Hex(at_) + " says its size is " + ByteCount(size) +
                        ", less than its own header";
    damage_ += ": nothing is read from there on";
    at_ = end_;
    return false;
  }
  record.body = Slice(file_, at_ + kRecordHeaderSize, size - kRecordHeaderSize);
  at_ += size;
  return record.type != kRecordAuxtrace || ReadAuxData(record);
}

bool RecordReader::ReadAuxData(Record& record) {
  if (record.body.size() < kAuxtraceSize - kRecordHeaderSize) {
    damage_ = "the AUXTRACE record at offset " + Hex(record.offset) +
              " is too short to say where its data ends: nothing is read from there on";
    at_ = end_;
    return false;
  }
  FieldReader fields(record.body);
  const uint64_t size = fields.U64();
  const uint64_t rest = end_ - at_;
  record.aux = Slice(file_, at_, size < rest ? size : rest);
  record.aux_offset = at_;
  if (size > rest) {
    damage_ = "cut at offset " + Hex(end_) + " inside the AUX area of " + ByteCount(size) +
              " that begins at " + Hex(at_) + ": " + ByteCount(rest) + " of it are kept";
  }
  at_ += record.aux.size();
  return true;
}

}  // namespace flowback::perf
