// SPDX-License-Identifier: MIT
// `flowback branches`: what branches did, by branch.
#include <CLI/CLI.hpp>

#include "cli/branches/branch_totals.h"
#include "cli/branches/branches_view.h"
#include "cli/command.h"
#include "cli/options/arguments.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_job.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

struct BranchesOptions {
  ReaderOptions reader;
  size_t top = 20;
};

class BranchesJob final : public ReadingJob {
 public:
  BranchesJob(const BranchesOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override { return PrepareBranches(opened_); }
  Status Run(Output& output) override {
    const Result<BranchReport> report = SumBranches(opened_, "branches");
    if (!report) return Fail(report.error());
    const BranchesView view{*report, opened_, names_, options_.top};
    options_.reader.json ? PrintBranchesJson(view, output) : PrintBranchesText(view, output);
    return {};
  }

  const BranchesOptions& options_;
};

}  // namespace

int RunBranches(const Arguments& arguments) {
  CLI::App app("Tells which branches ran most, were predicted worst, and took most cycles.",
               "flowback branches");
  BranchesOptions options;
  ReaderWords words;
  AddReaderOptions(app, options.reader, words);
  app.add_option("--top", options.top, "so many rows in each table (20)");
  app.get_option("--time")->group(
      "");  // not listed: it is known only to say that it does not apply
  app.footer("`flowback help output` says what is printed.");
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  if (!options.reader.time.empty())
    return Report(
        Error(ErrorCode::kUsage, "branches sums up the whole recording: --time does not apply")
            .Remedy("flowback decode --as branches --time A,B"));
  return RunReadingJob<BranchesJob>(options.reader, options);
}

}  // namespace flowback::cli
