// SPDX-License-Identifier: MIT
// What the frames of a stack are called: a line for each function, inlined ones too.
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
#include "replay/writers/text/json.h"

namespace flowback::cli {

// The text lives as long as the names it came from.
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
  // The path that a section's file was recorded under; another one may have been opened.
  using RecordedPath = std::function<std::string_view(const std::string& file)>;

  // The former two must outlive it.
  StackNames(Symbolizer& symbolizer, SourceLines& lines, RecordedPath recorded_path)
      : symbolizer_(symbolizer), lines_(lines), recorded_path_(std::move(recorded_path)) {}

  // The innermost first; never empty. Where a call goes on is looked up where it was made.
  std::vector<NamedFrame> Of(const StackFrame& frame);

 private:
  Symbolizer& symbolizer_;
  SourceLines& lines_;
  RecordedPath recorded_path_;
};

// Without its number. `innermost`: of the names that share the frame's address.
void AppendFrameText(const NamedFrame& named, const StackFrame& frame, bool innermost,
                     std::string& out);

void TextOrNull(JsonLine& line, std::string_view key, std::string_view text);
// function, offset, object, file, line, inlined.
void AddNames(const NamedFrame& named, JsonLine& line);

}  // namespace flowback::cli
