// SPDX-License-Identifier: MIT
#include "cli/diff/diff_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/diff/diff_input.h"
#include "cli/reading/bundle_input.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/written_files.h"
#include "cli/text/terminal.h"
#include "replay/coverage/coverage_parts.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

std::vector<std::string> InputsOf(const std::vector<RunProfile>& side) {
  std::vector<std::string> names;
  for (const RunProfile& run : side) names.push_back(run.input);
  return names;
}

}  // namespace

int DiffJob::Run() {
  if (Status status = CheckOutputs(); !status) return Report(status.error());
  if (const int status = AddSide(options_.old, old_); status != kDone) return status;
  if (const int status = AddSide(options_.now, now_); status != kDone) return status;
  if (Status status = CheckChoices(); !status) return Report(status.error());
  const RunComparison diff = Compare(old_, now_);
  std::vector<LimitOutcome> outcomes;
  for (const DiffLimit& limit : options_.limits) outcomes.push_back(Hold(limit, diff));
  constexpr size_t kInFiles = 120;
  constexpr size_t kNarrowest = 80;
  const bool is_terminal = options_.reader.output.empty();
  const DiffView view{
      .diff = diff,
      .old = InputsOf(old_),
      .now = InputsOf(now_),
      .limits = options_.limits,
      .outcomes = outcomes,
      .rows = options_.top,
      .min_change = options_.min_change,
      .waits = options_.waits,
      .width =
          std::max(is_terminal ? TerminalWidth(STDOUT_FILENO, kInFiles) : kInFiles, kNarrowest)};
  if (!options_.html.empty())
    WriteDiffHtml(view, *output_);
  else if (options_.reader.json)
    WriteDiffJson(view, *output_);
  else
    WriteDiffText(view, *output_);
  if (Status written = output_->Finish(); !written) return Report(written.error());
  if (Status written = WriteLimits(options_.junit, view, WriteDiffJunit); !written)
    return Report(written.error());
  if (Status written = WriteLimits(options_.sarif, view, WriteDiffSarif); !written)
    return Report(written.error());
  if (options_.reader.strict && std::ranges::any_of(diff.objects, &ObjectMatch::is_unknown))
    losses_ = std::max<int>(losses_, kImageIsMissing);
  const int judged = Judge(view);
  return judged != kDone ? judged : losses_;
}

// Before anything is read: a comparison can take long.
Status DiffJob::CheckOutputs() const {
  std::vector<std::string> inputs = options_.old;
  inputs.insert(inputs.end(), options_.now.begin(), options_.now.end());
  std::vector<WrittenFile> written = {
      {options_.html.empty() ? "-o" : "--html", options_.reader.output}};
  if (!options_.junit.empty()) written.push_back({"--junit", options_.junit});
  if (!options_.sarif.empty()) written.push_back({"--sarif", options_.sarif});
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = i + 1; j < written.size(); ++j)
      if (Status status = CheckDiffer(written[i], written[j]); !status) return status;
  return CheckWritten(written, inputs, options_.reader.force);
}

int DiffJob::AddSide(const std::vector<std::string>& inputs, std::vector<RunProfile>& side) {
  for (const std::string& input : inputs) {
    if (input == options_.reader.open.input) {
      if (const int status = AddInput(options_.reader, side); status != kDone) return status;
      continue;
    }
    const Result<ReaderOptions> reader = OptionsForInput(options_.reader, input);
    if (!reader) return Report(reader.error());
    if (const int status = AddInput(*reader, side); status != kDone) return status;
  }
  return kDone;
}

int DiffJob::AddInput(const ReaderOptions& reader, std::vector<RunProfile>& side) {
  RunProfile& profile = side.emplace_back();
  if (LooksLikePart(reader.open.input)) {
    int losses = kDone;
    if (Status status = ReadPartProfile(options_, reader, losses, profile); !status)
      return Report(status.error());
    losses_ = std::max(losses_, losses);
    if (output_) return kDone;
    Result<Output> output = Output::Open(reader.output);
    if (!output) return Report(output.error());
    output_.emplace(*std::move(output));
    return kDone;
  }
  const int status = WithInput(reader, [&](Recording recording) {
    return DiffInputJob(options_, reader, profile, std::move(recording)).ExecuteInto(output_);
  });
  if (status != kFinishedWithLosses && status != kImageIsMissing) return status;
  losses_ = std::max(losses_, status);
  return kDone;
}

// A misspelt name must not look like code that did not change.
Status DiffJob::CheckChoices() const {
  if (!options_.IsPart()) return {};
  for (const std::vector<RunProfile>* const side : {&old_, &now_})
    for (const RunProfile& run : *side)
      if (!run.functions.empty() || !run.lines.empty()) return {};
  return Fail(Error(ErrorCode::kUsage,
                    "diff: --object, --function, --include and --exclude leave no code of either "
                    "side")
                  .Remedy("names as `flowback coverage` prints them"));
}

Status DiffJob::WriteLimits(const std::string& file, const DiffView& view,
                            void (*write)(const DiffView&, TextSink&)) {
  if (file.empty()) return {};
  Result<Output> output = Output::Open(file);
  if (!output) return Fail(output.error());
  write(view, *output);
  return output->Finish();
}

// A limit that nothing was held against was missed. One that names nothing is wrong usage, which
// goes before: a misspelt name must not look like a limit that was judged.
int DiffJob::Judge(const DiffView& view) const {
  int status = kDone;
  for (size_t i = 0; i < view.limits.size(); ++i) {
    const LimitOutcome& outcome = view.outcomes[i];
    if (outcome.passed()) continue;
    if (status != kWrongUsage) status = outcome.names_nothing ? kWrongUsage : kFailed;
    const std::string text = PrintableProse(view.limits[i].text);
    if (outcome.problem.empty())
      Warn(fmt::format("--fail-if '{}': {}", text, OutcomeText(view.limits[i], outcome)));
    else
      Warn(fmt::format("--fail-if '{}': {}", text, PrintableProse(outcome.problem)),
           {outcome.remedy});
  }
  return status;
}

}  // namespace flowback::cli
