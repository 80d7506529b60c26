// SPDX-License-Identifier: MIT
#include "replay/diff/aligned_lines.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace flowback {
namespace {

using LinePairs = std::vector<std::optional<uint32_t>>;

struct LineRange {
  uint32_t old_begin = 0;
  uint32_t old_end = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

class LineAligner {
 public:
  LineAligner(std::span<const std::string_view> old, std::span<const std::string_view> now)
      : old_(old), now_(now), pairs_(old.size()) {}

  LinePairs Align() {
    LineRange all{.old_end = static_cast<uint32_t>(old_.size()),
                  .end = static_cast<uint32_t>(now_.size())};
    PairEnds(all);
    LineRange gap = all;
    for (const auto& [old, now] : Anchors(all)) {
      PairWithin({gap.old_begin, old, gap.begin, now});
      pairs_[old] = now;
      gap.old_begin = old + 1;
      gap.begin = now + 1;
    }
    PairWithin(gap);
    return std::move(pairs_);
  }

 private:
  using Anchor = std::pair<uint32_t, uint32_t>;

  // Pairs equal lines at both ends, and takes them off the range.
  void PairEnds(LineRange& range) {
    while (range.old_begin < range.old_end && range.begin < range.end &&
           old_[range.old_begin] == now_[range.begin])
      pairs_[range.old_begin++] = range.begin++;
    while (range.old_begin < range.old_end && range.begin < range.end &&
           old_[range.old_end - 1] == now_[range.end - 1])
      pairs_[--range.old_end] = --range.end;
  }

  std::vector<Anchor> Anchors(const LineRange& range) const;
  void PairWithin(LineRange range);

  std::span<const std::string_view> old_;
  std::span<const std::string_view> now_;
  LinePairs pairs_;
};

// The longest ascending choice among the lines that are unique in each text.
std::vector<LineAligner::Anchor> LineAligner::Anchors(const LineRange& range) const {
  struct Seen {
    uint32_t old_count = 0;
    uint32_t count = 0;
    uint32_t at = 0;
  };
  std::unordered_map<std::string_view, Seen> seen;
  for (uint32_t i = range.old_begin; i < range.old_end; ++i) ++seen[old_[i]].old_count;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Seen& line = seen[now_[i]];
    ++line.count;
    line.at = i;
  }
  std::vector<Anchor> unique;
  for (uint32_t i = range.old_begin; i < range.old_end; ++i) {
    const Seen& line = seen[old_[i]];
    if (line.old_count == 1 && line.count == 1) unique.emplace_back(i, line.at);
  }
  std::vector<size_t> tails;  // by length: the last anchor of the best choice
  std::vector<size_t> before(unique.size(), SIZE_MAX);
  for (size_t i = 0; i < unique.size(); ++i) {
    const auto place = std::ranges::lower_bound(tails, unique[i].second, {},
                                                [&](size_t tail) { return unique[tail].second; });
    if (place != tails.begin()) before[i] = *(place - 1);
    if (place == tails.end())
      tails.push_back(i);
    else
      *place = i;
  }
  std::vector<Anchor> anchors;
  for (size_t i = tails.empty() ? SIZE_MAX : tails.back(); i != SIZE_MAX; i = before[i])
    anchors.push_back(unique[i]);
  std::ranges::reverse(anchors);
  return anchors;
}

// Pairs each line with the next equal one: between two anchors little is left.
void LineAligner::PairWithin(LineRange range) {
  PairEnds(range);
  uint32_t next = range.begin;
  for (uint32_t i = range.old_begin; i < range.old_end; ++i) {
    constexpr uint32_t kFurthest = 200;  // so that a long gap costs no square of it
    const uint32_t end = std::min(range.end, next + kFurthest);
    const auto* const first = now_.data() + next;
    const auto* const found = std::find(first, now_.data() + end, old_[i]);
    if (found == now_.data() + end) continue;
    pairs_[i] = next + static_cast<uint32_t>(found - first);
    next = *pairs_[i] + 1;
  }
}

}  // namespace

std::vector<std::optional<uint32_t>> AlignLines(std::span<const std::string_view> old,
                                                std::span<const std::string_view> now) {
  return LineAligner(old, now).Align();
}

}  // namespace flowback
