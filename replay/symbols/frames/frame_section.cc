// SPDX-License-Identifier: MIT
#include "replay/symbols/frames/frame_section.h"

#include <algorithm>
#include <map>
#include <string>

#include "replay/symbols/frames/encoded_values.h"

namespace flowback::symbols {
namespace {

constexpr uint64_t kLongRecord = 0xffffffff;  // its length has eight bytes more

}  // namespace

// A record: its length, then what it belongs to, then its own.
struct FrameSection::Record {
  uint64_t at = 0;
  uint64_t names_at = 0;  // where it says what it belongs to
  uint64_t names = 0;
  unsigned width = 4;    // of that
  uint64_t body_at = 0;  // what stands behind it
  Bytes body;
  uint64_t next = 0;
};

// What the records that name it have in common.
struct FrameSection::Common {
  bool known = false;
  uint8_t pointers = 0;         // encoding of a function's address
  uint8_t handlers = kOmitted;  // of the address of its call sites
  bool has_size = false;
  bool of_signal = false;
  uint64_t code_unit = 1;
  uint64_t data_unit = 1;
  uint64_t return_register = 0;
  Bytes program;                 // the instructions of all these frames
  uint64_t program_address = 0;  // as linked

  // `address`: of the first byte, as linked.
  static Common From(Bytes bytes, uint64_t address, unsigned address_bytes) {
    EncodedValues reader(bytes, address, address_bytes);
    Common result;
    const uint64_t version = reader.Fixed(1);
    const std::string letters = reader.Text();
    // Sizes of the address and of the segment, which code here does not have.
    const bool sizes_fit =
        version < 4 || (reader.Fixed(1) == address_bytes && reader.Fixed(1) == 0);
    result.code_unit = reader.Leb();
    result.data_unit = reader.Leb(true);
    result.return_register = version == 1 ? reader.Fixed(1) : reader.Leb();
    if (letters.starts_with('z')) {
      result.has_size = true;
      const uint64_t size = reader.Leb();
      const size_t end = reader.at() + std::min<uint64_t>(size, reader.rest().size());
      for (const char letter : letters.substr(1)) result.Take(letter, reader);
      if (reader.ok() && reader.at() <= end) reader.Skip(end - reader.at());
    }
    result.known = reader.ok() && sizes_fit && (letters.empty() || result.has_size);
    result.program = reader.rest();
    result.program_address = address + reader.at();
    return result;
  }
  void Take(char letter, EncodedValues& reader) {
    if (letter == 'S') of_signal = true;
    if (letter == 'R') pointers = static_cast<uint8_t>(reader.Fixed(1));
    if (letter == 'L') handlers = static_cast<uint8_t>(reader.Fixed(1));
    if (letter == 'P') reader.Value(reader.Fixed(1) & 0x0f);
  }
};

// An entry, and where its own instructions stand behind it.
struct FrameSection::Read {
  FrameEntry entry;
  Bytes program;
  uint64_t program_address = 0;  // as linked
  bool ok = false;
};

std::optional<FrameSection::Record> FrameSection::RecordAt(uint64_t at) const {
  if (at > bytes_.size()) return std::nullopt;
  EncodedValues reader(bytes_.subspan(at), address_ + at, address_bytes_);
  Record record;
  record.at = at;
  uint64_t length = reader.Fixed(4);
  if (length == 0 || !reader.ok()) return std::nullopt;
  if (length == kLongRecord) {
    length = reader.Fixed(8);
    record.width = 8;
  }
  // .eh_frame has four bytes there, even if the length has eight.
  if (kind_ == Kind::kEhFrame) record.width = 4;
  record.names_at = at + reader.at();
  record.next = record.names_at + length;
  const Bytes all = reader.Take(length);
  if (all.size() != length || length < record.width) return std::nullopt;
  record.names = LoadLittleEndian(all.data(), record.width);
  record.body_at = record.names_at + record.width;
  record.body = all.subspan(record.width);
  return record;
}

// Where that stands which the record has in common with others. Empty: it is no frame's.
std::optional<uint64_t> FrameSection::CommonOf(const Record& record) const {
  if (kind_ == Kind::kEhFrame) {
    const bool is_common = record.names == 0 || record.names > record.names_at;
    return is_common ? std::nullopt : std::optional(record.names_at - record.names);
  }
  const uint64_t of_common = record.width == 8 ? ~uint64_t{0} : 0xffffffff;
  return record.names == of_common ? std::nullopt : std::optional(record.names);
}

FrameSection::Common FrameSection::ReadCommon(uint64_t at) const {
  const auto record = RecordAt(at);
  if (!record || CommonOf(*record)) return {};
  return Common::From(record->body, address_ + record->body_at, address_bytes_);
}

// What stands ahead of a frame's own instructions.
FrameSection::Read FrameSection::ReadEntry(const Record& record, const Common& common) const {
  EncodedValues reader(record.body, address_ + record.body_at, address_bytes_);
  Read read;
  read.entry.record = record.at;
  read.entry.begin = reader.Pointer(common.pointers);
  read.entry.end = read.entry.begin + reader.Value(common.pointers & 0x0f);
  read.entry.of_signal = common.of_signal;
  read.entry.of_debug = kind_ == Kind::kDebugFrame;
  const uint64_t size = common.has_size ? reader.Leb() : 0;
  const size_t end = reader.at() + std::min<uint64_t>(size, reader.rest().size());
  if (common.handlers != kOmitted) read.entry.handlers = reader.Pointer(common.handlers);
  if (reader.ok() && reader.at() < end) reader.Skip(end - reader.at());
  read.program = reader.rest();
  read.program_address = address_ + record.body_at + reader.at();
  read.ok = reader.ok() && read.entry.end > read.entry.begin;
  return read;
}

std::vector<FrameEntry> FrameSection::Entries() const {
  std::vector<FrameEntry> entries;
  std::map<uint64_t, Common> commons;  // by their place
  for (auto record = RecordAt(0); record; record = RecordAt(record->next)) {
    const auto common_at = CommonOf(*record);
    if (!common_at) continue;
    auto common = commons.find(*common_at);
    if (common == commons.end()) common = commons.emplace(*common_at, ReadCommon(*common_at)).first;
    if (!common->second.known) continue;
    const Read read = ReadEntry(*record, common->second);
    if (read.ok) entries.push_back(read.entry);
  }
  return entries;
}

std::optional<FrameProgram> FrameSection::ProgramOf(const FrameEntry& entry) const {
  const auto record = RecordAt(entry.record);
  const auto common_at = record ? CommonOf(*record) : std::nullopt;
  if (!common_at) return std::nullopt;
  const Common common = ReadCommon(*common_at);
  const Read read = ReadEntry(*record, common);
  if (!common.known || !read.ok || common.return_register >= kFrameRegisters) return std::nullopt;
  return FrameProgram{.common = common.program,
                      .own = read.program,
                      .common_address = common.program_address,
                      .own_address = read.program_address,
                      .begin = entry.begin,
                      .code_unit = common.code_unit,
                      .data_unit = static_cast<int64_t>(common.data_unit),
                      .pointers = common.pointers,
                      .address_bytes = address_bytes_,
                      .return_register = static_cast<unsigned>(common.return_register),
                      .of_signal = common.of_signal,
                      .is_aarch64 = is_aarch64_};
}

}  // namespace flowback::symbols
