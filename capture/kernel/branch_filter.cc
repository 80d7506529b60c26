// SPDX-License-Identifier: MIT
#include "capture/kernel/branch_filter.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <string>

namespace flowback::kernel {
namespace {

// Newer than the headers that this may be built with.
constexpr uint64_t kBranchPrivSave = 1 << 18;
constexpr uint64_t kBranchCounters = 1 << 19;

struct Filter {
  std::string_view word;
  uint64_t bits;
};
constexpr Filter kFilters[] = {
#define FLOWBACK_BRANCH_FILTER(name, bit) {name, bit},
#include "capture/kernel/branch_filters.def"
#undef FLOWBACK_BRANCH_FILTER
};

constexpr uint64_t kLevels =
    PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;

std::string FilterWords() {
  std::string words;
  for (const Filter& filter : kFilters)
    words += (words.empty() ? "" : ", ") + std::string(filter.word);
  return words;
}

}  // namespace

Result<uint64_t> ParseBranchFilter(std::string_view words) {
  uint64_t bits = 0;
  for (std::string_view rest = words;;) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const auto filter = std::ranges::find(kFilters, word, &Filter::word);
    if (filter == std::end(kFilters))
      return Fail(Error(ErrorCode::kUsage, "-j " + std::string(words) + ": no branch filter '" +
                                               std::string(word) + "'")
                      .Remedy("known: " + FilterWords()));
    bits |= filter->bits;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return (bits & ~kLevels) == 0 ? bits | PERF_SAMPLE_BRANCH_ANY : bits;
}

std::string BranchFilterText(uint64_t filter) {
  std::string text;
  for (const Filter& one : kFilters)
    if ((filter & one.bits) != 0) text += (text.empty() ? "" : ",") + std::string(one.word);
  return text;
}

}  // namespace flowback::kernel
