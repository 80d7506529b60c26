// SPDX-License-Identifier: MIT
// What LLDB asks beside gdb's packets: the machine and the process in words of its own.
#include <fmt/format.h>

#include "replay/gdb/gdb_server.h"

namespace flowback::gdb {
namespace {

std::string_view TripleStart(CodeMode mode) {
  switch (mode) {
    case CodeMode::kAArch64:
      return "aarch64";
    case CodeMode::kX86_64:
      return "x86_64";
    default:
      return "i386";
  }
}

std::string MachineText(CodeMode mode) {
  return fmt::format("triple:{};ptrsize:{};endian:little;ostype:linux;",
                     HexOf(fmt::format("{}-unknown-linux-gnu", TripleStart(mode))),
                     TraitsOf(mode).bits / 8);
}

}  // namespace

// Only LLDB sends this. It is not supported, but identifies the client.
Replies GdbServer::MeetLldb(std::string_view) {
  is_lldb_ = true;
  return {""};
}

Replies GdbServer::HostInfo(std::string_view) { return {MachineText(mode_)}; }

Replies GdbServer::ProcessInfo(std::string_view rest) {
  if (!rest.empty()) return {""};  // of another process, by number
  return {fmt::format("pid:{:x};", view_.NumberOf(general()).pid) + MachineText(mode_)};
}

// LLDB knows no end of a recording: from a stop without a reason of its own it would go on.
std::string GdbServer::LldbReason(const MachineStop& stop) const {
  using Reason = MachineStop::Reason;
  std::string text;
  for (const std::string& remark : Remarks(stop)) text += (text.empty() ? "" : "; ") + remark;
  if (text.empty() && stop.reason == Reason::kBegin) text = "at the begin of the recording";
  if (text.empty() && stop.reason == Reason::kEnd) text = "at the end of the recording";
  return text.empty() ? text : "reason:exception;description:" + HexOf(text) + ";";
}

}  // namespace flowback::gdb
