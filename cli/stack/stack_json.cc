// SPDX-License-Identifier: MIT
#include <string>

#include "cli/reading/losses.h"
#include "cli/stack/frame_text.h"
#include "cli/stack/stack_report.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

using Outside = ThreadStack::Outside;

std::string_view Word(Outside outside) {
  switch (outside) {
    case Outside::kNothing:
      return "nothing";
    case Outside::kNotRecorded:
      return "not-recorded";
    case Outside::kLost:
      return "lost";
    case Outside::kNotBegun:
      return "not-begun";
  }
  return "-";
}

// Ends without a newline, as it stands in a list.
void AppendFrame(std::string& out, const NamedFrame& named, const StackFrame& frame, size_t level) {
  JsonLine line(out);
  line.Number("level", level).Hex("ip", frame.address);
  AddNames(named, line);
  line.Bool("handler", frame.is_handler && !named.is_inlined);
  line.Bool("guess", frame.is_guess).Bool("repeats", frame.repeats && !named.is_inlined).End();
  out.pop_back();
}

std::string FramesOf(const ThreadStack& stack, StackNames& names) {
  std::string frames = "[";
  size_t level = 0;
  for (const StackFrame& frame : stack.frames) {
    for (const NamedFrame& named : names.Of(frame)) {
      if (level != 0) frames += ',';
      AppendFrame(frames, named, frame, level++);
    }
    // gdb counts the kernel's frame, too.
    if (frame.is_handler) ++level;
  }
  return frames + "]";
}

}  // namespace

void PrintStackJson(const ShownStack& shown, const StackStyle& style, Output& output) {
  const ThreadStack& stack = shown.stack;
  JsonLine line(output.buffer());
  line.Text("type", "stack").Text("stream", shown.owner.label);
  line.Number("pid", shown.owner.pid).Number("tid", shown.owner.tid);
  line.TextOrNull("comm", shown.comm);
  line.Number("instructions", stack.instructions);
  if (stack.tsc == 0)
    line.Null("time").Null("tsc");
  else
    line.Number("time", style.clock.Value(stack.tsc)).Number("tsc", stack.tsc);
  line.Bool("reached", stack.reached).Bool("untraced", stack.in_kernel);
  line.Number("stack", stack.stack).Text("outside", Word(stack.outside));
  if (stack.outside == Outside::kLost)
    line.Text("loss", cli::LossText(stack.loss));
  else
    line.Null("loss");
  line.Raw("frames", FramesOf(stack, style.names)).End();
  output.Commit();
}

void PrintStackHeader(const Recording& recording, bool json, Output& output) {
  if (!json) return;
  JsonLine line(output.buffer());
  line.Text("schema", "flowback.stack/1").Text("input", recording.path);
  line.Text("clock", recording.time.known() ? "ns" : "tsc");
  line.Bool("emulated", recording.machine.emulated).End();
}

}  // namespace flowback::cli
