// SPDX-License-Identifier: MIT
// The Python text that gdb loads to show the flow's own call stacks:
// replay/gdb/flow_variables.py and flow_frames.py.
#pragma once

#include <string_view>

namespace flowback::gdb {

extern const std::string_view kInitText;

}  // namespace flowback::gdb
