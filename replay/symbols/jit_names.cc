// SPDX-License-Identifier: MIT
#include "replay/symbols/jit_names.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "decode/code/images/kept_images.h"

namespace flowback::symbols {
namespace {

constexpr std::string_view kCodeFile = ".code";
constexpr size_t kMostInherited = 4'000'000;  // names, which are copied for each child
constexpr size_t kMostInPage = 256;           // names; functions are larger than a few bytes

}  // namespace

// A range of the file of code, and since when it was what the process had there.
struct JitNames::Page {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  uint64_t from = 0;
};

// The owner of each address: the latest symbol wins, and an earlier one keeps the addresses that it
// does not cover.
class JitNames::Names {
 public:
  void Add(const JitSymbol& symbol) {
    Free(symbol.begin, symbol.end);
    ranges_[symbol.begin] = {symbol.end, &symbol};
  }
  // Adds the symbol only for addresses without an owner.
  void Fill(const JitSymbol& symbol) {
    uint64_t at = symbol.begin;
    while (at < symbol.end) {
      auto next = ranges_.upper_bound(at);
      if (next != ranges_.begin() && std::prev(next)->second.end > at) {
        at = std::prev(next)->second.end;
        continue;
      }
      const uint64_t end = next == ranges_.end() ? symbol.end : std::min(symbol.end, next->first);
      ranges_[at] = {end, &symbol};
      at = end;
    }
  }
  template <class Take>
  void ForEach(uint64_t begin, uint64_t end, const Take& take) const {
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin()) --range;
    for (; range != ranges_.end() && range->first < end; ++range)
      if (range->second.end > begin)
        take(std::max(begin, range->first), std::min(end, range->second.end),
             *range->second.symbol);
  }

 private:
  struct Range {
    uint64_t end = 0;
    const JitSymbol* symbol = nullptr;
  };

  void Free(uint64_t begin, uint64_t end) {
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin()) --range;
    while (range != ranges_.end() && range->first < end) {
      const auto [first, old] = *range;
      if (old.end <= begin) {
        ++range;
        continue;
      }
      range = ranges_.erase(range);
      if (first < begin) ranges_[first] = {begin, old.symbol};
      if (old.end > end) ranges_[end] = old;
    }
  }

  std::map<uint64_t, Range> ranges_;  // by begin, apart
};

// `at`: the place of `begin`, an address of the symbol's.
JitNames::Range JitNames::MakeRange(uint64_t at, uint64_t begin, uint64_t end,
                                    const JitSymbol& symbol) {
  return {.begin = at,
          .end = at + (end - begin),
          .offset = begin - symbol.begin,
          .size = symbol.end - symbol.begin,
          .name = symbol.name,
          .lines = symbol.lines.get()};
}

// The symbols are in order of their times, the pages in order of their beginnings. A page gets the
// names that had been given when the first of its code ran; if no name had been given yet, the
// first that was given after that. Not the latest before the next page: that is the next page's
// function, named before it ran.
void JitNames::PlaceNames(std::vector<Page> pages, const std::vector<JitSymbol>& symbols) {
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
      ranges_.push_back(MakeRange(page.file_offset + (begin - page.address), begin, end, symbol));
    };
    names.ForEach(page.address, page.address + page.size,
                  [&](uint64_t begin, uint64_t end, const JitSymbol& symbol) {
                    first.ForEach(std::exchange(done, end), begin, add);
                    add(begin, end, symbol);
                  });
    first.ForEach(done, page.address + page.size, add);
  }
}

// In a map, which has no times, the last line counts; else the first name.
void JitNames::PlaceByAddress(const std::vector<JitSymbol>& symbols) {
  const bool timeless = !symbols.empty() && symbols.front().time == 0;
  Names names;
  for (const JitSymbol& symbol : symbols)
    if (!timeless)
      names.Fill(symbol);
    else if (symbol.time == 0)
      names.Add(symbol);
  names.ForEach(0, ~uint64_t{0}, [&](uint64_t begin, uint64_t end, const JitSymbol& symbol) {
    by_address_.push_back(MakeRange(begin, begin, end, symbol));
  });
}

// The maker and time of each process, and the times at which one became another program.
class JitNames::Families {
 public:
  explicit Families(const Recording& recording) {
    for (const SidebandRecord& record : recording.sideband) {
      if (const auto* fork = std::get_if<ForkRecord>(&record);
          fork && fork->pid != fork->parent_pid)
        made_.insert_or_assign(fork->pid, Made{fork->parent_pid, fork->time});
      else if (const auto* comm = std::get_if<CommRecord>(&record); comm && comm->exec)
        became_.try_emplace(comm->pid, comm->time);
    }
  }

  // Whether the process was then still what it was made as.
  bool IsItself(int32_t pid, uint64_t time) const {
    const auto became = became_.find(pid);
    return became == became_.end() || time < became->second;
  }

  // The process's names with those that its makers had given until it was made, if it has any of
  // them, in the order of time. `left`: how many more such names are copied for all processes.
  std::vector<JitSymbol> WithInherited(int32_t pid, const SymbolsByProcess& symbols,
                                       size_t& left) const {
    std::vector<JitSymbol> all;
    ForEachMaker(pid, [&](int32_t maker, uint64_t until) {
      const auto found = symbols.find(maker);
      if (found == symbols.end() || found->second.size() > left) return;
      left -= found->second.size();
      for (const JitSymbol& symbol : found->second)
        if (symbol.time <= until) all.push_back(symbol);
    });
    const auto own = symbols.find(pid);
    if (all.empty() || own == symbols.end()) return all;
    all.insert(all.end(), own->second.begin(), own->second.end());
    std::ranges::stable_sort(all, {}, &JitSymbol::time);
    return all;
  }

