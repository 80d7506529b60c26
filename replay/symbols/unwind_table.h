// SPDX-License-Identifier: MIT
// What an ELF file's .eh_frame tells of its functions: where they are, also in a stripped file, and
// to where an exception goes that passes a call. [LSB "Exception Frames"]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
    bool of_signal = false;
  };
  class Reader;
  struct Common;

  const Entry* EntryAt(uint64_t address) const;
  void ReadFrames(Bytes frames, uint64_t address);
  void ReadFrame(Bytes record, uint64_t address, const Common& common);
  template <class Visit>
  void VisitSites(const Entry& entry, Visit&& visit) const;
  std::optional<Bytes> BytesAt(uint64_t address) const;

  std::shared_ptr<const SymbolFile> file_;
  std::vector<Entry> entries_;  // sorted
};

}  // namespace flowback::symbols
