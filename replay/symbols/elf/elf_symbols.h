// SPDX-License-Identifier: MIT
// The function symbols of one ELF file, by file offset.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

struct ElfSymbol {
  uint64_t begin = 0;        // file offsets, half-open
  uint64_t end = 0;          // == begin: the table gives no size
  uint64_t limit = 0;        // where a symbol without size ends at the latest: its section's end
  int rank = 0;              // the lowest wins among several at one place
  bool is_function = false;  // the table says so; else it is a label in code
  bool has_size = false;  // in the table; else `end` is where the next symbol begins, or the limit
  uint32_t source = 0;    // of a local symbol: the number of its source file; else 0
  size_t function_size = 0;  // of the function's part of `name`, once Find gave it
  uint64_t whole = 0;        // where the function begins that this code was moved away from, else
                             // `begin`
  std::string name;
  std::string version{};  // of the name; empty: none
};

class ElfSymbols {
 public:
  // Nothing but an empty table when the file has no symbols. `debug_file` may be null: a separate
  // file with the symbols that `file` was stripped of. Without one, those of MiniDebugInfo count.
  static ElfSymbols Read(const SymbolFile& file, const SymbolFile* debug_file);

  struct Hit {
    std::string_view name;  // demangled; lives as long as this
    uint64_t offset;
    uint64_t size;
    bool is_function;
    uint64_t whole;             // ElfSymbol::whole
    std::string_view function;  // Symbolizer::Symbol::function
  };
  std::optional<Hit> Find(uint64_t file_offset);
  // What else the symbol that Find gives is called.
  std::vector<std::string> OtherNames(uint64_t file_offset);
  // Appends names, demangled, until there are `most`.
  void AppendNames(size_t most, std::vector<std::string>& names) const;
  // Calls `visit` with each function that is entered, by each of its names, demangled.
  void VisitEntries(
      const std::function<void(const std::string& name, uint64_t file_offset)>& visit) const;
  bool empty() const { return ranges_.empty(); }
  // One at each place, sorted. Names are as the table has them, unless Find gave them.
  const std::vector<ElfSymbol>& symbols() const { return symbols_; }

 private:
  // A range without overlaps that belongs to the innermost symbol over it.
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint32_t symbol;
  };

  // A name that a symbol has beside its own.
  struct Alias {
    uint64_t begin;
    std::string name;
  };

  void FindWholes();
  void TakeAliases();
  void Build();
  const Range* RangeAt(uint64_t file_offset) const;

  std::vector<ElfSymbol> symbols_;
  std::vector<Alias> aliases_;  // sorted
  std::vector<bool> demangled_;
  std::vector<Range> ranges_;  // sorted
};

// The stubs of procedure linkage tables, named after what they jump to: "puts@plt".
std::vector<ElfSymbol> ReadPltSymbols(const SymbolFile& file);

}  // namespace flowback::symbols
