// SPDX-License-Identifier: MIT
// The records of .eh_frame or .debug_frame: which code each is of, and the program that finds a
// frame's caller. [LSB "Exception Frames"; DWARF 5, 6.4.1]
//
// A record that several have in common (CIE) stands apart from theirs (FDE), which name it: in
// .eh_frame by how far it is back, in .debug_frame by its place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "replay/symbols/frames/frame_rules.h"

namespace flowback::symbols {

// A function, or a part of one. Addresses are as linked.
struct FrameEntry {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t handlers = 0;  // of its table of call sites; 0: it has none
  uint64_t record = 0;    // where it stands in its section, with its length
  bool of_signal = false;
  bool of_debug = false;  // in .debug_frame
};

class FrameSection {
 public:
  enum class Kind : uint8_t { kEhFrame, kDebugFrame };

  // `bytes` must outlive it; `address`: of the first one, as linked.
  FrameSection(Kind kind, Bytes bytes, uint64_t address, unsigned address_bytes, bool is_aarch64)
      : kind_(kind),
        bytes_(bytes),
        address_(address),
        address_bytes_(address_bytes),
        is_aarch64_(is_aarch64) {}

  // In the order of the section; those that make no sense are left out.
  std::vector<FrameEntry> Entries() const;
  // What stands in one of them. Empty where it can't be used.
  std::optional<FrameProgram> ProgramOf(const FrameEntry& entry) const;

 private:
  struct Common;
  struct Record;
  struct Read;

  std::optional<Record> RecordAt(uint64_t at) const;
  std::optional<uint64_t> CommonOf(const Record& record) const;
  Common ReadCommon(uint64_t at) const;
  Read ReadEntry(const Record& record, const Common& common) const;

  Kind kind_;
  Bytes bytes_;
  uint64_t address_;
  unsigned address_bytes_;
  bool is_aarch64_;
};

}  // namespace flowback::symbols
