// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string_view>

#include "base/linux_call_names.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

constexpr size_t kMostName = 80;   // columns for a function's name
constexpr size_t kShortName = 48;  // a longer one loses what stands in brackets

// Replaces what stands between the outermost pairs of two brackets by dots.
std::string WithoutInside(std::string_view name, char open, char close) {
  std::string text;
  size_t depth = 0;
  for (const char c : name) {
    if (c == close && depth != 0) --depth;
    if (depth == 0) text += c;
    if (c == open && depth++ == 0) text += "...";
  }
  return text;
}

// Returns the innermost frame whose source is not one of the system's headers, from which
// libraries' templates are inlined; if all are, the innermost one.
const SourceFrame& OwnFrame(const SourcePlace& place) {
  for (const SourceFrame& frame : place.frames)
    if (!frame.file.empty() && frame.line != 0 && !frame.file.starts_with("/usr/")) return frame;
  return place.frames.front();
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string ShortName(std::string_view name) {
  std::string text(name);
  if (text.size() > kShortName && text.find("operator<") == std::string::npos &&
      text.find("operator>") == std::string::npos && text.find("operator-") == std::string::npos)
    text = WithoutInside(text, '<', '>');
  if (text.size() > kShortName) text = WithoutInside(text, '(', ')');
  return NameWords(text, kMostName);
}

std::string CodeWords::LineOrPlace() const {
  if (has_line()) return fmt::format("{}:{}", LastPart(file), line);
  if (!object.empty()) return fmt::format("{}+{:#x}", object, place);
  return fmt::format("{:#x}", place);
}

std::string CodeWords::Full() const {
  if (function.empty()) return LineOrPlace();
  const std::string symbol = fmt::format("{}+{:#x}", function, offset);
  return has_line() ? fmt::format("{}, {}", symbol, LineOrPlace())
                    : fmt::format("{}, {}", symbol, object);
}

CodeWords WordsOf(const SpikesView& view, const AddressSpace* space, uint64_t ip) {
  CodeWords words{
      .function = {}, .offset = 0, .file = {}, .line = 0, .object = {}, .code = {}, .place = ip};
  if (space == nullptr) return words;
  if (const CodeMapping* mapping = space->Find(ip)) {
    words.object = Printable(LastPart(view.recorded_path(mapping->section->name())));
    words.code = mapping->section->name();
    words.place = ip - mapping->FileBase();
  }
  if (const auto symbol = view.symbolizer->Find(*space, ip)) {
    words.function = ShortName(symbol->function);
    words.offset = symbol->offset;
  }
  const SourcePlace place = view.lines->Find(*space, ip);
  if (place.known()) {
    const SourceFrame& frame = OwnFrame(place);
    words.file = Printable(frame.file);
    words.line = frame.line;
  }
  return words;
}

std::string MeasureWords(const SpikesView& view, double value) {
  const SpikeReport& report = *view.report;
  const auto whole = static_cast<uint64_t>(value < 0 ? -value : value);
  const char* const sign = value < 0 ? "-" : "";
  if (report.measure == InstanceMeasure::kInstructions)
    return fmt::format("{}{} instructions", sign, whole);
  if (report.measure == InstanceMeasure::kCycles) return fmt::format("{}{} cycles", sign, whole);
  return sign + DurationWords(whole, report.nanoseconds);
}

std::string CyclesWords(const Cause& cause) {
  if (cause.slow_cost == 0 || cause.normal_cost == 0) return {};
  return fmt::format(" ({:.1f} cycles for each rather than {:.1f})", cause.slow_cost,
                     cause.normal_cost);
}

std::string ThreadWords(const SpikesView& view, const Instance& instance) {
  const std::string name = NameWords(view.threads->CommAt(instance.tid, 0).comm, 20);
  return fmt::format("{}{}{}", name, name.empty() ? "" : " ", instance.tid);
}

std::string PathName(const SpikesView& view, uint32_t number) {
  const InstancePath& node = view.report->paths.nodes()[number];
  switch (node.kind) {
    case PathKind::kRegion:
      return NameWords(view.region, kMostName);
    case PathKind::kCall:
      break;
    case PathKind::kSystemCall: {
      const std::string_view name =
          node.function == CallPath::kNoFunction
              ? std::string_view()
              : LinuxCallName(node.function, static_cast<LinuxAbi>(node.abi));
      if (!name.empty()) return fmt::format("the system call {}", name);
      return node.function == CallPath::kNoFunction
                 ? std::string("a system call")
                 : fmt::format("the system call {}", node.function);
    }
    case PathKind::kInterrupted:
      if (node.function == CallPath::kNoFunction) return "interruptions";
      return "interruptions of " + ShortName(view.report->functions[node.function].name);
    case PathKind::kLost:
      return "lost trace";
    case PathKind::kOtherStack:
      return "another stack";
    case PathKind::kQueued:
      return "waiting for the thread that ends it";
    case PathKind::kCut:
      return "further paths";
  }
  return ShortName(view.report->functions[node.function].name);
}

}  // namespace flowback
