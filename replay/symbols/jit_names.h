// SPDX-License-Identifier: MIT
// Names of code that processes made themselves, as they wrote them down: perf's map
// (/tmp/perf-PID.map: a line "START SIZE NAME" for each function) and jitdump (records with times).
//
// The same address may have held one function and then another. The recorder keeps a page of such
// code anew when it changes, in a file of code beside the recording; so the place in that file
// gives the process, the address, and the time from which on the page had its content. A map has no
// times: there the last line for an address counts.
//
// A child has its maker's code, and so the names that its maker had given when it was made, until
// it becomes another program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "flowback/model/recording.h"

namespace flowback::symbols {

// A line of the source, from an offset in a function on.
struct JitLine {
  uint64_t offset = 0;
  uint32_t line = 0;
  std::string_view file;  // in the file that was read
};
using JitLines = std::vector<JitLine>;  // by offset

// A name given to [begin, end) at a time of the recording's clock; 0: before all.
struct JitSymbol {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t time = 0;
  std::string_view name;                    // in the file that was read
  std::shared_ptr<const JitLines> lines{};  // null: unknown
};

// Lines that can't be understood, or lie at no possible addresses, are passed over.
std::vector<JitSymbol> ReadPerfMap(Bytes text);
// As far as the records are whole. `offset`: what its clock (CLOCK_MONOTONIC) was ahead of the
// recording's; empty: they have nothing to do with each other, and the records' order counts.
std::vector<JitSymbol> ReadJitDump(Bytes dump, std::optional<int64_t> offset);
bool IsJitDump(Bytes bytes);

class JitNames {
 public:
  // Reads the names kept with the recording, if any.
  static JitNames Read(const Recording& recording);

  // The files that names came from.
  std::vector<std::string> ReadFrom() const;
  // Whether a file is this recording's file of code.
  bool IsCode(const std::string& file) const { return files_.contains(file); }

  struct Hit {
    std::string_view name;  // lives as long as this
    uint64_t offset;
    uint64_t size;
  };
  // By the place in the file of code.
  std::optional<Hit> Find(uint64_t file_offset) const;
  // Calls `visit` with each name, and where in the file of code its function begins.
  template <class Visit>
  void VisitEntries(Visit&& visit) const {
    for (const Range& range : ranges_)
      if (range.offset == 0) visit(range.name, range.begin);
  }
  // Where in its source a function is at that place, which has a range of places in common.
  struct Place {
    std::string_view function;
    std::string_view file;
    uint32_t line;
    uint64_t begin;
    uint64_t end;
    uint64_t function_begin;  // tells functions apart
  };
  std::optional<Place> FindLine(uint64_t file_offset) const;
  // By the address, where no code is known yet: a call comes before its target's code, which is
  // kept when it runs. Nothing where several processes gave names.
  std::optional<Hit> FindUnmapped(uint64_t address) const;

 private:
  struct Range {
    uint64_t begin = 0;  // places in the file
    uint64_t end = 0;
    uint64_t offset = 0;  // of the first in the symbol
    uint64_t size = 0;    // of the symbol
    std::string_view name;
    const JitLines* lines = nullptr;
  };
  struct Page;
  class Names;
  class Families;

  using SymbolsByProcess = std::map<int32_t, std::vector<JitSymbol>>;

  // The names that were kept, of each process in the order of their times, as the next ones want
  // them.
  SymbolsByProcess ReadSymbols(const Recording& recording);
  void PlaceNames(std::vector<Page> pages, const std::vector<JitSymbol>& symbols);
  void PlaceByAddress(const std::vector<JitSymbol>& symbols);
  static Range MakeRange(uint64_t at, uint64_t begin, uint64_t end, const JitSymbol& symbol);
  static const Range* RangeAt(const std::vector<Range>& ranges, uint64_t at);
  static std::optional<Hit> FindIn(const std::vector<Range>& ranges, uint64_t at);

  std::set<std::string> files_;

  std::vector<Range> ranges_;      // sorted, apart
  std::vector<Range> by_address_;  // the same, with addresses in place of places
  std::vector<std::shared_ptr<const MappedFile>> mapped_;
  std::vector<std::shared_ptr<const JitLines>> lines_;
};

}  // namespace flowback::symbols
