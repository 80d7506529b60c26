// SPDX-License-Identifier: MIT
// The kernel reports a thread's counters in a READ record when the thread ends (inherit_stat), and
// counters of chosen threads on request.
#include "capture/kernel/counter_plan.h"

#include <algorithm>
#include <utility>

#include "capture/kernel/event_words.h"

namespace flowback::kernel {
namespace {

struct CounterRow {
  const char* words;
  enum Of { kSystem, kCore } of;
};
constexpr CounterRow kCounters[] = {
#define FLOWBACK_COUNTER(event, kind) {event, CounterRow::kind},
#include "capture/kernel/counters.def"
#undef FLOWBACK_COUNTER
};

bool IsThere(const std::vector<PlannedEvent>& events, const WantedEvent& wanted) {
  return std::ranges::any_of(events, [&](const PlannedEvent& event) {
    return event.attr.type == wanted.attr.type && event.attr.config == wanted.attr.config;
  });
}

PlannedEvent Counter(WantedEvent wanted, const SamplingChoice& choice, uint64_t read_format) {
  PlannedEvent event;
  event.counts = event.may_be_refused = true;
  event.attr = wanted.attr;
  event.attr.size = PERF_ATTR_SIZE_VER7;
  event.attr.sample_id_all = 1;
  // perf script requires addresses from all events but dummies, though this event never samples.
  event.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  event.attr.read_format = read_format;
  event.attr.inherit = choice.inherits;
  event.attr.disabled = 1;
  event.attr.enable_on_exec = choice.launches && !choice.delayed;
  event.wanted = std::move(wanted);
  return event;
}

bool CanCount(const PlannedEvent& event) {
  return !event.has_aux && (event.attr.read_format & PERF_FORMAT_GROUP) == 0 &&
         !event.wanted.is_dummy() && !event.wanted.is_probe && !event.wanted.is_bpf_output();
}

// Records of different layouts are told apart by their first and last word.
void SetReading(PlannedEvent& event) {
  event.counts = CanCount(event);
  event.attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  event.attr.inherit_stat = event.counts && event.attr.inherit;
  event.attr.sample_type &= ~uint64_t{PERF_SAMPLE_ID};
  event.attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
}

}  // namespace

Status AddCounters(std::vector<PlannedEvent>& events, const SamplingChoice& choice,
                   const std::vector<Pmu>& pmus, const SystemKernel& kernel) {
  uint64_t format = PERF_FORMAT_ID;
  if (!events.empty()) format = events.front().attr.read_format;
  const bool has_core = std::ranges::any_of(pmus, &Pmu::of_core);
  for (const CounterRow& row : kCounters) {
    if (row.of == CounterRow::kCore && !has_core) continue;
    auto wanted = ParseEvents(row.words, pmus, kernel);
    if (!wanted) return Fail(std::move(wanted.error()));
    for (WantedEvent& event : *wanted) {
      if (IsThere(events, event)) continue;
      event.leader.reset();
      events.push_back(Counter(std::move(event), choice, format & ~uint64_t{PERF_FORMAT_GROUP}));
    }
  }
  for (PlannedEvent& event : events) SetReading(event);
  return {};
}

}  // namespace flowback::kernel
