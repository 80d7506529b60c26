// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_header.h"

#include <algorithm>

#include "capture/formats/input/format.h"
#include "capture/formats/input/text.h"

namespace flowback::perf {
namespace {

constexpr char kCutRemedy[] = "the file was cut: copy it again, or record again";

PerfFileSection ReadSection(FieldReader& fields) {
  PerfFileSection section;
  section.offset = fields.U64();
  section.size = fields.U64();
  return section;
}

bool Inside(const PerfFileSection& section, Bytes file) {
  return section.offset <= file.size() && section.size <= file.size() - section.offset;
}

std::string Range(const PerfFileSection& section) {
  return Hex(section.offset) + " (" + ByteCount(section.size) + ")";
}

Status CheckHeader(uint64_t header_size, const FileHeader& header, Bytes file,
                   const std::string& path) {
  if (header_size != kFileHeaderSize && header_size != kFileHeaderSizeWithoutFeatures) {
    return Fail(Error(ErrorCode::kUnreadable,
                      path + ": the header's size field at offset 0x8 says " +
                          ByteCount(header_size) + ", but a perf.data header has 104")
                    .At(8)
                    .Remedy("the file is damaged: copy it again, or record again"));
  }
  if (file.size() < header_size) {
    return Fail(Error(ErrorCode::kUnreadable, path + ": cut inside the header: the file has " +
                                                  ByteCount(file.size()) + ", its header " +
                                                  Dec(header_size))
                    .At(file.size())
                    .Remedy(kCutRemedy));
  }
  if (header.attr_size < kMinAttrSize + kSectionSize) {
    return Fail(Error(ErrorCode::kUnreadable,
                      path + ": the header says at offset 0x10 that an event's attributes take " +
                          ByteCount(header.attr_size) + "; 80 is the least")
                    .At(16)
                    .Remedy("the file is damaged: copy it again, or record again"));
  }
  if (!Inside(header.attrs, file)) {
    return Fail(Error(ErrorCode::kUnreadable, path + ": the events' attributes at offset " +
                                                  Range(header.attrs) +
                                                  " go past the file's end at " + Hex(file.size()))
                    .At(header.attrs.offset)
                    .Remedy(kCutRemedy));
  }
  if (header.data.offset > file.size()) {
    return Fail(
        Error(ErrorCode::kUnreadable, path + ": the data section at offset " + Range(header.data) +
                                          " begins past the file's end at " + Hex(file.size()))
            .At(header.data.offset)
            .Remedy(kCutRemedy));
  }
  return {};
}

// perf writes the data's size and the features last: a size of 0 says that it was killed before.
void LimitData(FileHeader& header, Bytes file, std::vector<Warning>& warnings) {
  const uint64_t available = file.size() - header.data.offset;
  if (header.data.size == 0 && available != 0) {
    warnings.push_back(
        {"the header's data size is 0: the recorder did not end properly; everything from offset " +
             Hex(header.data.offset) +
             " on is taken as data, and the machine's description may be missing",
         "record again, and end the recorder with SIGINT, not SIGKILL"});
    header.data.size = available;
    header.features = {};
  } else if (header.data.size > available) {
    warnings.push_back({"the data section at offset " + Range(header.data) +
                            " is cut by the file's end at " + Hex(file.size()) +
                            "; the machine's description, which follows it, is missing",
                        kDamageRemedy});
    header.data.size = available;
    header.features = {};
  }
}

// Ids can be shared by lying sections; real ones never hold more than the file has room for.
std::vector<uint64_t> ReadIds(Bytes file, ByteOrder order, const PerfFileSection& section,
                              uint64_t& budget, std::vector<Warning>& warnings) {
  std::vector<uint64_t> ids;
  if (!Inside(section, file) || section.size / 8 > budget) {
    warnings.push_back(
        {"an event's ids at offset " + Range(section) + " are more than the file holds: ignored",
         kDamageRemedy});
    return ids;
  }
  FieldReader fields(Slice(file, section.offset, section.size), order);
  ids.reserve(section.size / 8);
  while (fields.remaining() >= 8) ids.push_back(fields.U64());
  budget -= ids.size();
  return ids;
}

// A big-endian compiler gives a byte's highest bit to the bit field's first member.
uint64_t ReadBitField(Bytes bytes, ByteOrder order) {
  uint64_t bits = 0;
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    const size_t place = order == ByteOrder::kLittle ? i % 8 : 7 - i % 8;
    bits |= static_cast<uint64_t>(bytes[i / 8] >> place & 1) << i;
  }
  return bits;
}

}  // namespace

EventAttr ParseAttr(Bytes entry, ByteOrder order) {
  FieldReader fields(entry, order);
  EventAttr attr;
  attr.type = fields.U32();
  const uint64_t own_size = fields.U32();  // 0: of the first version
  attr.config = fields.U64();
  fields.Skip(8);  // sample period
  attr.sample_type = fields.U64();
  attr.read_format = fields.U64();
  attr.flags = ReadBitField(fields.Take(8), order);
  const auto word_at = [&](size_t at) {
    return own_size < at + 8 ? 0 : FieldReader(Slice(entry, at, 8), order).U64();
  };
  attr.branch_sample_type = word_at(kBranchSampleTypeAt);
  attr.regs_user = word_at(kRegsUserAt);
  attr.regs_intr = word_at(kRegsIntrAt);
  if (own_size >= kClockIdAt + 4 && (attr.flags & kAttrUseClockId)) {
    attr.clock_id = FieldReader(Slice(entry, kClockIdAt, 4), order).I32();
  }
  return attr;
}

Result<FileHeader> ReadFileHeader(Bytes file, const std::string& path,
                                  std::vector<Warning>& warnings) {
  FileHeader header;
  if (StartsWith(file, kForeignMagic)) header.order = ByteOrder::kBig;
  FieldReader fields(file, header.order);
  fields.Skip(8);  // magic
  const uint64_t header_size = fields.U64();
  header.attr_size = fields.U64();
  header.attrs = ReadSection(fields);
  header.data = ReadSection(fields);
  fields.Skip(kSectionSize);  // event types: not written since 2012
  if (fields.position() < 16 || !fields.ok()) {
    return Fail(Error(ErrorCode::kUnreadable, path + ": cut inside the header: the file has " +
                                                  ByteCount(file.size()) +
                                                  ", a perf.data header 104")
                    .At(file.size())
                    .Remedy(kCutRemedy));
  }
  if (Status status = CheckHeader(header_size, header, file, path); !status) {
    return Fail(status.error());
  }
  if (header_size == kFileHeaderSize) {
    for (uint64_t& word : header.features) word = fields.U64();
  }
  header.feature_table = header.data.offset + header.data.size;
  LimitData(header, file, warnings);
  return header;
}

std::vector<EventAttr> ReadAttrs(Bytes file, const FileHeader& header,
                                 std::vector<Warning>& warnings) {
  std::vector<EventAttr> attrs;
  uint64_t id_budget = file.size() / 8;
  for (uint64_t at = 0; header.attrs.size - at >= header.attr_size; at += header.attr_size) {
    const Bytes entry = Slice(file, header.attrs.offset + at, header.attr_size);
    EventAttr attr = ParseAttr(entry.first(entry.size() - kSectionSize), header.order);
    FieldReader id_fields(entry.last(kSectionSize), header.order);
    attr.ids = ReadIds(file, header.order, ReadSection(id_fields), id_budget, warnings);
    attrs.push_back(std::move(attr));
    if (warnings.size() > 8) break;  // damaged all over: more warnings do not help
  }
  return attrs;
}

}  // namespace flowback::perf
