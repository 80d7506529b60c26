// SPDX-License-Identifier: MIT
// `flowback coverage`: what ran of the code that there is, and what never did.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/coverage/counted_input.h"
#include "cli/coverage/coverage_changes.h"
#include "cli/coverage/coverage_options.h"
#include "cli/coverage/coverage_words.h"
#include "cli/coverage/part_output.h"
#include "cli/coverage/recorded_command.h"
#include "cli/coverage/source_reader.h"
#include "cli/help/completion.h"
#include "cli/options/arguments.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"
#include "flowback/capture/open.h"
#include "flowback/replay/coverage_parts.h"

namespace flowback::cli {
namespace {

// One run of the command.
class CoverageJob {
 public:
  explicit CoverageJob(const CoverageOptions& options)
      : options_(options), search_(options.reader.search) {}

  int Run();

 private:
  // Each returns an exit status. What is not kDone ends the work, but for losses.
  int AddInput(const ReaderOptions& reader);
  int AddPart(const std::string& path);
  int CountInput(const ReaderOptions& reader, CountedInput& input);
  int WriteReport();
  int WriteThreads(CountedInput& input);
  Status Save() const;
  Status OpenOutput(const ReaderOptions& reader, const CountedInput& input);
  CoverageReport ReportOf(const CoverageCounts& counts, SourceLines& lines) const;
  void Write(const CoverageReport& report, const CoverageCounts& counts, SourceLines& lines,
             const CoverageChanges* changes = nullptr);
  void WarnOfSources(const CoverageReport& report) const;
  int CheckGoal(const CoverageReport& report) const;
  void UseFilesOf(const CountedInput& input);

