// SPDX-License-Identifier: MIT
// What an ELF file's .eh_frame tells of its functions: where they are, also in a stripped file, to
// where an exception goes that passes a call, and how a frame's caller is found. [LSB "Exception
// Frames"]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/symbols/encoded_values.h"
#include "replay/symbols/frame_rules.h"
#include "replay/symbols/symbol_file.h"

namespace flowback::symbols {

class UnwindTable {
 public:
  // Nothing but an empty table where the file has none, or can't be read.
  static UnwindTable Read(const std::string& path);
  static UnwindTable Read(std::shared_ptr<const SymbolFile> file);

  struct Range {
    uint64_t begin = 0;  // file offsets, half-open
    uint64_t end = 0;
  };
  // A function, or a part of one that the compiler moved away.
  std::optional<Range> Find(uint64_t file_offset) const;
  // Where an exception goes on that reaches the call which would return to `file_offset`. Empty: it
  // goes on to the caller.
  std::optional<uint64_t> LandingPad(uint64_t file_offset) const;
  // Whether an exception goes on there that reaches some call of the function.
  bool IsLandingPad(uint64_t file_offset) const;
  // How the caller of a frame is found whose code stands there. Empty: the file does not tell.
  std::optional<FrameRules> RulesAt(uint64_t file_offset) const;
  // All functions and landing pads, at their addresses as linked; the functions are sorted. What a
  // signal's handler returns to begins a byte behind what its entry says: unwinders look for the
  // byte before a return address, and no call put this one there.
  std::vector<Range> Functions() const;
  std::vector<uint64_t> LandingPads() const;

 private:
  // Addresses as linked.
  struct Entry {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t handlers = 0;  // of its table of call sites; 0: it has none
    uint64_t record = 0;    // where it stands in .eh_frame, behind its length
    bool of_signal = false;
  };
  using Reader = EncodedValues;
  struct Common;

  const Entry* EntryAt(uint64_t address) const;
  void ReadFrames(Bytes frames, uint64_t address);
  void ReadFrame(Bytes record, uint64_t address, uint64_t at, const Common& common);
  static std::optional<uint64_t> CommonOf(Bytes record, uint64_t at);
  Common ReadCommon(Bytes frames, uint64_t address, uint64_t at) const;
  static Entry ReadEntry(Reader& reader, const Common& common);
  template <class Visit>
  void VisitSites(const Entry& entry, Visit&& visit) const;
  std::optional<Bytes> BytesAt(uint64_t address) const;

  std::shared_ptr<const SymbolFile> file_;
  std::vector<Entry> entries_;  // sorted
};

}  // namespace flowback::symbols
