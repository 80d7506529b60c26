// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "cli/samples/sampled_report.h"
#include "cli/stack/frame_text.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

struct SourceWord {
  SampledFrame::Source source;
  std::string_view word;
};
constexpr SourceWord kSourceWords[] = {{SampledFrame::kChain, "callchain"},
                                       {SampledFrame::kUnwound, "stack-copy"},
                                       {SampledFrame::kCalls, "calls"},
                                       {SampledFrame::kBranches, "branches"},
                                       {SampledFrame::kBefore, "sample-before"}};

std::string SourceList(uint8_t sources) {
  std::string list = "[";
  for (const SourceWord& each : kSourceWords) {
    if ((sources & each.source) == 0) continue;
    if (list.size() != 1) list += ',';
    AppendJsonString(list, each.word);
  }
  return list + "]";
}

std::string_view StitchWord(SampledStack::Stitch stitch) {
  switch (stitch) {
    case SampledStack::Stitch::kNotTried:
      return "not-tried";
    case SampledStack::Stitch::kNoSlots:
      return "no-slots";
    case SampledStack::Stitch::kNoOverlap:
      return "no-overlap";
    case SampledStack::Stitch::kAmbiguous:
      return "ambiguous";
    case SampledStack::Stitch::kStitched:
      return "stitched";
  }
  return "-";
}

std::string_view CopyEndWord(UnwoundStack::End end) {
  switch (end) {
    case UnwoundStack::End::kOutermost:
      return "outermost";
    case UnwoundStack::End::kNoRegisters:
      return "no-registers";
    case UnwoundStack::End::kNoTable:
      return "no-table";
    case UnwoundStack::End::kCopyEnds:
      return "copy-ends";
    case UnwoundStack::End::kTooDeep:
      return "too-deep";
  }
  return "-";
}

// Ends without a newline, as it stands in a list.
void AppendSampledFrame(const NamedFrame& named, const SampledFrame& frame, size_t level,
                        std::string_view tail_caller, std::string& out) {
  JsonLine line(out);
  line.Number("level", level);
  line.HexOrNull("ip", frame.address);
  line.HexOrNull("call", frame.call);
  line.HexOrNull("entry", frame.entry);
  AddNames(named, line);
  line.Bool("kernel", frame.is_kernel).Raw("sources", SourceList(frame.sources));
  line.Bool("doubted", frame.is_doubted).Bool("skipped", frame.is_skipped);
  line.TextOrNull("tail_caller", tail_caller);
  line.End();
  out.pop_back();
}

std::string FramesOf(const SampledStack& stack, const SampleStyle& style) {
  std::string frames = "[";
  size_t level = 0;
  std::vector<NamedFrame> inside;
  for (const SampledFrame& frame : stack.frames) {
    const std::vector<NamedFrame> names = style.names.Of(NameableFrame(frame, stack));
    std::string_view left = TailCaller(frame, inside, stack, style.symbolizer);
    for (const NamedFrame& named : names) {
      if (level != 0) frames += ',';
      AppendSampledFrame(named, frame, level++, left, frames);
      left = {};
    }
    if (!frame.is_doubted) inside = names;
  }
  return frames + "]";
}

}  // namespace

void PrintSampleJson(const ShownSample& shown, const SampleStyle& style, Output& output) {
  JsonLine line(output.buffer());
  line.Text("type", "sample").Number("pid", shown.thread.pid).Number("tid", shown.thread.tid);
  line.TextOrNull("comm", shown.comm);
  line.Number("sample", shown.number).Number("samples", shown.thread.samples.size());
  line.TextOrNull("event", shown.event);
  if (shown.sample.time == 0)
    line.Null("time");
  else
    line.Number("time", shown.sample.time);
  line.Raw("sources", SourceList(shown.stack.sources)).Bool("full", shown.stack.is_full);
  line.Text("stitch", StitchWord(shown.stack.stitch));
  if (shown.stack.copy_end)
    line.Text("stack_copy", CopyEndWord(*shown.stack.copy_end));
  else
    line.Null("stack_copy");
  line.Number("disagreements", shown.stack.Disagreements());
  line.Raw("frames", FramesOf(shown.stack, style)).End();
  output.Commit();
}

}  // namespace flowback::cli
