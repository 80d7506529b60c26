// SPDX-License-Identifier: MIT
#include "replay/symbols/unwind_table.h"

#include <algorithm>
#include <utility>

#include "replay/symbols/encoded_values.h"

namespace flowback::symbols {
namespace {

constexpr uint8_t kOmitted = 0xff;
// Of a function; the largest have some thousands.
constexpr unsigned kMostSites = 1U << 16;

unsigned AddressBytes(const SymbolFile& file) { return file.machine() == EM_386 ? 4 : 8; }

}  // namespace

// What the frames that name it have in common.
struct UnwindTable::Common {
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
  static Common Read(Bytes bytes, uint64_t address, unsigned address_bytes) {
    Reader reader(bytes, address, address_bytes);
    Common result;
    const uint64_t version = reader.Fixed(1);
    const std::string letters = reader.Text();
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
    result.known = reader.ok() && (letters.empty() || result.has_size);
    result.program = reader.rest();
    result.program_address = address + reader.at();
    return result;
  }
  void Take(char letter, Reader& reader) {
    if (letter == 'S') of_signal = true;
    if (letter == 'R') pointers = static_cast<uint8_t>(reader.Fixed(1));
    if (letter == 'L') handlers = static_cast<uint8_t>(reader.Fixed(1));
    if (letter == 'P') reader.Value(reader.Fixed(1) & 0x0f);
  }
};

UnwindTable UnwindTable::Read(const std::string& path) { return Read(SymbolFile::Open(path)); }

UnwindTable UnwindTable::Read(std::shared_ptr<const SymbolFile> file) {
  UnwindTable table;
  table.file_ = std::move(file);
  if (table.file_ == nullptr) return table;
  const FileSection* section = table.file_->Find(".eh_frame");
  if (section == nullptr) return table;
  table.ReadFrames(table.file_->Contents(*section), section->header.sh_addr);
  std::ranges::sort(table.entries_, {}, &Entry::begin);
  return table;
}

void UnwindTable::ReadFrames(Bytes frames, uint64_t address) {
  std::map<uint64_t, Common> commons;  // by their place
  Reader lengths(frames, address, AddressBytes(*file_));
  while (lengths.ok() && lengths.at() < frames.size()) {
    const uint64_t length = lengths.Fixed(4);
    if (length == 0 || length == 0xffffffff || !lengths.ok()) return;
    const size_t at = lengths.at();
    lengths.Skip(length);
    const Bytes record = Slice(frames, at, length);
    const auto common_at = CommonOf(record, at);
    if (!common_at) continue;
    auto common = commons.find(*common_at);
    if (common == commons.end())
      common = commons.emplace(*common_at, ReadCommon(frames, address, *common_at)).first;
    if (common->second.known) ReadFrame(record, address + at, at, common->second);
  }
}

// Where that stands which the record has in common with others. Empty: it is no frame's.
std::optional<uint64_t> UnwindTable::CommonOf(Bytes record, uint64_t at) {
  if (record.size() < 4) return std::nullopt;
  const uint64_t back = LoadLittleEndian(record.data(), 4);
  return back == 0 || back > at ? std::nullopt : std::optional(at - back);
}

UnwindTable::Common UnwindTable::ReadCommon(Bytes frames, uint64_t address, uint64_t at) const {
  const uint64_t size = LoadLittleEndian(Slice(frames, at, 4).data(), 4);
  const Bytes bytes = Slice(Slice(frames, at + 4, size), 4, size);
  return Common::Read(bytes, address + at + 8, AddressBytes(*file_));
}

// What stands ahead of a frame's own instructions.
UnwindTable::Entry UnwindTable::ReadEntry(Reader& reader, const Common& common) {
  reader.Skip(4);
  Entry entry;
  entry.begin = reader.Pointer(common.pointers);
  entry.end = entry.begin + reader.Value(common.pointers & 0x0f);
  entry.of_signal = common.of_signal;
  const uint64_t size = common.has_size ? reader.Leb() : 0;
  const size_t end = reader.at() + std::min<uint64_t>(size, reader.rest().size());
  if (common.handlers != kOmitted) entry.handlers = reader.Pointer(common.handlers);
  if (reader.ok() && reader.at() < end) reader.Skip(end - reader.at());
  return entry;
}

void UnwindTable::ReadFrame(Bytes record, uint64_t address, uint64_t at, const Common& common) {
  Reader reader(record, address, AddressBytes(*file_));
  Entry entry = ReadEntry(reader, common);
  entry.record = at;
  if (reader.ok() && entry.end > entry.begin) entries_.push_back(entry);
}

std::optional<FrameRules> UnwindTable::RulesAt(uint64_t file_offset) const {
  const auto address = entries_.empty() ? std::nullopt : file_->Address(file_offset);
  const Entry* entry = address ? EntryAt(*address) : nullptr;
  const FileSection* section = entry == nullptr ? nullptr : file_->Find(".eh_frame");
  if (section == nullptr) return std::nullopt;
  const Bytes frames = file_->Contents(*section);
  const uint64_t length = LoadLittleEndian(Slice(frames, entry->record - 4, 4).data(), 4);
  const Bytes record = Slice(frames, entry->record, length);
  const uint64_t frames_address = section->header.sh_addr;
  const Common common = ReadCommon(frames, frames_address, *CommonOf(record, entry->record));
  Reader reader(record, frames_address + entry->record, AddressBytes(*file_));
  ReadEntry(reader, common);
  const FrameProgram program = {.common = common.program,
                                .own = reader.rest(),
                                .common_address = common.program_address,
                                .own_address = frames_address + entry->record + reader.at(),
                                .begin = entry->begin,
                                .code_unit = common.code_unit,
                                .data_unit = static_cast<int64_t>(common.data_unit),
                                .pointers = common.pointers,
                                .address_bytes = AddressBytes(*file_),
                                .return_register = static_cast<unsigned>(common.return_register),
                                .of_signal = common.of_signal,
                                .is_aarch64 = file_->machine() == EM_AARCH64};
  if (!reader.ok() || common.return_register >= kFrameRegisters) return std::nullopt;
  return symbols::RulesAt(program, *address);
}

const UnwindTable::Entry* UnwindTable::EntryAt(uint64_t address) const {
  auto entry = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  if (entry == entries_.begin()) return nullptr;
  --entry;
  return address < entry->end ? &*entry : nullptr;
}

std::optional<UnwindTable::Range> UnwindTable::Find(uint64_t file_offset) const {
  if (entries_.empty()) return std::nullopt;
  const auto address = file_->Address(file_offset);
  const Entry* entry = address ? EntryAt(*address) : nullptr;
  const auto begin = entry == nullptr ? std::nullopt : file_->FileOffset(entry->begin);
  if (!begin) return std::nullopt;
  return Range{*begin, *begin + (entry->end - entry->begin)};
}

std::optional<Bytes> UnwindTable::BytesAt(uint64_t address) const {
  const auto offset = file_->FileOffset(address);
  if (!offset) return std::nullopt;
  return Slice(file_->bytes(), *offset, file_->bytes().size());
}

// Calls visit(begin, end, pad) for the parts of the function, by address, until it says false. A
// pad of 0 is none.
template <class Visit>
void UnwindTable::VisitSites(const Entry& entry, Visit&& visit) const {
  const auto bytes = BytesAt(entry.handlers);
  if (entry.handlers == 0 || !bytes) return;
  Reader reader(*bytes, entry.handlers, AddressBytes(*file_));
  const auto base = static_cast<uint8_t>(reader.Fixed(1));
  const uint64_t pads = base == kOmitted ? entry.begin : reader.Pointer(base);
  if (reader.Fixed(1) != kOmitted) reader.Leb();
  const auto encoding = static_cast<uint8_t>(reader.Fixed(1) & 0x0f);
  const uint64_t size = reader.Leb();
  unsigned sites = 0;
  for (const size_t end = reader.at() + size;
       reader.ok() && reader.at() < end && ++sites <= kMostSites;) {
    const uint64_t begin = entry.begin + reader.Value(encoding);
    const uint64_t length = reader.Value(encoding);
    const uint64_t pad = reader.Value(encoding);
    reader.Leb();
    if (!reader.ok() || !visit(begin, begin + length, pad == 0 ? 0 : pads + pad)) return;
  }
}

std::optional<uint64_t> UnwindTable::LandingPad(uint64_t file_offset) const {
  if (entries_.empty() || file_offset == 0) return std::nullopt;
  // The call is before the address to which it returns, which may be another function's.
  const auto call = file_->Address(file_offset - 1);
  const Entry* entry = call ? EntryAt(*call) : nullptr;
  if (entry == nullptr) return std::nullopt;
  uint64_t found = 0;
  VisitSites(*entry, [&](uint64_t begin, uint64_t end, uint64_t pad) {
    if (*call >= begin && *call < end) found = pad;
    return *call >= end;
  });
  return found == 0 ? std::nullopt : file_->FileOffset(found);
}

std::vector<UnwindTable::Range> UnwindTable::Functions() const {
  std::vector<Range> functions;
  functions.reserve(entries_.size());
  for (const Entry& entry : entries_)
    functions.push_back({entry.begin + (entry.of_signal ? 1 : 0), entry.end});
  return functions;
}

// A damaged file may name one table of call sites in each of its entries: the bytes of a sound one
// hold more call sites than there are.
std::vector<uint64_t> UnwindTable::LandingPads() const {
  std::vector<uint64_t> pads;
  uint64_t left = file_ == nullptr ? 0 : file_->bytes().size();
  for (const Entry& entry : entries_)
    VisitSites(entry, [&](uint64_t, uint64_t, uint64_t pad) {
      if (pad != 0) pads.push_back(pad);
      return left != 0 && left-- != 0;
    });
  std::ranges::sort(pads);
  const auto same = std::ranges::unique(pads);
  pads.erase(same.begin(), same.end());
  return pads;
}

bool UnwindTable::IsLandingPad(uint64_t file_offset) const {
  const auto address = entries_.empty() ? std::nullopt : file_->Address(file_offset);
  const Entry* entry = address ? EntryAt(*address) : nullptr;
  bool found = false;
  if (entry != nullptr)
    VisitSites(*entry, [&](uint64_t, uint64_t, uint64_t pad) {
      found = found || pad == *address;
      return !found;
    });
  return found;
}

}  // namespace flowback::symbols