  const CoverageOptions& options_;
  ImageSearch search_;  // with the files that decoding used
  CoverageCounts counts_;
  std::optional<Output> output_;
  int losses_ = kDone;
};

int CoverageJob::Run() {
  if (int status = AddInput(options_.reader); status != kDone) return status;
  for (const std::string& path : options_.more) {
    ReaderOptions reader = options_.reader;
    reader.open.input = path;
    if (int status = AddInput(reader); status != kDone) return status;
  }
  if (Status saved = Save(); !saved) return Report(saved.error());
  const int status = options_.by_thread ? kDone : WriteReport();
  if (Status written = output_->Finish(); !written) return Report(written.error());
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
    Result<Output> output =
        Output::Open(options_.reader.output, [](const std::string&) { return Status(); });
    if (!output) return Report(output.error());
    output_.emplace(*std::move(output));
  }
  counts_.Add(*part);
  return kDone;
}

int CoverageJob::AddInput(const ReaderOptions& reader) {
  if (LooksLikePart(reader.open.input)) return AddPart(reader.open.input);
  Result<Recording> recording = OpenInput(reader);
  if (!recording) return Report(recording.error(), reader.InputName());
  WarnOfDamage(*recording);
  CountedInput input(reader, std::move(*recording));
  if (Status status = input.Prepare(); !status) return Report(status.error());
  if (Status status = OpenOutput(reader, input); !status) return Report(status.error());
  return CountInput(reader, input);
}

Status CoverageJob::OpenOutput(const ReaderOptions& reader, const CountedInput& input) {
  if (output_)
    return CheckMayOverwrite(reader.output, "the output", reader, input.opened().recording(),
                             &input.opened().code());
  Result<Output> output =
      cli::OpenOutput(reader, input.opened().recording(), &input.opened().code());
  if (!output) return Fail(output.error());
  output_.emplace(*std::move(output));
  return {};
}

int CoverageJob::CountInput(const ReaderOptions& reader, CountedInput& input) {
  UseFilesOf(input);
  if (options_.by_thread) {
    if (int status = WriteThreads(input); status != kDone) return status;
  } else {
    Result<CoverageCounts> counts = input.Count(input.threads());
    if (!counts) return Report(counts.error(), reader.InputName());
    if (Status whole = input.opened().CheckInputs(); !whole) return Report(whole.error());
    counts_.Add(*counts);
  }
  const int status = input.Finish();
  if (status != kFinishedWithLosses && status != kImageIsMissing) return status;
  losses_ = status;
  return kDone;
}

void CoverageJob::UseFilesOf(const CountedInput& input) {
  std::set<std::string> known(search_.files.begin(), search_.files.end());
  for (const ImageStatus& image : input.opened().code().images())
    if (image.usable && known.insert(image.file).second) search_.files.push_back(image.file);
}

int CoverageJob::WriteThreads(CountedInput& input) {
  SourceLines lines(search_);
  for (const StreamOwner& thread : input.threads()) {
    Result<CoverageCounts> counts = input.Count({thread});
    if (!counts) return Report(counts.error());
    output_->Write(fmt::format("thread {}\n", input.NameOf(thread)));
    Write(ReportOf(*counts, lines), *counts, lines);
    output_->Write("\n");
  }
  return kDone;
}

CoverageReport CoverageJob::ReportOf(const CoverageCounts& counts, SourceLines& lines) const {
  const CoverageSources sources{
      .open = [this](const ObjectId& id) { return ObjectImage::Find(id, search_); },
      .search = search_,
      .lines = &lines};
  return CoverageReport::Of(counts, sources, ChoiceOf(options_));
}

void CoverageJob::Write(const CoverageReport& report, const CoverageCounts& counts,
                        SourceLines& lines, const CoverageChanges* changes) {
  const CoverageView view{.report = report,
                          .counts = counts,
                          .lines = &lines,
                          .source_root = options_.source_root,
                          .rows = options_.top,
                          .sort = options_.sort,
                          .changes = changes};
  options_.writer->write(view, *output_);
}

int CoverageJob::WriteReport() {
  SourceLines lines(search_);
  const CoverageReport report = ReportOf(counts_, lines);
  if (options_.baseline.empty()) {
    Write(report, counts_, lines);
  } else {
    const Result<CoverageCounts> old = ReadPart(options_.baseline);
    if (!old) return Report(old.error());
    const CoverageChanges changes = CoverageChanges::Between(ReportOf(*old, lines), report);
    Write(report, counts_, lines, &changes);
  }
  for (const std::string& problem : lines.Problems()) Warn(problem);
  WarnOfSources(report);
  if (options_.pattern && std::ranges::all_of(report.objects, [](const ObjectCoverage& object) {
        return object.functions.empty();
      }))
    Warn(fmt::format("--function {}: no object has such a function", options_.function),
         {"its name as the report prints it, a pattern ('str*'), or a regular expression "
          "('/^str/')"});
  if (options_.reader.strict && report.shares.instructions.unknown != 0)
    losses_ = kFinishedWithLosses;
  return CheckGoal(report);
}

// Lines of a source that was changed since it was compiled are not those that ran.
void CoverageJob::WarnOfSources(const CoverageReport& report) const {
  const SourceReader reader(options_.source_root);
  std::set<std::pair<uint32_t, const ObjectCoverage*>> looked_at;
  for (const ObjectCoverage& object : report.objects) {
    if (object.image == nullptr) continue;
    for (const FunctionCoverage& function : object.functions) {
      if (function.at.line == 0 || !looked_at.insert({function.at.file, &object}).second) continue;
      const std::string source = reader.Find(report.files[function.at.file]);
      if (!source.empty() && IsNewer(source, object.image->file()))
        Warn(fmt::format("{} was changed after {} was built: its lines may be others", source,
                         object.image->file()),
             {"--source-root with the source that it was built of"});
    }
  }
}

int CoverageJob::CheckGoal(const CoverageReport& report) const {
  if (!options_.goal) return kDone;
  const CoverageShare& share = ShareFor(*options_.goal, report.shares);
  const double percent = PercentNumber(share);
  if (percent >= options_.goal->percent) return kDone;
  Warn(fmt::format("{:.1f} % of the {} were executed, less than {} %", percent,
                   NameFor(*options_.goal, report.shares), options_.goal->percent));
  return kFailed;
}

// The command's own status counts, as with `record`.
int CoverCommand(const Arguments& command, CoverageOptions& options, ReaderWords& words) {
  if (command.empty() || !words.input.empty() || !words.input_option.empty())
    return Report(Error(ErrorCode::kUsage, command.empty()
                                               ? "coverage: no command behind --"
                                               : "coverage: a recording and a command are named")
                      .Remedy("flowback coverage [options] -- CMD, or a recording alone"));
  const Result<RecordedCommand> recorded = RecordedCommand::Run(command);
  if (!recorded) return Report(recorded.error());
  if (!recorded->was_recorded()) return recorded->status();
  words.input = recorded->recording();
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  const int status = CoverageJob(options).Run();
  return recorded->status() != kDone ? recorded->status() : status;
}

}  // namespace

int RunCoverage(const Arguments& arguments) {
  CLI::App app("Tells what ran of the code that there is, and what never did.",
               "flowback coverage");
  CoverageOptions options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  AddCoverageOptions(app, options, words);
  if (const std::optional<int> status = CompleteRecorded(app, arguments, words, options.reader))
    return *status;
  const auto end = std::ranges::find(arguments, "--");
  if (const std::optional<int> status = Parse(app, Arguments(arguments.begin(), end)))
    return *status;
  if (Status status = UnderstandCoverage(options); !status) return Report(status.error());
  if (end != arguments.end())
    return CoverCommand(Arguments(end + 1, arguments.end()), options, words);
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  return CoverageJob(options).Run();
}

}  // namespace flowback::cli
