// SPDX-License-Identifier: MIT
#include "cli/diff/diff_input.h"

#include "cli/coverage/part_losses.h"
#include "cli/locks/lock_search.h"
#include "cli/reading/losses.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/coverage_report.h"
#include "replay/coverage/coverage_parts.h"
#include "replay/coverage/report/excluded_lines.h"
#include "replay/coverage/report/used_files.h"
#include "replay/writers/locks/lock_changes.h"

namespace flowback::cli {
namespace {

// Makes the profile of counts, by way of the report that `coverage` makes of them.
struct ProfileMaker {
  const DiffOptions& options;
  ImageSearch search;
  SourceLines lines{search};

  CoverageReport ReportOf(const CoverageCounts& counts) {
    CoverageChoice choice = ChoiceOf(options.patterns);
    ExcludedLines excluded(search.symfs);
    excluded.LeaveOut(choice);
    return CoverageReport::Of(
        counts,
        {.open = [this](const ObjectId& id) { return ObjectImage::Find(id, search); },
         .search = search,
         .lines = &lines},
        choice);
  }
};

}  // namespace

Status DiffInputJob::Prepare() {
  if (Status status = opened_.OpenTrace(); !status) return status;
  opened_.KeepIndexes();
  if (Status status = opened_.OpenCode(); !status) return status;
  opened_.PrepareStreams(true);
  if (Status status = opened_.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return {};
}

bool DiffInputJob::HasCalls() const {
  return !opened_.source().samples() && opened_.source().WhyNoFlow().empty();
}

Status DiffInputJob::Run(Output&) {
  // Counts, times, calls; waits and times for these.
  const uint64_t passes = !HasCalls() ? 1 : diff_.waits ? 5 : 3;
  opened_.AddKnownLosses();
  const WorkProgress progress = opened_.ShowProgress("diff", passes * opened_.SelectedBytes());
  CoverageRequest request = opened_.CoverageInput();
  request.on_loss = [this](const DataLoss& loss) { opened_.losses().Add(loss); };
  const Result<CoverageCounts> counts = CountCoverage(request);
  if (!counts) return Fail(counts.error());
  ProfileMaker maker{.options = diff_, .search = opened_.options().search};
  for (const std::string& file : UsedFiles(opened_.code())) maker.search.files.push_back(file);
  const CoverageReport report = maker.ReportOf(*counts);
  profile_ = RunProfile::Of(*counts, report, &maker.lines, diff_.IsPart());
  profile_.input = opened_.InputName();
  profile_.has_losses = StatusOf(opened_.losses(), true) != kDone;
  if (!HasCalls()) return {};
  source_.emplace(opened_);
  const Result<const Timeline*> timeline = source_->TimelineOfThreads();
  if (!timeline) return Fail(timeline.error());
  AddCalls(**timeline, report, profile_);
  return diff_.waits ? AddWaits() : Status();
}

// Counting has met all losses, so those of the search are not added.
Status DiffInputJob::AddWaits() {
  const TimelineSources sources = opened_.TimelineInput();
  const LockOptions options{.threads = opened_.options().ThreadCount(),
                            .in_flight = opened_.options().in_flight,
                            .worst = 0};
  const Result<LockReport> report =
      FindWaits(opened_, sources, FlowsOf(opened_.threads().owners()), options);
  if (!report) return Fail(report.error());
  LocksView view;
  view.report = &*report;
  for (const LockFigure& each : FiguresOf(view).sites)
    if (each.waits != 0)
      profile_.waits.push_back({.function = each.function,
                                .caller = each.caller,
                                .waits = each.waits,
                                .trips = each.trips,
                                .waiting = each.waiting});
  profile_.has_waits = true;
  return {};
}

void DiffInputJob::Keep() const {
  if (source_ && opened_.MayKeepResults()) source_->Keep();
}

Status ReadPartProfile(const DiffOptions& options, const ReaderOptions& reader, int& losses,
                       RunProfile& profile) {
  const Result<CoverageCounts> part = ReadPart(reader.open.input);
  if (!part) return Fail(part.error());
  const int lost = WarnOfPart(part->losses, reader.open.input, true);
  losses = reader.strict ? lost : kDone;
  ProfileMaker maker{.options = options, .search = reader.search};
  const CoverageReport report = maker.ReportOf(*part);
  profile = RunProfile::Of(*part, report, &maker.lines, options.IsPart());
  profile.input = reader.open.input;
  profile.has_losses = lost != kDone;
  return {};
}

}  // namespace flowback::cli
