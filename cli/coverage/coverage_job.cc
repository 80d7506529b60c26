// SPDX-License-Identifier: MIT
#include "cli/coverage/coverage_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "cli/coverage/input_job.h"
#include "cli/coverage/part_losses.h"
#include "cli/coverage/part_output.h"
#include "cli/reading/bundle_input.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/written_files.h"
#include "flowback/capture/open.h"
#include "flowback/writers.h"
#include "replay/coverage/coverage_parts.h"
#include "replay/coverage/report/changed_sources.h"
#include "replay/coverage/report/coverage_changes.h"
#include "replay/coverage/report/excluded_lines.h"
#include "replay/coverage/report/used_files.h"
#include "replay/writers/text/first_few.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::string NameOf(const StreamOwner& thread, const Threads& threads) {
  if (thread.tid < 0) return thread.label;
  const std::string_view comm = threads.CommAt(thread.tid, 0).comm;
  return comm.empty() ? thread.label : fmt::format("{} {}", thread.label, Printable(comm));
}

}  // namespace

Status CoverageJob::CheckOutputs() const {
  std::vector<std::string> inputs = options_.more;
  inputs.push_back(options_.reader.open.input);
  if (!options_.baseline.empty()) inputs.push_back(options_.baseline);
  const WrittenFile report{"-o", options_.reader.output};
  const WrittenFile part{"--save", options_.save};
  if (!options_.save.empty()) {
    if (Status status = CheckDiffer(report, part); !status) return status;
    const std::span baseline(&options_.baseline, 1);
    if (Status status = CheckIsNotRead(part, baseline); !status) return status;
  }
  return CheckWritten({&report, 1}, inputs, options_.reader.force);
}

int CoverageJob::Run() {
  if (Status status = CheckOutputs(); !status) return Report(status.error());
  if (int status = AddInput(options_.reader); status != kDone) return status;
  for (const std::string& path : options_.more) {
    const Result<ReaderOptions> reader = OptionsForInput(options_.reader, path);
    if (!reader) return Report(reader.error());
    if (int status = AddInput(*reader); status != kDone) return status;
  }
  return Finish();
}

int CoverageJob::Finish() {
  if (Status saved = Save(); !saved) return Report(saved.error());
  const int status = options_.by_thread ? kDone : WriteReport();
  if (Status written = output_->Finish(status == kDone); !written) return Report(written.error());
  return status != kDone ? status : losses_;
}

// A part that was asked for is there even where the report fails.
Status CoverageJob::Save() const {
  return options_.save.empty() ? Status() : WritePart(counts_, options_.save);
}

int CoverageJob::AddPart(const std::string& path) {
  Result<CoverageCounts> part = ReadPart(path);
  if (!part) return Report(part.error());
  if (!output_) {
    Result<Output> output = Output::Open(options_.reader.output);
    if (!output) return Report(output.error());
    output_.emplace(*std::move(output));
  }
  counts_.Add(*part);
  dates_.Add(path);
  losses_ = std::max(losses_, WarnOfPart(part->losses, path, options_.reader.strict));
  return kDone;
}

int CoverageJob::AddInput(const ReaderOptions& reader) {
  if (LooksLikePart(reader.open.input)) return AddPart(reader.open.input);
  const int status = WithInput(reader, [&](Recording recording) {
    return CoverageInputJob(*this, reader, std::move(recording)).ExecuteInto(output_);
  });
  if (status != kFinishedWithLosses && status != kImageIsMissing) return status;
  losses_ = std::max(losses_, status);
  return kDone;
}

Status CoverageJob::Count(const OpenedRecording& opened, const CoverageRequest& request,
                          Output& output) {
  dates_.Add(opened.options().open.input);
  UseFilesOf(opened.code());
  if (options_.by_thread) return WriteThreads(opened.threads(), request, output);
  const Result<CoverageCounts> counts = CountCoverage(request);
  if (!counts) return Fail(counts.error());
  counts_.Add(*counts);
  counts_.losses.Add(opened.losses().Kept());
  return {};
}

void CoverageJob::UseFilesOf(const RecordingCode& code) {
  for (const std::string& file : UsedFiles(code))
    if (known_files_.insert(file).second) search_.files.push_back(file);
}

Status CoverageJob::WriteThreads(const Threads& threads, const CoverageRequest& request,
                                 Output& output) {
  const Result<std::vector<CoverageCounts>> counts = CountCoverageByOwner(request);
  if (!counts) return Fail(counts.error());
  SourceLines lines(search_);
  CoverageCounts all;
  for (const CoverageCounts& each : *counts) all.Add(each);
  const auto unmatched = FindUnmatched(options_, all, ReportOf(all, lines));
  if (Status status = CheckChoices(unmatched); !status) return status;
  for (size_t i = 0; i < counts->size(); ++i) {
    output.Write(fmt::format("thread {}\n", NameOf(request.owners[i], threads)));
    Write(ReportOf((*counts)[i], lines), (*counts)[i], lines, nullptr, output);
    output.Write("\n");
  }
  return {};
}

Status CoverageJob::AddProcess(const std::string& recording) {
  ReaderOptions reader = options_.reader;
  reader.open.input = recording;
  Result<Recording> read = OpenInput(reader);
  if (!read) return Fail(read.error());
  dates_.Add(recording);
  if (read->streams.empty()) return {};
  OpenedRecording opened(reader, *std::move(read));
  if (Status status = opened.OpenTrace(); !status) return status;
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(false);
  if (!opened.SelectThreads()) return {};
  opened.AddKnownLosses();
  CoverageRequest request = opened.CoverageInput();
  request.on_loss = [&opened](const DataLoss& loss) { opened.losses().Add(loss); };
  const Result<CoverageCounts> counts = CountCoverage(request);
  if (!counts) return Fail(counts.error());
  if (Status whole = opened.CheckInputs(); !whole) return whole;
  counts_.Add(*counts);
  ++counted_processes_;
  UseFilesOf(opened.code());
  opened.Keep();
  process_losses_.Add(opened.losses());
  for (const ImageStatus* image : opened.losses().images().Missed(opened.code().images()))
    missing_images_.insert(image->path);
  return {};
}

