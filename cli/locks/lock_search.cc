// SPDX-License-Identifier: MIT
#include "cli/locks/lock_search.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/locks/saved_locks.h"
#include "cli/reading/bundle_input.h"
#include "replay/timeline/kept_times.h"
#include "replay/timeline/thread_times.h"

namespace flowback::cli {
namespace {

Error RefuseSamples(const std::string& input) {
  return Error(ErrorCode::kUsage,
               fmt::format("{}: these are samples, between which nothing is known: how long a "
                           "thread waited, and for whom, cannot be known from them",
                           input))
      .Remedy(
          "`timeline` or `branches` of it; for waits record whole flow with "
          "`flowback record -- CMD`");
}

Result<LockFigures> FiguresOfRecording(const LockWords& words) {
  const Result<ReaderOptions> reader = OptionsForInput(words.reader, words.baseline);
  if (!reader) return Fail(reader.error());
  Result<Recording> recording = OpenInput(*reader);
  if (!recording) return Fail(recording.error());
  OpenedRecording opened(*reader, *std::move(recording));
  if (Status status = OpenForLocks(opened); !status) return Fail(status.error());
  opened.AddKnownLosses();
  const TimelineSources sources = opened.TimelineInput();
  const LockOptions options{.threads = reader->ThreadCount(),
                            .in_flight = reader->in_flight,
                            .span = {},
                            .blocking = words.blocking,
                            .worst = 0};
  const Result<LockReport> report =
      SearchLocks(opened, sources, FlowsOf(opened.threads().owners()), options);
  if (!report) return Fail(report.error());
  if (Status whole = opened.CheckInputs(); !whole) return Fail(whole.error());
  opened.Keep();
  LocksView view;
  view.report = &*report;
  view.input = opened.InputName();
  return FiguresOf(view);
}

}  // namespace

Status OpenForLocks(OpenedRecording& opened) {
  if (Status status = opened.OpenTrace(); !status) return status;
  opened.KeepIndexes();
  if (opened.source().samples()) return Fail(RefuseSamples(opened.InputName()));
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(true);
  return opened.ChooseThreads();
}

Result<LockReport> FindWaits(OpenedRecording& opened, const TimelineSources& sources,
                             const std::vector<const ThreadFlow*>& flows,
                             const LockOptions& options) {
  const auto known =
      LoadTimes(opened.recording(), opened.inputs(), opened.CacheFor(CachedResult::kLasting));
  const bool is_known = known && known->losses.empty();
  return FindLocks(sources, flows, options, is_known ? &known->accounts : nullptr);
}

Result<LockReport> SearchLocks(OpenedRecording& opened, const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const LockOptions& options) {
  Result<LockReport> report = FindWaits(opened, sources, flows, options);
  if (!report) return Fail(report.error());
  for (const LossSum& sum : report->losses)
    opened.losses().Add(
        {.cause = sum.cause, .end = sum.bytes, .detail = {}, .code = sum.code, .count = sum.count});
  return report;
}

Result<LockFigures> ReadBaseline(const LockWords& words) {
  if (LooksLikeLocks(words.baseline)) return ReadSavedLocks(words.baseline);
  return FiguresOfRecording(words);
}

}  // namespace flowback::cli
