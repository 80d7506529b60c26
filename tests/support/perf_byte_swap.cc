// SPDX-License-Identifier: MIT
#include "tests/support/perf_byte_swap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "flowback/base/bytes.h"

namespace flowback::support {
namespace {

// A layout's characters: the width of each field; 'b' one byte that stays, 's' the rest stays, 'w'
// the rest is 64-bit numbers, 't' the rest is a perf_header_string.
struct Layout {
  uint32_t type;
  std::string_view fields;
};

constexpr Layout kRecordLayouts[] = {
    {1, "44888s"},         // MMAP
    {2, "88"},             // LOST
    {3, "44s"},            // COMM
    {4, "44448"},          // EXIT
    {5, "888"},            // THROTTLE
    {6, "888"},            // UNTHROTTLE
    {7, "44448"},          // FORK
    {10, "44888448844s"},  // MMAP2 with device and inode
    {11, "888"},           // AUX
    {12, "44"},            // ITRACE_START
    {13, "8"},             // LOST_SAMPLES
    {14, ""},              // SWITCH
    {15, "44"},            // SWITCH_CPU_WIDE
    {17, "8422s"},         // KSYMBOL
    {18, "224s"},          // BPF_EVENT
    {68, ""},              // FINISHED_ROUND
    {69, "w"},             // ID_INDEX
    {70, "44w"},           // AUXTRACE_INFO
    {71, "8884444"},       // AUXTRACE
    {79, "88888s"},        // TIME_CONV
};

constexpr Layout kFeatureLayouts[] = {
    {3, "t"}, {4, "t"}, {5, "t"}, {6, "t"}, {7, "44"}, {8, "t"}, {9, "t"}, {21, "88"},
};

constexpr std::string_view kAttrBeforeFlags =
    "44888"
    "8";
constexpr std::string_view kAttrAfterFlags =
    "4488"
    "88"
    "44"
    "8"
    "42"
    "2"
    "44"
    "88";
constexpr size_t kFlagsAt = 40;
constexpr uint64_t kTrailerBits[] = {1 << 1, 1 << 2, 1 << 6, 1 << 9, 1 << 7, 1 << 16};

const Layout* Find(const Layout* begin, const Layout* end, uint32_t type) {
  const Layout* found =
      std::find_if(begin, end, [&](const Layout& layout) { return layout.type == type; });
  return found == end ? nullptr : found;
}

class Swapper {
 public:
  explicit Swapper(FileBytes& bytes) : bytes_(bytes) {}

  size_t at() const { return at_; }
  bool done() const { return at_ >= bytes_.size(); }
  void Skip(size_t size) { at_ = std::min(at_ + size, bytes_.size()); }
  // Swaps a number and returns it.
  uint64_t Number(size_t width) {
    if (width > bytes_.size() - at_) {
      Skip(width);
      return 0;
    }
    const uint64_t value = LoadLittleEndian(&bytes_[at_], static_cast<unsigned>(width));
    const auto begin = bytes_.begin() + static_cast<ptrdiff_t>(at_);
    std::reverse(begin, begin + static_cast<ptrdiff_t>(width));
    at_ += width;
    return value;
  }
  void Fields(std::string_view fields, size_t end) {
    for (const char c : fields) {
      if (c == 's') {
        at_ = end;
      } else if (c == 'w') {
        while (at_ + 8 <= end) Number(8);
      } else if (c == 't') {
        Skip(Number(4));
      } else {
        Number(static_cast<size_t>(c - '0'));
      }
    }
  }
  void Text() { Skip(Number(4)); }
  void Attr(size_t size) {
    const size_t begin = at_;
    Fields(kAttrBeforeFlags, begin + kFlagsAt);
    for (; at_ < begin + kFlagsAt + 8; ++at_) bytes_[at_] = ReverseBits(bytes_[at_]);
    for (const char c : kAttrAfterFlags) {
      if (at_ < begin + size) Number(static_cast<size_t>(c - '0'));
    }
    at_ = begin + size;
  }

 private:
  static uint8_t ReverseBits(uint8_t byte) {
    uint8_t reversed = 0;
    for (int i = 0; i < 8; ++i) reversed |= static_cast<uint8_t>((byte >> i & 1) << (7 - i));
    return reversed;
  }

