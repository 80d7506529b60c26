// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {

std::string DurationWords(uint64_t duration, bool nanoseconds) {
  if (!nanoseconds) return fmt::format("{} ticks", duration);
  struct Unit {
    uint64_t size;
    const char* name;
  };
  for (const Unit unit : {Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}, Unit{1'000, "us"}}) {
    if (duration < unit.size) continue;
    const double value = static_cast<double>(duration) / static_cast<double>(unit.size);
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, unit.name);
  }
  return fmt::format("{} ns", duration);
}

std::string MomentWords(uint64_t time, bool nanoseconds) {
  return nanoseconds ? SecondsText(time) : fmt::format("tsc:{}", time);
}

std::string ShareWords(uint64_t part, uint64_t whole) {
  if (part == 0 || whole == 0) return "0 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.05 ? "<0.1 %" : fmt::format("{:.1f} %", percent);
}

// Where a character of UTF-8 begins there is one column more. Wide and combining characters are
// taken for narrow ones.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

std::string IpcWords(const CycleShare& cycles) {
  if (cycles.likely == 0) return "-";
  const double ipc = static_cast<double>(cycles.instructions) / static_cast<double>(cycles.likely);
  const bool proven = (cycles.hi - std::min(cycles.hi, cycles.lo)) <= cycles.likely / 20;
  return fmt::format("{}{:.2f}", proven ? "" : "~", ipc);
}

std::string NameWords(std::string_view name, size_t most) {
  // A character has four bytes at most, so these have all that is shown, and one more is cut.
  std::string text = Printable(name.substr(0, 4 * most));
  if (name.size() > 4 * most) text += ' ';
  return CutWords(text, most);
}

std::string CutWords(std::string_view text, size_t most) {
  if (ColumnsOf(text) <= most) return std::string(text);
  size_t columns = 0;
  size_t end = 0;
  while (end < text.size()) {
    const bool begins = (static_cast<uint8_t>(text[end]) & 0xc0) != 0x80;
    if (begins && columns + 3 >= most) break;
    columns += begins ? 1 : 0;
    ++end;
  }
  return std::string(text.substr(0, end)) + "...";
}

std::string NameOf(const TimelineView& view, uint32_t function, size_t most) {
  if (function == CallPath::kNoFunction) return "(in no known call)";
  return NameWords(view.timeline->functions[function].name, most);
}

std::string NameOf(const TimelineView& view, const ThreadTimeline& thread, size_t most) {
  if (thread.tid >= 0) {
    const CommSpan comm = view.threads->CommAt(thread.tid, 0);
    const std::string number = std::to_string(thread.tid);
    const std::string name = NameWords(comm.comm, most - std::min(most, number.size() + 1));
    return name.empty() ? number : fmt::format("{} {}", name, number);
  }
  if (thread.stream == nullptr) return "?";
  return thread.stream->cpu >= 0 ? fmt::format("(cpu{}: whose is not known)", thread.stream->cpu)
                                 : fmt::format("stream {}", thread.stream->index);
}

std::vector<const ThreadTimeline*> ByLife(const Timeline& timeline) {
  std::vector<const ThreadTimeline*> sorted;
  for (const ThreadTimeline& thread : timeline.threads) sorted.push_back(&thread);
  std::ranges::stable_sort(sorted, [](const ThreadTimeline* a, const ThreadTimeline* b) {
    return std::pair(a->end - a->begin, a->instructions) >
           std::pair(b->end - b->begin, b->instructions);
  });
  return sorted;
}

std::vector<uint32_t> BySelf(const TimelineView& view) {
  std::vector<uint32_t> functions = FunctionsBy(
      view.timeline->by_function,
      [](const CallSums& sums) {
        return sums.count != 0 || sums.total != 0 || sums.instructions != 0;
      },
      [&](const CallSums& sums) {
        return std::pair(view.SelfWeightOf(sums), view.WeightOf(sums));
      });
  std::erase_if(functions, [&](uint32_t function) {
    return view.timeline->functions[function].is_system_call;
  });
  return functions;
}

std::vector<uint32_t> Sorted(const TimelineView& view) {
  std::vector<uint32_t> functions = BySelf(view);
  const auto key = [&](uint32_t function) {
    const CallSums& sums = view.timeline->by_function[function];
    if (view.sort == TimelineSort::kCalls) return sums.count;
    return view.sort == TimelineSort::kTotal ? view.WeightOf(sums) : view.SelfWeightOf(sums);
  };
  std::ranges::stable_sort(functions, std::ranges::greater(), key);
  return functions;
}

size_t NameColumns(const TimelineView& view, size_t used) {
  return std::max(view.width, used + kLeastName) - used;
}

void AppendName(const TimelineView& view, uint32_t function, std::string& line) {
  line += NameOf(view, function, NameColumns(view, line.size()));
}

void AppendMore(size_t count, size_t shown, std::string& out) {
  if (count > shown) out += fmt::format("  ({} more: --top N)\n", count - shown);
}

std::string SharesOf(const TimelineView& view, const std::vector<uint32_t>& functions,
                     uint64_t CallSums::* of, uint64_t all, std::string_view what) {
  constexpr size_t kMostNamed = 5;
  std::string text;
  for (const uint32_t function : functions | std::views::take(kMostNamed)) {
    const uint64_t part = view.timeline->by_function[function].*of;
    if (part == 0) break;
    text +=
        fmt::format("{}{}{} in {}", text.empty() ? "" : ", ", ShareWords(part, all),
                    text.empty() ? fmt::format(" of {}", what) : "", NameOf(view, function, 60));
  }
  return text;
}

}  // namespace flowback
