// SPDX-License-Identifier: MIT
#include "replay/symbols/unwind_table.h"

#include <algorithm>
#include <utility>

namespace flowback::symbols {
namespace {

constexpr uint8_t kOmitted = 0xff;
// Of a function; the largest have some thousands.
constexpr unsigned kMostSites = 1U << 16;

unsigned AddressBytes(const SymbolFile& file) { return file.machine() == EM_386 ? 4 : 8; }

}  // namespace

// Values one behind the other. Behind the end all are 0, and `ok` is false.
class UnwindTable::Reader {
 public:
  // `address`: of the first byte, as linked.
  Reader(Bytes bytes, uint64_t address, unsigned address_bytes)
      : bytes_(bytes), address_(address), address_bytes_(address_bytes) {}

  bool ok() const { return ok_; }
  size_t at() const { return at_; }

  uint64_t Fixed(unsigned width) {
    if (bytes_.size() - at_ < width) return Bad();
    const uint64_t value = LoadLittleEndian(bytes_.data() + at_, width);
    at_ += width;
    return value;
  }
  uint64_t Signed(unsigned width) {
    const uint64_t value = Fixed(width);
    const unsigned unused = 64 - 8 * width;
    return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }
  uint64_t Leb(bool is_signed = false) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const uint64_t byte = Fixed(1);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) != 0) continue;
      if (is_signed && (byte & 0x40) != 0 && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
      return value;
    }
    return Bad();
  }
  std::string Text() {
    std::string text;
    for (uint64_t byte = Fixed(1); byte != 0; byte = Fixed(1)) text += static_cast<char>(byte);
    return text;
  }
  void Skip(uint64_t count) {
    if (bytes_.size() - at_ < count)
      Bad();
    else
      at_ += count;
  }
  // A pointer in one of DWARF's encodings. 0 where the value is 0, whatever it is relative to.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t own = address_ + at_;
    const uint64_t value = Value(encoding & 0x0f);
    const uint8_t base = encoding & 0x70;
    if (base != 0 && base != 0x10) return Bad();
    return value == 0 || base == 0 ? value : value + own;
  }
  uint64_t Value(uint8_t form) {
    switch (form) {
      case 0x0:
        return Fixed(address_bytes_);
      case 0x1:
        return Leb();
      case 0x2:
      case 0x3:
      case 0x4:
        return Fixed(1U << (form - 1));
      case 0x9:
        return Leb(true);
      case 0xa:
      case 0xb:
      case 0xc:
        return Signed(1U << (form - 9));
      default:
        return Bad();
    }
  }

 private:
  uint64_t Bad() {
    ok_ = false;
    at_ = bytes_.size();
    return 0;
  }

  Bytes bytes_;
  uint64_t address_;
  unsigned address_bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// What the frames that name it have in common.
struct UnwindTable::Common {
  bool known = false;
  uint8_t pointers = 0;         // encoding of a function's address
  uint8_t handlers = kOmitted;  // of the address of its call sites
  bool has_size = false;
  bool of_signal = false;

  static Common Read(Reader reader) {
    Common result;
    const uint64_t version = reader.Fixed(1);
    const std::string letters = reader.Text();
    reader.Leb();
    reader.Leb(true);
    if (version == 1)
      reader.Fixed(1);
    else
      reader.Leb();
    if (letters.starts_with('z')) {
      result.has_size = true;
      reader.Leb();
      for (const char letter : letters.substr(1)) result.Take(letter, reader);
    }
    result.known = reader.ok() && (letters.empty() || result.has_size);
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
    if (record.size() < 4) continue;
    const uint64_t back = LoadLittleEndian(record.data(), 4);
    if (back == 0 || back > at) continue;
    const uint64_t common_at = at - back;
    auto common = commons.find(common_at);
    if (common == commons.end()) {
      const uint64_t size = LoadLittleEndian(Slice(frames, common_at, 4).data(), 4);
      const Bytes bytes = Slice(Slice(frames, common_at + 4, size), 4, size);
      common =
          commons
              .emplace(common_at,
                       Common::Read(Reader(bytes, address + common_at + 8, AddressBytes(*file_))))
              .first;
    }
    if (common->second.known) ReadFrame(record, address + at, common->second);
  }
}

void UnwindTable::ReadFrame(Bytes record, uint64_t address, const Common& common) {
  Reader reader(record, address, AddressBytes(*file_));
  reader.Skip(4);
  Entry entry;
  entry.begin = reader.Pointer(common.pointers);
  entry.end = entry.begin + reader.Value(common.pointers & 0x0f);
  entry.of_signal = common.of_signal;
  if (common.has_size) reader.Leb();
  if (common.handlers != kOmitted) entry.handlers = reader.Pointer(common.handlers);
  if (reader.ok() && entry.end > entry.begin) entries_.push_back(entry);
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
