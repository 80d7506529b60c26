// SPDX-License-Identifier: MIT
// `flowback export`: what a recording tells, in another program's format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/branches/branch_totals.h"
#include "cli/command.h"
#include "cli/export/compiler_profile.h"
#include "cli/export/export_formats.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/text/status.h"
#include "flowback/model/call_samples.h"

namespace flowback::cli {
namespace {

struct ExportOptions {
  ReaderOptions reader;
  std::string format;
  std::string object;
};

class ExportJob final : public ReadingJob {
 public:
  ExportJob(const ExportOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override {
    const Result<const ExportFormat*> format = FindExportFormat(options_.format);
    if (!format) return Fail(format.error());
    format_ = *format;
    return format_->of == ExportFormat::kSamples ? PrepareSamples() : PrepareBranches(opened_);
  }
  Status PrepareSamples() {
    if (CallSamplesOf(opened_.recording().config) == nullptr)
      return Fail(Error(ErrorCode::kUnsupported, opened_.recording().path +
                                                     ": has no samples of calls, which --to " +
                                                     options_.format + " is of")
                      .Remedy("record some with `perf record -g`, or see `flowback timeline`"));
    return opened_.LoadCode();
  }
  Status Gather() override {
    if (format_->of != ExportFormat::kProfile) return {};
    Result<CompilerProfile> profile = MakeCompilerProfile(opened_, options_.object);
    if (!profile) return Fail(profile.error());
    profile_ = *std::move(profile);
    return {};
  }
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override { return format_->write({opened_, &profile_}, output); }

  const ExportOptions& options_;
  const ExportFormat* format_ = nullptr;
  CompilerProfile profile_;
};

// A profile is of one file; what else is written is of all that ran.
Status CheckObject(const ExportOptions& options) {
  const auto format = FindExportFormat(options.format);
  if (!format) return Fail(format.error());
  if (options.object.empty() || (*format)->of == ExportFormat::kProfile) return {};
  std::string profiles;
  for (const ExportFormat& each : ExportFormats())
    if (each.of == ExportFormat::kProfile)
      profiles += fmt::format("{}{}", profiles.empty() ? "" : ", ", each.name);
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--object does not apply to --to {}, which is of all code that ran",
                                options.format))
                  .Remedy("leave --object out; it chooses the file of a profile: " + profiles));
}

void AddExportOptions(CLI::App& app, ExportOptions& options, ReaderWords&) {
  std::string formats;
  for (const ExportFormat& format : ExportFormats())
    formats += fmt::format("{}{} ({})", formats.empty() ? "" : ", ", format.name, format.summary);
  app.add_option("--to", options.format, "the format: " + formats);
  app.add_option("--object", options.object,
                 "the file of code that a profile is of: its path or its last part");
}

Status UnderstandExport(const CLI::App&, ExportOptions& options) {
  if (Status status = CheckObject(options); !status) return status;
  if (options.reader.time.empty() && !options.reader.json) return {};
  return Fail(Error(ErrorCode::kUsage,
                    "export writes the whole recording in the format that --to names: "
                    "--time and --json do not apply")
                  .Remedy("flowback branches --json tells the same as JSON lines"));
}

}  // namespace

int RunExport(const Arguments& arguments) {
  return ExecuteReading<ExportOptions>(
      arguments, {.name = "export",
                  .summary = "Writes what a recording tells in another program's format.",
                  .add_options = AddExportOptions,
                  .hidden = {"--time", "--json"},
                  .understand = UnderstandExport,
                  .run = [](const ExportOptions& options) {
                    return RunReadingJob<ExportJob>(options.reader, options);
                  }});
}

}  // namespace flowback::cli
