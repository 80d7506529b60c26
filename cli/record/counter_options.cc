// SPDX-License-Identifier: MIT
#include "cli/record/counter_options.h"

#include <chrono>

#include "cli/text/quantity.h"

namespace flowback::cli {

void AddCounterOptions(CLI::App& app, CounterWords& words, RecordOptions& options) {
  app.add_flag("-s,--stat", options.events.counters,
               "Also count events per thread: task-clock, page-faults, cycles, ...");
  app.add_option("--stat-interval", words.interval,
                 "Also read the counters at this interval, e.g. 100ms");
}

Status UnderstandCounters(const CounterWords& words, RecordOptions& options) {
  if (words.interval.empty()) return {};
  const Result<uint64_t> apart = ParseDuration(words.interval, "--stat-interval");
  if (!apart) return Fail(apart.error());
  constexpr uint64_t kLeast = 1'000'000;
  if (*apart < kLeast)
    return Fail(Error(ErrorCode::kUsage,
                      "--stat-interval: counters are not read more often than "
                      "each millisecond")
                    .Remedy("--stat-interval 10ms"));
  options.events.counters = true;
  options.events.counter_interval = std::chrono::nanoseconds(*apart);
  return {};
}

}  // namespace flowback::cli
