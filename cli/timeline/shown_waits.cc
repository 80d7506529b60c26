// SPDX-License-Identifier: MIT
#include "cli/timeline/shown_waits.h"

#include <utility>

namespace flowback::cli {

Status ShownWaits::Find(OpenedRecording& opened, const TimelineSources& sources,
                        const std::vector<const ThreadFlow*>& flows, const TimelineOptions& options,
                        const TimeAccounts& times) {
  constexpr size_t kMostDrawn = 4000;
  const LockOptions how{.threads = options.threads,
                        .in_flight = options.in_flight,
                        .span = options.span,
                        .worst = options.spans ? kMostDrawn : 0,
                        .shares = {.wanted = true,
                                   .columns = options.columns,
                                   .most_strips = options.most_strips,
                                   .spans = options.spans}};
  Result<LockReport> report = FindLocks(sources, flows, how, &times);
  if (!report) return Fail(report.error());
  report_ = *std::move(report);
  view_.report = &report_;
  view_.threads = &opened.threads();
  view_.names = {.lines = &opened.lines(),
                 .symbolizer = &opened.symbols(),
                 .recorded_path = &sources.recorded_path};
  view_.input = opened.InputName();
  return {};
}

}  // namespace flowback::cli
