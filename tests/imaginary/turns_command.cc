// SPDX-License-Identifier: MIT
// `flowback turns`: options, one call, printing.
#include "cli/command.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "replay/writers/writers.h"
#include "tests/imaginary/turns.h"

namespace flowback::cli {
namespace {

struct TurnsOptions {
  ReaderOptions reader;
  std::string format = "text";
};

class TurnsJob final : public ReadingJob {
 public:
  TurnsJob(const TurnsOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options) {}

 private:
  Status Prepare() override {
    if (Status status = opened_.OpenTrace(); !status) return status;
    if (Status status = opened_.OpenCode(); !status) return status;
    opened_.PrepareStreams(false);
    return opened_.ChooseThreads();
  }
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override {
    opened_.AddKnownLosses();
    const Result<std::vector<ThreadTurns>> turns = CountTurns(opened_);
    if (!turns) return Fail(turns.error());
    FindWriter<TurnsWriter>(options_.format)->write({*turns}, output);
    return {};
  }

  const TurnsOptions& options_;
};

Status UnderstandFormat(const CLI::App&, TurnsOptions& options) {
  if (FindWriter<TurnsWriter>(options.format)) return {};
  return Fail(Error(ErrorCode::kUsage, "turns: no format '" + options.format + "'")
                  .Remedy("--format text or --format json"));
}

}  // namespace

int RunTurns(const Arguments& arguments) {
  return ExecuteReading<TurnsOptions>(
      arguments, {.name = "turns",
                  .summary = "Tells how often each thread's control turned back.",
                  .add_options =
                      [](CLI::App& app, TurnsOptions& options, ReaderWords&) {
                        app.add_option("--format", options.format, "text (default) or json");
                      },
                  .understand = UnderstandFormat,
                  .run =
                      [](const TurnsOptions& options) {
                        return RunReadingJob<TurnsJob>(options.reader, options);
                      }});
}

}  // namespace flowback::cli
