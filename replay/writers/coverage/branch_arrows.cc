// SPDX-License-Identifier: MIT
#include "replay/writers/coverage/branch_arrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace flowback {
namespace {

constexpr size_t kMostLanes = 12;
constexpr size_t kLanePixels = 7;
constexpr size_t kHeadPixels = 8;

struct Span {
  size_t begin = 0;  // rows, both included
  size_t end = 0;
};

Span SpanOf(const BranchArrow& arrow) {
  return {std::min(arrow.from, arrow.to), std::max(arrow.from, arrow.to)};
}

class Lanes {
 public:
  // kMostLanes: there is no room.
  size_t Take(const Span& span) {
    size_t lane = 0;
    while (lane < kMostLanes && !IsFree(taken_[lane], span)) ++lane;
    if (lane < kMostLanes) taken_[lane].emplace(span.begin, span.end);
    return lane;
  }

 private:
  using Taken = std::map<size_t, size_t>;  // ends by begins

  static bool IsFree(const Taken& taken, const Span& span) {
    const auto behind = taken.upper_bound(span.end);
    return behind == taken.begin() || std::prev(behind)->second < span.begin;
  }

  std::array<Taken, kMostLanes> taken_;
};

std::string ArrowSvg(const BranchArrow& arrow, size_t lane, size_t width) {
  const size_t middle = kRowPixels / 2;
  const size_t x = width - kHeadPixels - (lane + 1) * kLanePixels;
  const size_t from = arrow.from * kRowPixels + middle;
  const size_t to = arrow.to * kRowPixels + middle;
  const char* const kind = arrow.times != 0 ? "t" : arrow.is_known ? "f" : "q";
  const std::string words = arrow.times != 0 ? fmt::format("taken {}", arrow.times)
                            : arrow.is_known ? std::string("never taken")
                                             : std::string("not known: trace was lost");
  return fmt::format("<path class={} d=\"M{} {}H{}V{}H{}l-5-3v6l5-3\"><title>{}</title></path>",
                     kind, width - 2, from, x, to, width - 2, words);
}

}  // namespace

ArrowPicture DrawArrows(std::vector<BranchArrow> arrows, size_t rows) {
  std::ranges::stable_sort(arrows, {}, [](const BranchArrow& arrow) {
    const Span span = SpanOf(arrow);
    return span.end - span.begin;
  });
  Lanes lanes;
  std::vector<size_t> places;
  size_t most = 0;
  for (const BranchArrow& arrow : arrows) {
    places.push_back(lanes.Take(SpanOf(arrow)));
    if (places.back() < kMostLanes) most = std::max(most, places.back() + 1);
  }
  ArrowPicture picture;
  if (most == 0) return picture;
  picture.width = most * kLanePixels + kHeadPixels + kLanePixels;
  picture.svg = fmt::format("<svg width=\"{}\" height=\"{}\">", picture.width, rows * kRowPixels);
  for (size_t i = 0; i < arrows.size(); ++i)
    if (places[i] < kMostLanes) picture.svg += ArrowSvg(arrows[i], places[i], picture.width);
  picture.svg += "</svg>";
  return picture;
}

}  // namespace flowback
