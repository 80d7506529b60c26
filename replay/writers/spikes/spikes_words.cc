// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string_view>

#include "base/linux/linux_call_names.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
CodeWords WordsOf(const SpikesView& view, const AddressSpace* space, uint64_t ip) {
  return WordsOf(
      NameSources{
          .lines = view.lines, .symbolizer = view.symbolizer, .recorded_path = &view.recorded_path},
      space, ip);
}

std::string MeasureWords(const SpikesView& view, double value) {
  const SpikeReport& report = *view.report;
  const auto whole = static_cast<uint64_t>(value < 0 ? -value : value);
  const char* const sign = value < 0 ? "-" : "";
  if (report.measure == InstanceMeasure::kInstructions)
    return fmt::format("{}{} instructions", sign, GroupedDigits(whole));
  if (report.measure == InstanceMeasure::kCycles)
    return fmt::format("{}{} cycles", sign, GroupedDigits(whole));
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
  constexpr size_t kMostRegion = 80;  // columns
  const InstancePath& node = view.report->paths.nodes()[number];
  switch (node.kind) {
    case PathKind::kRegion:
      return NameWords(view.region, kMostRegion);
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
