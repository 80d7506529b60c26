// SPDX-License-Identifier: MIT
// The registers that gdb knows of each instruction set, and the document that describes them to
// gdb.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "flowback/model/code_mode.h"

namespace flowback::gdb {

struct Register {
  std::string name;
  unsigned bits = 0;
  std::string type;     // in gdb's words; empty: an integer
  std::string feature;  // of the document
};

// In the order of their numbers. The last one, flow_frame, is flowback's own: which frame of the
// flow's call stack a frame is; of the innermost one it is 0.
std::vector<Register> RegistersOf(CodeMode mode);
inline constexpr char kFrameRegister[] = "flow_frame";
// The document target.xml.
std::string TargetDescription(CodeMode mode, const std::vector<Register>& registers);

}  // namespace flowback::gdb
