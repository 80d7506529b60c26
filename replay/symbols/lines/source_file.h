// SPDX-License-Identifier: MIT
// One ELF file's lines, read unit by unit as they are asked for.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/replay/source_lines.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/symbols/lines/kept_dwarf.h"
#include "replay/symbols/lines/line_map.h"

namespace flowback::symbols {

// The files that an ELF file's DWARF names.
struct NamedFiles {
  std::set<std::string> sources;  // paths
  // Split debug files that were found, by their paths as compiled (.dwo).
  std::map<std::string, std::string> split;
  std::string package;  // the .dwp that has them instead; empty: none has
};

class SourceFile {
 public:
  SourceFile(const std::string& path, const ImageSearch& search);

  // The place of a byte of the file; its range is in file offsets, its scope unique in this file.
  SourcePlace Find(uint64_t file_offset);

  // The checksum of a source file of the units read so far; empty when none is recorded.
  std::optional<std::array<uint8_t, 16>> Md5Of(std::string_view source) const;
  bool HasMd5(const std::string& source, const std::array<uint8_t, 16>& md5);

  // Returns the separate file that the DWARF was found in; empty: the program itself has it.
  const std::string& debug_file() const { return debug_path_; }
  // All other files that the DWARF names; reads all units.
  NamedFiles Files();

  // Keeps what was read in ImageSearch::cache. Call it when no user waits.
  void Keep();

  // A sentence about what can't be read; empty: all well so far.
  std::string Problem() const;

 private:
  struct Unit {
    UnitInfo info;
    std::vector<std::string> names;  // demangled, as far as they were asked for
    std::vector<LineRange> line_ranges;
    uint64_t first_scope = 0;                      // of its code outside of any function
    std::vector<std::vector<SourceFrame>> frames;  // by line_range; empty: not made yet
  };

  Unit& UnitAt(uint32_t number);
  const std::vector<SourceFrame>& FramesOf(Unit& unit, size_t line_range);
  static SourcePlace Nothing(uint64_t begin, uint64_t end);

  std::string path_;
  std::string debug_path_;
  std::unique_ptr<SymbolFile> elf_;
  std::unique_ptr<KeptDwarf> dwarf_;
  std::string problem_;
  std::vector<OwnedRange> units_;  // addresses as linked
  std::unordered_map<uint32_t, std::unique_ptr<Unit>> read_;
  uint64_t next_scope_ = 1;
  std::unordered_map<std::string_view, std::array<uint8_t, 16>> md5_;
};

}  // namespace flowback::symbols
