// SPDX-License-Identifier: MIT
#include "replay/symbols/jit_names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "decode/code/kept_images.h"

namespace flowback::symbols {
namespace {

constexpr std::string_view kCodeFile = ".code";
constexpr size_t kMostInPage = 256;  // names; functions are larger than a few bytes

}  // namespace

// A piece of the file of code, and since when it was what the process had there.
struct JitNames::Page {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  uint64_t from = 0;
};

// Who has which addresses: the latest wins, and what it does not cover of another stays that one's.
class JitNames::Names {
 public:
  void Add(const JitSymbol& symbol) {
    Free(symbol.begin, symbol.end);
    pieces_[symbol.begin] = {symbol.end, &symbol};
  }
  // The same where nobody has them yet.
  void Fill(const JitSymbol& symbol) {
    uint64_t at = symbol.begin;
    while (at < symbol.end) {
      auto next = pieces_.upper_bound(at);
      if (next != pieces_.begin() && std::prev(next)->second.end > at) {
        at = std::prev(next)->second.end;
        continue;
      }
      const uint64_t end = next == pieces_.end() ? symbol.end : std::min(symbol.end, next->first);
      pieces_[at] = {end, &symbol};
      at = end;
    }
  }
  template <class Take>
  void ForEach(uint64_t begin, uint64_t end, const Take& take) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->first < end; ++piece)
      if (piece->second.end > begin)
        take(std::max(begin, piece->first), std::min(end, piece->second.end),
             *piece->second.symbol);
  }

 private:
  struct Piece {
    uint64_t end = 0;
    const JitSymbol* symbol = nullptr;
  };

  void Free(uint64_t begin, uint64_t end) {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin()) --piece;
    while (piece != pieces_.end() && piece->first < end) {
      const auto [first, old] = *piece;
      if (old.end <= begin) {
        ++piece;
        continue;
      }
      piece = pieces_.erase(piece);
      if (first < begin) pieces_[first] = {begin, old.symbol};
      if (old.end > end) pieces_[end] = old;
    }
  }

  std::map<uint64_t, Piece> pieces_;  // by begin, apart
};

// The symbols in the order of their times, the pages in that of their beginnings. A page gets the
// names that had been given when the first of its code ran; where there was none yet, the first
// that was given after that. Not the latest before the next page: that is the next page's function,
// told of before it ran.
void JitNames::Place(std::vector<Page> pages, std::vector<JitSymbol> symbols) {
  std::ranges::stable_sort(symbols, {}, &JitSymbol::time);
  std::ranges::stable_sort(pages, {}, &Page::from);
  Names first;
  for (const JitSymbol& symbol : symbols) first.Fill(symbol);
  Names names;
  size_t given = 0;
  for (const Page& page : pages) {
    for (; given < symbols.size() && symbols[given].time <= page.from; ++given)
      names.Add(symbols[given]);
    size_t count = 0;
    uint64_t done = page.address;
    const auto add = [&](uint64_t begin, uint64_t end, const JitSymbol& symbol) {
      if (++count > kMostInPage) return;
      const uint64_t at = page.file_offset + (begin - page.address);
      ranges_.push_back(
          {at, at + (end - begin), begin - symbol.begin, symbol.end - symbol.begin, symbol.name});
    };
    names.ForEach(page.address, page.address + page.size,
                  [&](uint64_t begin, uint64_t end, const JitSymbol& symbol) {
                    first.ForEach(std::exchange(done, end), begin, add);
                    add(begin, end, symbol);
                  });
    first.ForEach(done, page.address + page.size, add);
  }
  // Of a map, which has no times, the last line counts; else who came first.
  const bool timeless = !symbols.empty() && symbols.front().time == 0;
  by_address_.clear();
  (timeless ? names : first)
      .ForEach(0, ~uint64_t{0}, [&](uint64_t begin, uint64_t end, const JitSymbol& symbol) {
        by_address_.push_back(
            {begin, end, begin - symbol.begin, symbol.end - symbol.begin, symbol.name});
      });
}

JitNames JitNames::Read(const Recording& recording) {
  JitNames result;
  const KeptImages kept = KeptImages::Of(recording.path);
  std::map<int32_t, std::vector<JitSymbol>> symbols;
  for (const KeptNames& names : kept.names()) {
    const auto file = MappedFile::Open(kept.FileOf(names.name));
    if (!file) continue;
    result.mapped_.push_back(*file);
    const Bytes bytes = (*file)->bytes();
    std::vector<JitSymbol> read =
        IsJitDump(bytes) ? ReadJitDump(bytes, names.clock_offset) : ReadPerfMap(bytes);
    auto& all = symbols[names.pid];
    all.insert(all.end(), read.begin(), read.end());
  }
  std::map<int32_t, std::vector<Page>> pages;
  for (const SidebandRecord& record : recording.sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || !map->path.ends_with(kCodeFile) || !symbols.contains(map->pid)) continue;
    result.files_.insert({map->path, recording.path + std::string(kCodeFile)});
    pages[map->pid].push_back({map->address, map->size, map->file_offset, map->time});
  }
  for (auto& [pid, own] : pages) result.Place(std::move(own), std::move(symbols[pid]));
  if (pages.size() != 1) result.by_address_.clear();
  std::ranges::sort(result.ranges_, {}, &Range::begin);
  return result;
}

std::optional<JitNames::Hit> JitNames::FindIn(const std::vector<Range>& ranges, uint64_t at) {
  auto range = std::ranges::upper_bound(ranges, at, {}, &Range::begin);
  if (range == ranges.begin()) return std::nullopt;
  --range;
  if (at >= range->end) return std::nullopt;
  return Hit{range->name, range->offset + (at - range->begin), range->size};
}

std::optional<JitNames::Hit> JitNames::Find(uint64_t file_offset) const {
  return FindIn(ranges_, file_offset);
}

std::optional<JitNames::Hit> JitNames::FindUnmapped(uint64_t address) const {
  return FindIn(by_address_, address);
}

}  // namespace flowback::symbols