  FileBytes& bytes_;
  size_t at_ = 0;
};

size_t TrailerSize(uint64_t sample_type) {
  size_t size = 0;
  for (const uint64_t bit : kTrailerBits) size += sample_type & bit ? 8 : 0;
  return size;
}

void SwapTrailer(Swapper& swapper, uint64_t sample_type) {
  for (const uint64_t bit : kTrailerBits) {
    if (!(sample_type & bit)) continue;
    const bool halves = bit == 1 << 1 || bit == 1 << 7;
    swapper.Fields(halves ? "44" : "8", 0);
  }
}

// A sample with fields of fixed sizes, a process and a thread among them, and AUX data.
void SwapSample(Swapper& swapper, uint64_t sample_type) {
  constexpr std::string_view kFields[] = {"8",  "8", "44", "8", "8", "8", "8",
                                          "44", "8", "8",  "8", "8", "8", "8"};
  constexpr unsigned kBits[] = {16, 0, 1, 2, 3, 6, 9, 7, 8, 14, 24, 15, 19, 20};
  for (size_t i = 0; i < std::size(kBits); ++i)
    if (sample_type >> kBits[i] & 1) swapper.Fields(kFields[i], 0);
}

void SwapEventDescriptions(Swapper& swapper) {
  uint64_t count = swapper.Number(4);
  const uint64_t attr_size = swapper.Number(4);
  for (; count != 0; --count) {
    if (attr_size != 0) swapper.Attr(attr_size);  // 0: they are not repeated
    uint64_t ids = swapper.Number(4);
    swapper.Text();
    for (; ids != 0; --ids) swapper.Number(8);
  }
}

void SwapBuildIds(Swapper& swapper) {
  while (!swapper.done()) {
    const size_t begin = swapper.at();
    swapper.Number(4);
    swapper.Number(2);
    const uint64_t size = swapper.Number(2);
    swapper.Number(4);
    swapper.Skip(begin + size - swapper.at());
  }
}

bool SwapFeature(unsigned bit, FileBytes& content, size_t at = 0) {
  Swapper swapper(content);
  swapper.Skip(at);
  if (bit == 2) return SwapBuildIds(swapper), true;
  if (bit == 12) return SwapEventDescriptions(swapper), true;
  if (bit == 11) {
    for (uint64_t left = swapper.Number(4); left != 0; --left) swapper.Text();
    return true;
  }
  const Layout* layout = Find(std::begin(kFeatureLayouts), std::end(kFeatureLayouts), bit);
  if (layout) swapper.Fields(layout->fields, content.size());
  return layout != nullptr;
}

void SwapHeaderAttr(Swapper& swapper, const FileBytes& plain) {
  swapper.Attr(LoadLittleEndian(&plain[12], 4));
  while (!swapper.done()) swapper.Number(8);
}

// False when the record has to be left out.
bool SwapRecord(PerfDataParts::Record& record, uint64_t sample_type, uint64_t sampled_type) {
  const FileBytes plain = record.bytes;
  if (record.type == 67) return SwapFeature(2, record.bytes);
  if (record.type == 80) {
    Swapper bit(record.bytes);
    bit.Fields("4228", 0);
    return SwapFeature(static_cast<unsigned>(LoadLittleEndian(&plain[8], 8)), record.bytes, 16);
  }
  Swapper swapper(record.bytes);
  swapper.Fields("422", 0);
  if (record.type == 9) return SwapSample(swapper, sampled_type), true;
  if (record.type == 64) return SwapHeaderAttr(swapper, plain), true;
  const Layout* layout = Find(std::begin(kRecordLayouts), std::end(kRecordLayouts), record.type);
  if (!layout) {
    std::fprintf(stderr, "perf_byte_swap: no layout of record type %u\n", record.type);
    std::abort();
  }
  const bool of_kernel = record.type < 64;
  const size_t end = record.bytes.size() - (of_kernel ? TrailerSize(sample_type) : 0);
  swapper.Fields(layout->fields, end);
  if (of_kernel) SwapTrailer(swapper, sample_type);
  return true;
}

}  // namespace

PerfDataParts SwapParts(const PerfDataParts& parts) {
  PerfDataParts swapped = parts;
  const uint64_t sample_type = LoadLittleEndian(&parts.events.front().attr[24], 8);
  // The last event is the one that is sampled.
  const uint64_t sampled_type = LoadLittleEndian(&parts.events.back().attr[24], 8);
  for (PerfDataParts::Event& event : swapped.events) {
    Swapper(event.attr).Attr(event.attr.size());
    for (uint64_t& id : event.ids) id = __builtin_bswap64(id);
  }
  std::erase_if(swapped.records, [&](PerfDataParts::Record& record) {
    return !SwapRecord(record, sample_type, sampled_type);
  });
  for (const auto& [bit, content] : parts.features) {
    if (!SwapFeature(bit, swapped.features[bit])) swapped.features.erase(bit);
  }
  return swapped;
}

void SwapFileHeader(FileBytes& file) {
  const uint64_t entry = LoadLittleEndian(&file[16], 8);
  const uint64_t attrs_at = LoadLittleEndian(&file[24], 8);
  const uint64_t attrs_size = LoadLittleEndian(&file[32], 8);
  const uint64_t data_end = LoadLittleEndian(&file[40], 8) + LoadLittleEndian(&file[48], 8);
  const uint64_t features =
      static_cast<uint64_t>(__builtin_popcountll(LoadLittleEndian(&file[72], 8)));
  const auto swap = [&](size_t at) {
    std::reverse(file.begin() + static_cast<ptrdiff_t>(at),
                 file.begin() + static_cast<ptrdiff_t>(at) + 8);
  };
  for (size_t at = 0; at < 104; at += 8) swap(at);
  for (uint64_t at = attrs_at + entry; at <= attrs_at + attrs_size; at += entry) {
    swap(at - 16);
    swap(at - 8);
  }
  for (uint64_t i = 0; i < 2 * features; ++i) swap(data_end + 8 * i);
}

}  // namespace flowback::support
