// SPDX-License-Identifier: MIT
// How the instances' values are distributed, as columns of signs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/spikes/value_columns.h"
#include "replay/writers/text/wrapped.h"

namespace flowback {
namespace {

constexpr size_t kRows = 6;
constexpr size_t kMostColumns = 100;

// How many values each column has.
class Columns {
 public:
  Columns(const std::vector<uint64_t>& sorted, size_t count)
      : columns_(sorted, count), counts_(count) {
    for (const uint64_t value : sorted) ++counts_[Of(value)];
  }
  size_t Of(uint64_t value) const { return columns_.Of(value); }
  size_t size() const { return counts_.size(); }
  uint64_t most() const { return *std::ranges::max_element(counts_); }
  // Rows that are filled: a single value is seen beside many.
  size_t Height(size_t column) const {
    if (counts_[column] == 0) return 0;
    const double share =
        std::log1p(static_cast<double>(counts_[column])) / std::log1p(static_cast<double>(most()));
    return std::max<size_t>(1, static_cast<size_t>(std::lround(share * kRows)));
  }

 private:
  ValueColumns columns_;
  std::vector<uint64_t> counts_;
};

// "50", "90", ... below the columns of the quantiles; of several at one place the first stays.
std::string QuantileLine(const Distribution& of, const Columns& columns) {
  std::string line(columns.size() + 6, ' ');
  for (const auto& [value, name] :
       {std::pair(of.p50, "p50"), std::pair(of.p90, "p90"), std::pair(of.p99, "p99"),
        std::pair(of.p999, "p99.9"), std::pair(of.max, "max")}) {
    const size_t at = columns.Of(value);
    const std::string_view text(name);
    if (at + text.size() > line.size()) continue;
    const size_t begin = at == 0 ? 0 : at - 1;
    const std::string_view there = std::string_view(line).substr(begin, text.size() + 2);
    if (there.find_first_not_of(' ') == std::string_view::npos) line.replace(at, text.size(), text);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void AppendHistogram(const SpikesView& view, std::string& out) {
  const SpikeReport& report = *view.report;
  if (report.sorted.size() < 2 || report.sorted.front() == report.sorted.back()) return;
  const size_t width =
      std::clamp<size_t>(view.width - std::min<size_t>(view.width, 10), 20, kMostColumns);
  const Columns columns(report.sorted, width);
  out += '\n';
  for (size_t row = kRows; row > 0; --row) {
    std::string line = "  ";
    for (size_t i = 0; i < columns.size(); ++i) line += columns.Height(i) >= row ? '#' : ' ';
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  std::string marks(columns.size(), '-');
  for (const uint64_t value : report.sorted)
    if (report.slow != 0 && value > report.slowness.threshold) marks[columns.Of(value)] = '^';
  out += "  " + marks + "\n  " + QuantileLine(report.distribution, columns) + '\n';
  const auto words = [&](uint64_t value) { return MeasureWords(view, static_cast<double>(value)); };
  const Distribution& of = report.distribution;
  const std::string line =
      fmt::format("min {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}{}", words(of.min),
                  words(of.p50), words(of.p90), words(of.p99), words(of.p999), words(of.max),
                  report.slow == 0 ? "" : "; ^ marks the slow ones");
  out += "  " + Wrapped(line, 4, view.width - 2) + '\n';
}

}  // namespace flowback
