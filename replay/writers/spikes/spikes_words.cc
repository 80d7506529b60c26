// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string_view>

#include "base/linux_call_names.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

constexpr size_t kMostName = 80;  // columns for a function's name

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

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
  CodeWords words{.function = {}, .offset = 0, .file = {}, .line = 0, .object = {}, .place = ip};
  if (space == nullptr) return words;
  if (const CodeMapping* mapping = space->Find(ip)) {
    words.object = Printable(LastPart(mapping->section->name()));
    words.place = ip - mapping->FileBase();
  }
  if (const auto symbol = view.symbolizer->Find(*space, ip)) {
    words.function = NameWords(symbol->function, kMostName);
    words.offset = symbol->offset;
  }
  const SourcePlace place = view.lines->Find(*space, ip);
  if (place.known()) {
    words.file = Printable(place.frames.front().file);
    words.line = place.frames.front().line;
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
      return "interruptions";
    case PathKind::kLost:
      return "lost trace";
    case PathKind::kOtherStack:
      return "another stack";
    case PathKind::kCut:
      return "further paths";
  }
  return NameWords(view.report->functions[node.function].name, kMostName);
}

}  // namespace flowback
