// SPDX-License-Identifier: MIT
#include "cli/text/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace flowback::cli {
namespace {

// Longer words are no slips of the finger, and the work grows with the product of the lengths.
constexpr size_t kLongest = 256;
// "--out" for "--output"; "-" is the begin of everything.
constexpr size_t kLeastPrefix = 3;

bool BeginsWith(std::string_view longer, std::string_view shorter) {
  return shorter.size() >= kLeastPrefix && longer.starts_with(shorter);
}

// A word that stops early stands for the longer one. One that goes on behind a known word may
// rather be another one that is misspelt: "--by-tiem" is "--by-time", not "--by".
size_t Distance(std::string_view word, std::string_view known) {
  if (BeginsWith(known, word)) return 1;
  const size_t distance = EditDistance(word, known);
  return BeginsWith(word, known) ? std::min<size_t>(distance, 2) : distance;
}

}  // namespace

// Row by row, with the two rows before, which a swap of neighbours looks back to.
size_t EditDistance(std::string_view one, std::string_view other) {
  std::vector<size_t> before_last(other.size() + 1), last(other.size() + 1), row(other.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= other.size(); ++k) {
      const bool same = one[i - 1] == other[k - 1];
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (same ? 0 : 1)});
      if (i > 1 && k > 1 && one[i - 1] == other[k - 2] && one[i - 2] == other[k - 1])
        row[k] = std::min(row[k], before_last[k - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[other.size()];
}

std::string_view NearestWord(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view nearest;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& each : known) {
    if (each.size() > kLongest) continue;
    const size_t distance = Distance(word, each);
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  const std::string_view nearest = NearestWord(word, known);
  return nearest.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", nearest);
}

}  // namespace flowback::cli