int CoverageJob::RunOfProcesses(uint64_t unrecorded) {
  if (Status selected = CheckSelected(); !selected) return Report(selected.error());
  counts_.recordings = 1;  // however they were divided
  counts_.AddLoss(Name(LossCause::kRecordsLost), unrecorded);
  process_losses_.AddUnrecorded(unrecorded);
  counts_.losses = process_losses_.Kept();
  Result<Output> output = OpenOutput(options_.reader, Recording(), nullptr);
  if (!output) {
    if (Status saved = Save(); !saved) Report(saved.error());
    return Report(output.error());
  }
  output_.emplace(*std::move(output));
  WarnOfProcesses();
  losses_ = StatusOf(process_losses_, options_.reader.strict);
  return Finish();
}

Status CoverageJob::CheckSelected() const {
  if (counted_processes_ != 0) return {};
  return Fail(
      Error(ErrorCode::kUsage, "--tid, --comm and --cpu-list leave none of the command's processes")
          .Remedy("--comm NAME, with the name of a program"));
}

void CoverageJob::WarnOfProcesses() const {
  WarnOfLosses(process_losses_, "coverage");
  if (missing_images_.empty()) return;
  Warn(fmt::format("coverage: no code image of {}", FirstFew(missing_images_, ", and ")));
}

// By default, recorded paths lie under --symfs.
const std::string& CoverageJob::SourceRoot() const {
  const std::string& root = options_.source_root;
  return root.empty() ? options_.reader.search.symfs : root;
}

CoverageReport CoverageJob::ReportOf(const CoverageCounts& counts, SourceLines& lines) const {
  const CoverageSources sources{
      .open = [this](const ObjectId& id) { return ObjectImage::Find(id, search_); },
      .search = search_,
      .lines = &lines};
  CoverageChoice choice = ChoiceOf(options_.patterns);
  ExcludedLines excluded(SourceRoot());
  excluded.LeaveOut(choice);
  return CoverageReport::Of(counts, sources, choice);
}

void CoverageJob::Write(const CoverageReport& report, const CoverageCounts& counts,
                        SourceLines& lines, const CoverageChanges* changes, Output& output) {
  const CoverageView view{.report = report,
                          .counts = counts,
                          .lines = &lines,
                          .source_root = SourceRoot(),
                          .names_under = options_.source_root,
                          .rows = options_.top,
                          .sort = options_.sort,
                          .date = dates_.Newest(),
                          .changes = changes};
  options_.writer->write(view, output);
}

// A name that fits nothing of several is worth a warning. A choice of nothing is no report.
Status CoverageJob::CheckChoices(const std::vector<UnmatchedChoice>& unmatched) {
  for (const UnmatchedChoice& each : unmatched)
    if (each.leaves_nothing)
      return Fail(Error(ErrorCode::kUsage, each.problem).Remedy(each.remedy));
  for (const UnmatchedChoice& each : unmatched) Warn(each.problem, {each.remedy});
  return {};
}

int CoverageJob::WriteReport() {
  SourceLines lines(search_);
  const CoverageReport report = ReportOf(counts_, lines);
  const std::vector<UnmatchedChoice> unmatched = FindUnmatched(options_, counts_, report);
  if (Status status = CheckChoices(unmatched); !status) return Report(status.error());
  if (options_.baseline.empty()) {
    Write(report, counts_, lines, nullptr, *output_);
  } else {
    const Result<CoverageCounts> old = ReadPart(options_.baseline);
    if (!old) return Report(old.error());
    const CoverageChanges changes = CoverageChanges::Between(ReportOf(*old, lines), report);
    Write(report, counts_, lines, &changes, *output_);
  }
  for (const std::string& problem : lines.Problems()) Warn(problem);
  WarnOfSources(report);
  if (options_.reader.strict && losses_ == kDone && report.shares.instructions.unknown != 0)
    losses_ = kFinishedWithLosses;
  return CheckGoal(report, !unmatched.empty());
}

// Lines of a source that was changed since it was compiled are not those that ran.
void CoverageJob::WarnOfSources(const CoverageReport& report) const {
  for (const ChangedSource& each : ChangedSources(report, SourceReader(SourceRoot())))
    Warn(fmt::format("{} was changed after {} was built: its lines may be others", each.source,
                     each.object),
         {"--source-root with the source that it was built of"});
}

// A goal that nothing was held against is not reached.
int CoverageJob::CheckGoal(const CoverageReport& report, bool any_unmatched) const {
  if (!options_.goal) return kDone;
  const CoverageMetric& metric = MetricFor(*options_.goal, report.shares);
  const CoverageShare& share = report.shares.*metric.share;
  if (share.total == 0) {
    Warn(fmt::format("--fail-under {}: no {} are known of the code that was chosen",
                     options_.fail_under, metric.name),
         {"the report says of each object what is known of it; lines need debug information"});
    return kFailed;
  }
  if (any_unmatched) {
    Warn(
        fmt::format("--fail-under {}: not all code that was chosen is there", options_.fail_under));
    return kFailed;
  }
  const double percent = PercentNumber(share);
  if (percent >= options_.goal->percent) return kDone;
  Warn(fmt::format("{:.1f} % of the {} were executed, less than {} %", percent, metric.name,
                   options_.goal->percent));
  return kFailed;
}

}  // namespace flowback::cli
