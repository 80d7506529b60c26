// SPDX-License-Identifier: MIT
// `flowback branches`: what branches did, by branch.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/branches/branches_view.h"
#include "cli/branches/memory_view.h"
#include "cli/branches/prepare.h"
#include "cli/command.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/text/status.h"
#include "replay/session/access_totals.h"
#include "replay/session/branch_totals.h"

namespace flowback::cli {
namespace {

struct BranchesOptions {
  ReaderOptions reader;
  size_t top = 20;
  std::string annotate;
  bool mem = false;
  std::optional<NamePattern> pattern;  // of functions to be shown
};

class BranchesJob final : public ReadingJob {
 public:
  BranchesJob(const BranchesOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override { return PrepareBranches(opened_); }
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override {
    const WorkProgress progress = opened_.ShowProgress("branches", opened_.SelectedBytes());
    const Result<BranchReport> report = SumBranches(opened_);
    if (!report) return Fail(report.error());
    const BranchesView view{*report, opened_, names_, options_.top};
    const bool json = options_.reader.json;
    if (json)
      PrintBranchesJson(view, output);
    else if (!options_.pattern)
      PrintBranchesText(view, output);
    return options_.pattern ? PrintAnnotated(view, *options_.pattern, json, output) : Status();
  }

  const BranchesOptions& options_;
};

// Handles memory accesses in place of branches.
class MemoryJob final : public ReadingJob {
 public:
  MemoryJob(const BranchesOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override { return PrepareAccesses(opened_); }
  Status Gather() override {
    const WorkProgress progress = opened_.ShowProgress("branches", opened_.SelectedBytes());
    Result<AccessReport> report = SumAccesses(opened_);
    if (!report) return Fail(report.error());
    report_ = *std::move(report);
    return {};
  }
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override {
    const MemoryView view{report_, opened_, names_, options_.top};
    options_.reader.json ? PrintMemoryJson(view, output) : PrintMemoryText(view, output);
    return {};
  }

  const BranchesOptions& options_;
  AccessReport report_;
};

void AddBranchesOptions(CLI::App& app, BranchesOptions& options, ReaderWords&) {
  app.add_option("--top", options.top, "Rows of each table (default 20)");
  app.add_option("--annotate", options.annotate,
                 "Show the code of these functions, block by block: a name, a pattern with * and "
                 "?, or /a regular expression/");
  app.add_flag("--mem", options.mem,
               "Show sampled memory accesses instead of branches, by instruction and cache line");
  app.footer("`flowback help output branches` describes the text and the JSON.");
}

Status UnderstandBranches(const CLI::App&, BranchesOptions& options) {
  if (!options.reader.time.empty())
    return Fail(
        Error(ErrorCode::kUsage, "branches sums up the whole recording: --time does not apply")
            .Remedy("flowback decode --as branches --time A,B"));
  if (options.annotate.empty()) return {};
  if (options.mem)
    return Fail(Error(ErrorCode::kUsage, "branches: --mem and --annotate show different things")
                    .Remedy("leave one of them out"));
  Result<NamePattern> pattern = NamePattern::Parse(options.annotate);
  if (!pattern) return Fail(pattern.error());
  options.pattern = *std::move(pattern);
  return {};
}

}  // namespace

int RunBranches(const Arguments& arguments) {
  return ExecuteReading<BranchesOptions>(
      arguments,
      {.name = "branches",
       .summary = "Shows which branches ran most, were mispredicted, and took most cycles.",
       .add_options = AddBranchesOptions,
       .hidden = {"--time"},
       .understand = UnderstandBranches,
       .run = [](const BranchesOptions& options) {
         return options.mem ? RunReadingJob<MemoryJob>(options.reader, options)
                            : RunReadingJob<BranchesJob>(options.reader, options);
       }});
}

}  // namespace flowback::cli
