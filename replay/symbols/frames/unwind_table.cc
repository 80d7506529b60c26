// SPDX-License-Identifier: MIT
#include "replay/symbols/frames/unwind_table.h"

#include <algorithm>
#include <utility>

#include "replay/symbols/frames/encoded_values.h"

namespace flowback::symbols {
namespace {

// The most call sites of a function; the largest have some thousands.
constexpr unsigned kMostSites = 1U << 16;

unsigned AddressBytes(const SymbolFile& file) { return file.machine() == EM_386 ? 4 : 8; }

}  // namespace

UnwindTable UnwindTable::Read(const std::string& path) { return Read(SymbolFile::Open(path)); }

UnwindTable UnwindTable::Read(std::shared_ptr<const SymbolFile> file) {
  UnwindTable table;
  table.file_ = std::move(file);
  if (table.file_ == nullptr) return table;
  if (const auto section = table.SectionOf(FrameSection::Kind::kEhFrame))
    table.entries_ = section->Entries();
  std::ranges::stable_sort(table.entries_, {}, &FrameEntry::begin);
  table.AddForDebuggers();
  return table;
}

UnwindTable UnwindTable::Of(const CodeMapping& mapping) {
  const auto& section = mapping.section;
  std::shared_ptr<const SymbolFile> file = SymbolFile::Open(section->name());
  if (file == nullptr && section->file_offset() == 0)
    file = SymbolFile::Open(section->name(), section->bytes(), section);
  return Read(std::move(file));
}

std::optional<FrameSection> UnwindTable::SectionOf(FrameSection::Kind kind) const {
  const unsigned address_bytes = AddressBytes(*file_);
  const bool is_aarch64 = file_->machine() == EM_AARCH64;
  if (kind == FrameSection::Kind::kDebugFrame)
    return FrameSection(kind, for_debuggers_, 0, address_bytes, is_aarch64);
  const FileSection* section = file_->Find(".eh_frame");
  if (section == nullptr) return std::nullopt;
  return FrameSection(kind, file_->Contents(*section), section->header.sh_addr, address_bytes,
                      is_aarch64);
}

// Code that is built without tables for exceptions has some for debuggers, maybe. The former win if
// both have an entry. The linker leaves entries of functions that it drops, at addresses where no
// code is.
void UnwindTable::AddForDebuggers() {
  const FileSection* section = file_->Find(".debug_frame");
  if (section == nullptr) section = file_->Find(".zdebug_frame");
  if (section == nullptr) return;
  for_debuggers_ = file_->Unpacked(*section);
  std::vector<FrameEntry> added = SectionOf(FrameSection::Kind::kDebugFrame)->Entries();
  std::erase_if(added, [&](const FrameEntry& entry) {
    const auto next = std::ranges::lower_bound(entries_, entry.end, {}, &FrameEntry::begin);
    const bool overlaps = next != entries_.begin() && std::prev(next)->end > entry.begin;
    return overlaps || !file_->FileOffset(entry.begin);
  });
  if (added.empty()) return;
  entries_.insert(entries_.end(), added.begin(), added.end());
  std::ranges::stable_sort(entries_, {}, &FrameEntry::begin);
}

std::optional<FrameRules> UnwindTable::RulesAt(uint64_t file_offset) const {
  const auto address = entries_.empty() ? std::nullopt : file_->Address(file_offset);
  const FrameEntry* entry = address ? EntryAt(*address) : nullptr;
  if (entry == nullptr) return std::nullopt;
  const auto section =
      SectionOf(entry->of_debug ? FrameSection::Kind::kDebugFrame : FrameSection::Kind::kEhFrame);
  const auto program = section ? section->ProgramOf(*entry) : std::nullopt;
  return program ? symbols::RulesAt(*program, *address) : std::nullopt;
}

std::optional<int64_t> UnwindTable::FrameSize(uint64_t file_offset) const {
  const auto rules = RulesAt(file_offset);
  if (!rules || !rules->cfa_expression.empty()) return std::nullopt;
  const auto machine = file_->machine();
  const unsigned stack_pointer = machine == EM_AARCH64 ? 31 : machine == EM_386 ? 4 : 7;
  if (rules->cfa_register != stack_pointer) return std::nullopt;
  return rules->cfa_offset;
}

const FrameEntry* UnwindTable::EntryAt(uint64_t address) const {
  auto entry = std::ranges::upper_bound(entries_, address, {}, &FrameEntry::begin);
  if (entry == entries_.begin()) return nullptr;
  --entry;
  return address < entry->end ? &*entry : nullptr;
}

std::optional<UnwindTable::Range> UnwindTable::Find(uint64_t file_offset) const {
  if (entries_.empty()) return std::nullopt;
  const auto address = file_->Address(file_offset);
  const FrameEntry* entry = address ? EntryAt(*address) : nullptr;
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
void UnwindTable::VisitSites(const FrameEntry& entry, Visit&& visit) const {
  const auto bytes = BytesAt(entry.handlers);
  if (entry.handlers == 0 || !bytes) return;
  EncodedValues reader(*bytes, entry.handlers, AddressBytes(*file_));
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
  const FrameEntry* entry = call ? EntryAt(*call) : nullptr;
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
  for (const FrameEntry& entry : entries_)
    functions.push_back({entry.begin + (entry.of_signal ? 1 : 0), entry.end});
  return functions;
}

// A damaged file may name one table of call sites in each of its entries: the bytes of a sound one
// hold more call sites than there are.
std::vector<uint64_t> UnwindTable::LandingPads() const {
  std::vector<uint64_t> pads;
  uint64_t left = file_ == nullptr ? 0 : file_->bytes().size();
  for (const FrameEntry& entry : entries_)
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
  const FrameEntry* entry = address ? EntryAt(*address) : nullptr;
  bool found = false;
  if (entry != nullptr)
    VisitSites(*entry, [&](uint64_t, uint64_t, uint64_t pad) {
      found = found || pad == *address;
      return !found;
    });
  return found;
}

}  // namespace flowback::symbols
