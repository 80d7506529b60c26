// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "cli/samples/sampled_report.h"
#include "cli/stack/frame_text.h"
#include "replay/writers/text/printable.h"

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

// What the hardware's knowledge is held against.
constexpr uint8_t kChains = SampledFrame::kChain | SampledFrame::kUnwound;
const char* ChainName(const SampledStack& stack) {
  return (stack.sources & SampledFrame::kUnwound) != 0 ? "copy of the stack" : "callchain";
}

void AppendRemarks(const SampledFrame& frame, const SampledStack& stack, std::string& out) {
  const auto to = std::back_inserter(out);
  if (frame.is_kernel) out += " [kernel]";
  if (frame.is_doubted)
    fmt::format_to(to, " ({} only: the hardware saw no such call)", ChainName(stack));
  if (frame.is_skipped) fmt::format_to(to, " (not in the {})", ChainName(stack));
  const bool only_likely = frame.sources == SampledFrame::kBefore;
  if (only_likely) out += " (likely: from the sample before)";
  if (frame.address == 0 && frame.call == 0) out += " (where in it is not known)";
  const bool beyond = (frame.sources & ~kChains) == 0 && frame.sources != 0 && !frame.is_exact;
  const bool has_others = (stack.sources & ~kChains) != 0;
  if (beyond && !frame.is_kernel && !frame.is_doubted && has_others)
    fmt::format_to(to, " ({} only)", ChainName(stack));
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
  add(SampledFrame::kUnwound, "copy of the stack");
  add(SampledFrame::kBefore, "sample before");
  return text.empty() ? "nothing but the place" : text;
}

const char* StitchText(SampledStack::Stitch stitch) {
  switch (stitch) {
    case SampledStack::Stitch::kNoSlots:
      return "; not stitched: the hardware does not record the calls' slots";
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

const char* CopyEndText(UnwoundStack::End end) {
  switch (end) {
    case UnwoundStack::End::kOutermost:
      return "";
    case UnwoundStack::End::kNoRegisters:
      return "; the sample has no registers to unwind its copy of the stack with";
    case UnwoundStack::End::kNoTable:
      return "; what called the outermost is not known: its code has no table of unwinding";
    case UnwoundStack::End::kCopyEnds:
      return "; the copy ends there: `perf record --call-graph dwarf,BYTES` copies more";
    case UnwoundStack::End::kTooDeep:
      return "; it goes in circles there";
  }
  return "";
}

void AppendEnd(const SampledStack& stack, std::string& out) {
  auto to = std::back_inserter(out);
  if (stack.frames.empty()) {
    out += "    (the sample has no place)\n\n";
    return;
  }
  fmt::format_to(to, "    (callers from: {}", SourcesText(stack));
  if (const size_t count = stack.Disagreements(); count != 0)
    fmt::format_to(to, "; they contradict each other in {} {}", count,
                   count == 1 ? "frame" : "frames");
  if (stack.is_full) out += "; the hardware's stack was full: what called its outermost it lacks";
  out += StitchText(stack.stitch);
  if (stack.copy_end) out += CopyEndText(*stack.copy_end);
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
  AppendEnd(stack, out);
  output.Commit();
}

}  // namespace flowback::cli
