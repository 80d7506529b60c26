// SPDX-License-Identifier: MIT
// Names of the functions in a frame of a stack, with the inlined ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"

namespace flowback {

// Texts live as long as the Symbolizer and the SourceLines that they come from.
struct NamedFrame {
  std::string_view function;  // empty: not known
  uint64_t offset = 0;        // of the address, in the function; of what is not inlined
  std::string_view object;    // the file of the code; empty: not known
  std::string_view file;      // of the source; empty: not known
  uint32_t line = 0;          // 0: not known
  bool is_inlined = false;    // into the next one
};

class StackNames {
 public:
  // Returns the path under which a section's file was recorded. Another file may have been opened.
  using RecordedPath = std::function<std::string_view(const std::string& file)>;

  // `symbolizer` and `lines` must outlive it.
  StackNames(Symbolizer& symbolizer, SourceLines& lines, RecordedPath recorded_path)
      : symbolizer_(symbolizer), lines_(lines), recorded_path_(std::move(recorded_path)) {}

  // Returns the innermost function first; never nothing. Looks the address after a call up at the
  // call.
  std::vector<NamedFrame> Of(const StackFrame& frame);

 private:
  Symbolizer& symbolizer_;
  SourceLines& lines_;
  RecordedPath recorded_path_;
};

}  // namespace flowback