 private:
  // Calls `take` with each that it descends from without another program between, and the time
  // until which that one's names are also its own.
  template <class Take>
  void ForEachMaker(int32_t pid, const Take& take) const {
    constexpr int kMost = 64;  // a damaged recording may have them in a circle
    uint64_t until = ~uint64_t{0};
    for (int i = 0; i < kMost; ++i) {
      const auto made = made_.find(pid);
      if (made == made_.end()) return;
      until = std::min(until, made->second.time);
      pid = made->second.parent;
      take(pid, until);
      if (!IsItself(pid, until)) return;
    }
  }

  struct Made {
    int32_t parent;
    uint64_t time;
  };
  std::map<int32_t, Made> made_;
  std::map<int32_t, uint64_t> became_;
};

JitNames::SymbolsByProcess JitNames::ReadSymbols(const Recording& recording) {
  const KeptImages kept = KeptImages::Of(recording);
  SymbolsByProcess symbols;
  for (const KeptNames& names : kept.names()) {
    const auto file = MappedFile::Open(kept.FileOf(names.name));
    if (!file) continue;
    mapped_.push_back(*file);
    const Bytes bytes = (*file)->bytes();
    std::vector<JitSymbol> read =
        IsJitDump(bytes) ? ReadJitDump(bytes, names.clock_offset) : ReadPerfMap(bytes);
    auto& all = symbols[names.pid];
    all.insert(all.end(), read.begin(), read.end());
  }
  for (auto& [pid, own] : symbols) {
    std::ranges::stable_sort(own, {}, &JitSymbol::time);
    for (const JitSymbol& symbol : own)
      if (symbol.lines) lines_.push_back(symbol.lines);
  }
  return symbols;
}

JitNames JitNames::Read(const Recording& recording) {
  JitNames result;
  SymbolsByProcess symbols = result.ReadSymbols(recording);
  if (symbols.empty()) return {};
  // For each process: its code when it was made, and after it became another program.
  struct Code {
    std::set<std::string> files;
    std::vector<Page> made;
    std::vector<Page> became;
  };
  const Families families(recording);
  std::map<int32_t, Code> codes;
  for (const SidebandRecord& record : recording.sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || !map->path.ends_with(kCodeFile)) continue;
    Code& code = codes[map->pid];
    code.files.insert(map->path);
    (families.IsItself(map->pid, map->time) ? code.made : code.became)
        .push_back({map->address, map->size, map->file_offset, map->time});
  }
  size_t left = kMostInherited;
  std::set<int32_t> named;
  for (auto& [pid, code] : codes) {
    const std::vector<JitSymbol>& own = symbols[pid];
    const std::vector<JitSymbol> with_makers = families.WithInherited(pid, symbols, left);
    if (own.empty() && with_makers.empty()) continue;
    result.files_.merge(code.files);
    result.files_.insert(recording.path + std::string(kCodeFile));
    result.PlaceNames(std::move(code.made), with_makers.empty() ? own : with_makers);
    result.PlaceNames(std::move(code.became), own);
    if (!own.empty()) named.insert(pid);
  }
  if (named.size() == 1) result.PlaceByAddress(symbols[*named.begin()]);
  std::ranges::sort(result.ranges_, {}, &Range::begin);
  return result;
}

const JitNames::Range* JitNames::RangeAt(const std::vector<Range>& ranges, uint64_t at) {
  auto range = std::ranges::upper_bound(ranges, at, {}, &Range::begin);
  if (range == ranges.begin()) return nullptr;
  --range;
  return at < range->end ? &*range : nullptr;
}

std::optional<JitNames::Hit> JitNames::FindIn(const std::vector<Range>& ranges, uint64_t at) {
  const Range* range = RangeAt(ranges, at);
  if (range == nullptr) return std::nullopt;
  return Hit{range->name, range->offset + (at - range->begin), range->size};
}

std::optional<JitNames::Place> JitNames::FindLine(uint64_t file_offset) const {
  const Range* range = RangeAt(ranges_, file_offset);
  if (range == nullptr || range->lines == nullptr) return std::nullopt;
  const uint64_t offset = range->offset + (file_offset - range->begin);
  const auto next = std::ranges::upper_bound(*range->lines, offset, {}, &JitLine::offset);
  if (next == range->lines->begin()) return std::nullopt;
  const JitLine& line = *std::prev(next);
  const auto place_of = [&](const JitLine& at) {
    return range->begin + (std::max(at.offset, range->offset) - range->offset);
  };
  const uint64_t end = next == range->lines->end() ? range->end : place_of(*next);
  return Place{.function = range->name,
               .file = line.file,
               .line = line.line,
               .begin = place_of(line),
               .end = std::min(range->end, end),
               .function_begin = range->begin - range->offset};
}

std::vector<std::string> JitNames::ReadFrom() const {
  std::vector<std::string> files;
  for (const auto& file : mapped_) files.push_back(file->path());
  return files;
}

std::optional<JitNames::Hit> JitNames::Find(uint64_t file_offset) const {
  return FindIn(ranges_, file_offset);
}

std::optional<JitNames::Hit> JitNames::FindUnmapped(uint64_t address) const {
  return FindIn(by_address_, address);
}

}  // namespace flowback::symbols
