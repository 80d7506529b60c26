// SPDX-License-Identifier: MIT
// Facts about functions in an ELF file's .eh_frame: where they are, also in a stripped file, to
// where an exception goes that passes a call, and how a frame's caller is found. For functions
// missing in it, .debug_frame has the same, without exceptions. [LSB "Exception Frames"]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/decode/code_image.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/symbols/frames/frame_rules.h"
#include "replay/symbols/frames/frame_section.h"

namespace flowback::symbols {

class UnwindTable {
 public:
  // Nothing but an empty table where the file has none, or can't be read.
  static UnwindTable Read(const std::string& path);
  static UnwindTable Read(std::shared_ptr<const SymbolFile> file);
  // Returns the table of mapped code: its file's, or, without a file (the vDSO), one from its own
  // bytes.
  static UnwindTable Of(const CodeMapping& mapping);

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
  // How the caller of a frame is found whose code stands there. Empty: not in the file.
  std::optional<FrameRules> RulesAt(uint64_t file_offset) const;
  // Returns the bytes between the stack pointer there and the frame's begin. Empty: the rules count
  // from another register.
  std::optional<int64_t> FrameSize(uint64_t file_offset) const;
  // Returns the file that the table was read from; null: no file.
  const SymbolFile* file() const { return file_.get(); }
  // All functions and landing pads, at their addresses as linked; the functions are sorted. What a
  // signal's handler returns to begins a byte behind what its entry says: unwinders look for the
  // byte before a return address, and no call put this one there.
  std::vector<Range> Functions() const;
  std::vector<uint64_t> LandingPads() const;

 private:
  std::optional<FrameSection> SectionOf(FrameSection::Kind kind) const;
  void AddForDebuggers();
  const FrameEntry* EntryAt(uint64_t address) const;
  template <class Visit>
  void VisitSites(const FrameEntry& entry, Visit&& visit) const;
  std::optional<Bytes> BytesAt(uint64_t address) const;

  std::shared_ptr<const SymbolFile> file_;
  std::vector<uint8_t> for_debuggers_;  // .debug_frame
  std::vector<FrameEntry> entries_;     // sorted
};

}  // namespace flowback::symbols
