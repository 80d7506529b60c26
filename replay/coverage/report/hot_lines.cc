// SPDX-License-Identifier: MIT
#include "replay/coverage/report/hot_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace flowback {
namespace {

// Identifies a line, or a function of an object if no line is known.
struct LineKey {
  std::string_view file{};
  uint32_t line = 0;
  std::string_view function{};  // both only of code without a line
  std::string_view object{};

  friend auto operator<=>(const LineKey&, const LineKey&) = default;
};

// The function and object of some of a line's instructions.
using Owner = std::pair<std::string_view, std::string_view>;

class LineSums {
 public:
  explicit LineSums(const HotLineSources& sources) : sources_(sources) {}

  void Add(const ObjectCounts& counts) {
    for (const InstructionCount& each : counts.instructions) result_.all += each.times;
    if (counts.instructions.empty()) return;
    const Result<ObjectImage> image = sources_.open(counts.id);
    if (image) return AddCode(counts, *image);
    if (!counts.id.made_at_run_time) result_.problems.push_back(image.error().message());
    for (const InstructionCount& each : counts.instructions) AddTo(counts.id, {}, {}, each.times);
  }

  HotLines Take() {
    for (const auto& [key, line] : lines_) {
      const auto most =
          std::ranges::max_element(line, {}, [](const auto& of) { return of.second; });
      uint64_t sum = 0;
      for (const auto& [owner, times] : line) sum += times;
      result_.instructions += sum;
      if (key.file.empty()) result_.without_line += sum;
      result_.lines.push_back({.file = std::string(key.file),
                               .line = key.line,
                               .function = std::string(most->first.first),
                               .object = std::string(most->first.second),
                               .instructions = sum});
    }
    std::ranges::stable_sort(result_.lines, std::ranges::greater(), &HotLine::instructions);
    return std::move(result_);
  }

 private:
  // What neighbouring instructions have in common.
  struct Stretch {
    SourcePlace place;
    std::string_view symbol;
    uint64_t symbol_end = 0;
  };

  void AddCode(const ObjectCounts& counts, const ObjectImage& image) {
    Stretch at;
    for (const InstructionCount& each : counts.instructions) {
      const auto address = image.AddressOf(each.offset);
      if (!address) {
        AddTo(counts.id, {}, {}, each.times);
        continue;
      }
      if (*address >= at.symbol_end) FindSymbol(image.space(), *address, at);
      if (*address < at.place.begin || *address >= at.place.end)
        at.place = sources_.lines.Find(image.space(), *address);
      AddTo(counts.id, at.symbol, at.place, each.times);
    }
  }

  // Names nearest to the address may begin before its function's end: each symbol is asked again
  // at its end.
  void FindSymbol(const AddressSpace& space, uint64_t address, Stretch& at) {
    const auto symbol = sources_.symbolizer.Find(space, address);
    at.symbol = symbol ? symbol->function : std::string_view();
    at.symbol_end = symbol ? address - symbol->offset + symbol->size : address + 1;
  }

  void AddTo(const ObjectId& object, std::string_view symbol, const SourcePlace& place,
             uint64_t times) {
    const bool known = place.known() && place.frames.front().line != 0;
    const std::string_view inner = place.frames.empty() || place.frames.front().function.empty()
                                       ? symbol
                                       : place.frames.front().function;
    if (sources_.chooses && !sources_.chooses(inner) &&
        (symbol.empty() || !sources_.chooses(symbol)))
      return;
    const std::string_view path = object.path;
    const LineKey key =
        known ? LineKey{.file = place.frames.front().file, .line = place.frames.front().line}
              : LineKey{.function = symbol, .object = path};
    lines_[key][{known ? inner : symbol, path}] += times;
  }

  const HotLineSources& sources_;
  std::map<LineKey, std::map<Owner, uint64_t>> lines_;
  HotLines result_;
};

}  // namespace

HotLines FindHotLines(const CoverageCounts& counts, const HotLineSources& sources) {
  LineSums sums(sources);
  for (const ObjectCounts& object : counts.objects) sums.Add(object);
  return sums.Take();
}

}  // namespace flowback
