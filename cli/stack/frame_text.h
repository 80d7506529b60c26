// SPDX-License-Identifier: MIT
// The names of a frame, as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowback/replay/thread_stack.h"
#include "replay/calls/stack_names.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

// Appends the frame without its number. `innermost`: `named` is the innermost function of the
// frame, which alone has an address.
void AppendFrameText(const NamedFrame& named, const StackFrame& frame, bool innermost,
                     std::string& out);

// Appends a line for each function of the frame, the innermost first, and what the frame is
// besides; counts `level`, the number of the next line, on.
void AppendFrame(const std::vector<NamedFrame>& names, const StackFrame& frame, size_t& level,
                 std::string& out);

// Adds function, offset, object, file, line, inlined.
void AddNames(const NamedFrame& named, JsonLine& line);

}  // namespace flowback::cli
