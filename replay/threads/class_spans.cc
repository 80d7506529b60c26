// SPDX-License-Identifier: MIT
#include "replay/threads/class_spans.h"

#include <algorithm>
#include <span>
#include <utility>

namespace flowback {
namespace {

// The number of neighbours that become one span of each class.
constexpr size_t kGroup = 4 * std::size(kAllTimeClasses);

// `group` has no holes. Where in it each class was is not known any more.
void AppendCondensed(std::span<const ClassSpan> group, std::vector<ClassSpan>& out) {
  uint64_t at = group.front().begin;
  for (const TimeClass kind : kAllTimeClasses) {
    uint64_t time = 0;
    for (const ClassSpan& span : group)
      if (span.kind == kind) time += span.end - span.begin;
    if (time == 0) continue;
    out.push_back({.kind = kind,
                   .begin = at,
                   .begin_lo = group.front().begin_lo,
                   .begin_hi = group.back().end_hi,
                   .end = at + time,
                   .end_lo = group.front().begin_lo,
                   .end_hi = group.back().end_hi});
    at += time;
  }
}

void Condense(ClassSpans& all) {
  const std::vector<ClassSpan> spans = std::exchange(all.spans, {});
  for (size_t begin = 0; begin < spans.size();) {
    size_t end = begin + 1;
    while (end < spans.size() && end - begin < kGroup && spans[end].begin == spans[end - 1].end)
      ++end;
    AppendCondensed(std::span(spans).subspan(begin, end - begin), all.spans);
    begin = end;
  }
  all.condensed = true;
}

}  // namespace

void AddSpan(ClassSpans& spans, const ClassSpan& span) {
  spans.spans.push_back(span);
  // Spans of many stays cannot be condensed; they are no more than the records.
  const size_t count = spans.spans.size();
  if (count >= kMostClassSpans && (count & (count - 1)) == 0) Condense(spans);
}

void CompleteSpans(TimeAccount& account, TimeClass rest) {
  std::vector<ClassSpan>& spans = account.spans->spans;
  std::ranges::stable_sort(spans, {}, &ClassSpan::begin);
  std::vector<ClassSpan> whole;
  whole.reserve(spans.size());
  uint64_t at = account.begin;
  const auto fill = [&](uint64_t until) {
    if (at < until)
      whole.push_back({.kind = rest,
                       .begin = at,
                       .begin_lo = at,
                       .begin_hi = at,
                       .end = until,
                       .end_lo = until,
                       .end_hi = until});
  };
  for (const ClassSpan& span : spans) {
    fill(span.begin);
    whole.push_back(span);
    at = std::max(at, span.end);
  }
  fill(account.end);
  spans = std::move(whole);
}

}  // namespace flowback
