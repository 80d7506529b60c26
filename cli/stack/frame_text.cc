// SPDX-License-Identifier: MIT
#include "cli/stack/frame_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/path_text.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {

void AppendFrameText(const NamedFrame& named, const StackFrame& frame, bool innermost,
                     std::string& out) {
  // An inlined call has no address of its own: the address where the frame goes on belongs to the
  // innermost call.
  if (innermost) {
    fmt::format_to(std::back_inserter(out), "0x{:016x} in ", frame.address);
  } else {
    out.append(22, ' ');
  }
  out += named.function.empty() ? "??" : ShortName(named.function);
  if (!named.file.empty()) {
    out += " (";
    AppendPrintable(out, LastPart(named.file));
    out += named.line == 0 ? ":?)" : fmt::format(":{})", named.line);
  } else if (!named.object.empty()) {
    if (!named.function.empty()) fmt::format_to(std::back_inserter(out), "+{:#x}", named.offset);
    out += " (";
    AppendPrintable(out, LastPart(named.object));
    out += ')';
  }
  if (named.is_inlined) out += " inlined";
  if (frame.is_guess) out += " (guess)";
}

void AppendFrame(const std::vector<NamedFrame>& names, const StackFrame& frame, size_t& level,
                 std::string& out) {
  bool innermost = true;
  for (const NamedFrame& named : names) {
    fmt::format_to(std::back_inserter(out), "{:<4}", fmt::format("#{} ", level++));
    AppendFrameText(named, frame, innermost, out);
    out += '\n';
    innermost = false;
  }
  if (frame.repeats) out += "      (repeats, count not known)\n";
  if (frame.is_handler)
    fmt::format_to(std::back_inserter(out), "{:<4}<signal handler called>\n",
                   fmt::format("#{} ", level++));
}

void AddNames(const NamedFrame& named, JsonLine& line) {
  line.TextOrNull("function", named.function);
  if (named.function.empty() || named.is_inlined)
    line.Null("offset");
  else
    line.Number("offset", named.offset);
  line.TextOrNull("object", named.object);
  line.TextOrNull("file", named.file);
  if (named.line == 0)
    line.Null("line");
  else
    line.Number("line", named.line);
  line.Bool("inlined", named.is_inlined);
}

}  // namespace flowback::cli
