// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iterator>

#include "cli/reading/losses.h"
#include "cli/stack/frame_text.h"
#include "cli/stack/stack_report.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

// "Thread 4661 "gzip" at the end: 5905533 instructions, 38830.437902930 s"
std::string TitleOf(const ShownStack& shown, const RecordingClock& clock) {
  const ThreadStack& stack = shown.stack;
  std::string title = fmt::format("Thread {}", shown.owner.label);
  if (!shown.comm.empty()) title += fmt::format(" \"{}\"", Printable(shown.comm));
  if (stack.outside == ThreadStack::Outside::kNotBegun) return title + ", before its trace begins:";
  const bool at_end = stack.place.kind == StackPlace::Kind::kEnd || !stack.reached;
  title += fmt::format(" {} {} instructions", at_end ? "at its end, after" : "after",
                       stack.instructions);
  if (stack.tsc != 0) {
    title += ", ";
    clock.AppendText(title, stack.tsc);
    if (clock.has_nanoseconds()) title += " s";
  }
  if (stack.in_kernel) title += ", in code that is not traced";
  return title + (clock.emulated() && stack.tsc != 0 ? " (emulated):" : ":");
}

void AppendOutside(std::string& out, const ThreadStack& stack) {
  const std::string_view what =
      stack.frames.empty() ? "nothing is known of its calls" : "what called this is not known";
  switch (stack.outside) {
    case ThreadStack::Outside::kNothing:
    case ThreadStack::Outside::kNotBegun:
      return;
    case ThreadStack::Outside::kNotRecorded:
      fmt::format_to(std::back_inserter(out), "    ({}: {})\n", what,
                     stack.stack == 0
                         ? "the trace begins inside, and does not come back to it"
                         : "its stack was made for it, and the trace does not come back to what "
                           "is outside");
      return;
    case ThreadStack::Outside::kLost:
      fmt::format_to(std::back_inserter(out), "    ({}, since what was before was lost)\n", what);
      out += "# " + cli::LossText(stack.loss) + "\n";
      return;
  }
}

}  // namespace

void PrintStackText(const ShownStack& shown, const StackStyle& style, Output& output) {
  std::string& out = output.buffer();
  out += TitleOf(shown, style.clock) + "\n";
  size_t level = 0;
  bool guessed = false;
  for (const StackFrame& frame : shown.stack.frames) {
    AppendFrame(style.names.Of(frame), frame, level, out);
    guessed = guessed || frame.is_guess;
    output.Commit();
    if (output.closed()) return;
  }
  if (guessed)
    out +=
        "    (guess: the thread had left several stacks at one place, and it is unknown to which "
        "of them it came back)\n";
  AppendOutside(out, shown.stack);
  out += '\n';
  output.Commit();
}

}  // namespace flowback::cli
