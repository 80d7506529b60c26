// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "cli/samples/sampled_report.h"
#include "cli/text/printable.h"

namespace flowback::cli {
namespace {

// "Thread 42 "x", sample 3 of 19 of cycles:u, 969388.448429572 s:"
std::string TitleOf(const ShownSample& shown, bool emulated) {
  std::string title = fmt::format("Thread {}", shown.thread.tid);
  if (!shown.comm.empty()) title += fmt::format(" \"{}\"", Printable(shown.comm));
  title += fmt::format(", sample {} of {}", shown.number + 1, shown.thread.samples.size());
  if (!shown.event.empty()) title += fmt::format(" ({})", Printable(shown.event));
  if (shown.sample.time != 0) {
    title += ", ";
    AppendSeconds(title, shown.sample.time);
    title += " s";
  }
  if (emulated) title += " (emulated)";
  return title + ":\n";
}

void AppendRemarks(const SampledFrame& frame, const SampledStack& stack, std::string& out) {
  if (frame.is_kernel) out += " [kernel]";
  if (frame.is_doubted) out += " (callchain only: the hardware saw no such call)";
  if (frame.is_skipped) out += " (not in the callchain)";
  const bool only_likely = frame.sources == SampledFrame::kBefore;
  if (only_likely) out += " (likely: from the sample before)";
  if (frame.address == 0 && frame.call == 0) out += " (where in it is not known)";
  const bool beyond = frame.sources == SampledFrame::kChain && !frame.is_exact;
  if (beyond && !frame.is_kernel && !frame.is_doubted && stack.sources != SampledFrame::kChain)
    out += " (callchain only)";
}

std::string SourcesText(const SampledStack& stack) {
  std::string text;
  const auto add = [&](SampledFrame::Source source, const char* words) {
    if ((stack.sources & source) == 0) return;
    text += text.empty() ? words : fmt::format(", {}", words);
  };
  add(SampledFrame::kCalls, "hardware's stack of calls");
  add(SampledFrame::kBranches, "last branches");
  add(SampledFrame::kChain, "callchain");
  add(SampledFrame::kBefore, "sample before");
  return text.empty() ? "nothing but the place" : text;
}

const char* StitchText(SampledStack::Stitch stitch) {
  switch (stitch) {
    case SampledStack::Stitch::kNoSlots:
      return "; not stitched: the hardware does not tell the calls' slots";
    case SampledStack::Stitch::kNoOverlap:
      return "; not stitched: the sample before has no such calls";
    case SampledStack::Stitch::kAmbiguous:
      return "; not stitched: its outermost call is there more than once, as recursion makes it";
    case SampledStack::Stitch::kNotTried:
    case SampledStack::Stitch::kStitched:
      return "";
  }
  return "";
}

void AppendEnd(const SampledStack& stack, bool has_copy, std::string& out) {
  auto to = std::back_inserter(out);
  if (stack.frames.empty()) {
    out += "    (the sample tells of no place)\n\n";
    return;
  }
  fmt::format_to(to, "    (callers from: {}", SourcesText(stack));
  if (const size_t count = stack.Disagreements(); count != 0)
    fmt::format_to(to, "; they contradict each other in {} {}", count,
                   count == 1 ? "frame" : "frames");
  if (stack.is_full) out += "; the hardware's stack was full: what called its outermost it lacks";
  out += StitchText(stack.stitch);
  if (has_copy) out += "; the sample's copy of the stack is not unwound: `perf script` does";
  out += ")\n\n";
}

}  // namespace

void PrintSampleText(const ShownSample& shown, const SampleStyle& style, Output& output) {
  std::string& out = output.buffer();
  const SampledStack& stack = shown.stack;
  out += TitleOf(shown, style.emulated);
  size_t level = 0;
  std::vector<NamedFrame> inside;
  for (const SampledFrame& frame : stack.frames) {
    const StackFrame nameable = NameableFrame(frame, stack);
    const std::vector<NamedFrame> names = style.names.Of(nameable);
    const std::string_view left = TailCaller(frame, inside, stack, style.symbolizer);
    if (!left.empty())
      fmt::format_to(std::back_inserter(out), "    ({} was called, and left by a tail call)\n",
                     Printable(left));
    for (size_t i = 0; i < names.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{:<4}", fmt::format("#{}", level++));
      AppendFrameText(names[i], nameable, i == 0, out);
      if (i + 1 == names.size()) AppendRemarks(frame, stack, out);
      out += '\n';
    }
    if (!frame.is_doubted) inside = names;
    output.Commit();
    if (output.closed()) return;
  }
  AppendEnd(stack, shown.sample.has_stack_copy, out);
  output.Commit();
}

}  // namespace flowback::cli
