// SPDX-License-Identifier: MIT
// Source lines and inlined calls at addresses, from the DWARF of the ELF files, and from jitdumps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"

namespace flowback {

// A function at a place in its source. The text lives as long as the SourceLines it came from.
struct SourceFrame {
  std::string_view function;  // demangled; empty: the DWARF names none (assembly)
  std::string_view file;      // absolute where the compiler's folder is known; empty: not known
  uint32_t line = 0;          // 0: not known, or code that no line made
  uint32_t column = 0;        // 0: not known
  bool is_inlined = false;    // the next frame's line holds the call
  std::string_view linkage_name{};  // of the function, as the linker has it
  uint32_t discriminator = 0;       // of the code or the call, among those of one line
  uint32_t first_line = 0;          // where the function's source begins; 0: not known
};

// The source place that a half-open range of addresses shares.
struct SourcePlace {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::span<const SourceFrame> frames;  // the innermost first; empty: nothing is known
  // Equal for two places exactly when they are in the same copy of the same inlined or other
  // function, so that a loop through one line and two copies of it can be distinguished.
  uint64_t scope = 0;
  // False: the compiler moved code of the line among other lines' code, and says that the line does
  // not begin here (DWARF's is_stmt).
  bool is_statement = true;

  bool known() const { return !frames.empty() && !frames.front().file.empty(); }
  bool SameLineAs(const SourcePlace& other) const {
    if (frames.empty() || other.frames.empty()) return frames.empty() == other.frames.empty();
    return scope == other.scope && frames.front().line == other.frames.front().line &&
           frames.front().file == other.frames.front().file;
  }
};

// DWARF 2 to 5 of the file itself or of its separate debug file (build-id, .gnu_debuglink), split
// (.dwo, .dwp) and compressed. A file's DWARF is opened when the first address in it is asked for,
// a compile unit of it is read when the first address in that one is; a look-up is then a few
// binary searches. Units that ImageSearch::cache has from before are not read again. A file without
// DWARF has no lines and is no error. May be used by several threads; what they get lives as long
// as this.
class SourceLines {
 public:
  // `search`: where debug files lie. `recording`, which must outlive the object: the one whose code
  // it is; jitdumps kept with it may have lines of code that its processes made.
  explicit SourceLines(ImageSearch search = {}, const Recording* recording = nullptr);
  ~SourceLines();

  // Where nothing is known the place has no frames and reaches as far as that is known to hold, at
  // least one byte.
  SourcePlace Find(const AddressSpace& space, uint64_t ip);

  // The line's text without white space around it; empty when the file can't be read, or is known
  // to be another version than the one that was compiled.
  std::string_view Text(std::string_view file, uint32_t line);

  // Keeps what was read in ImageSearch::cache, for later ones. Failures are ignored. Slow: call it
  // when no user waits.
  void Keep() const;

  // Returns which files could not be read so far, and why: one sentence for each file.
  std::vector<std::string> Problems() const;

 private:
  struct Files;

  std::unique_ptr<Files> files_;
};

}  // namespace flowback
