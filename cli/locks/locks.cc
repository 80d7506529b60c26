// SPDX-License-Identifier: MIT
// `flowback locks`: which threads waited for each other, where, for how long, and who held the
// lock.
#include "replay/locks/locks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/locks/lock_search.h"
#include "cli/locks/lock_words.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/stream_report.h"
#include "cli/reading/time_words.h"
#include "cli/reading/written_files.h"
#include "cli/text/status.h"
#include "cli/text/terminal.h"
#include "replay/writers/locks/lock_changes.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/writers.h"

namespace flowback::cli {
namespace {

// One run of the command.
class LocksJob final : public ReadingJob {
 public:
  // `is_over` becomes true where the threads wait for more than --fail-over allows.
  LocksJob(const LockWords& words, bool* is_over, Recording recording)
      : ReadingJob(words.reader, std::move(recording)), words_(words), is_over_(*is_over) {}

 private:
  Status Prepare() override;
  std::string OutputPath() const override { return words_.svg.empty() ? words_.html : words_.svg; }
  Status Run(Output& output) override;
  bool MeetsAllLosses() const override { return true; }
  Status JudgeResult() override;

  Status OpenBaseline();
  LockOptions Options() const;
  LocksView View() const;

  const LockWords& words_;
  bool& is_over_;
  TimeSpan span_;
  std::optional<LockFigures> baseline_;
  std::function<std::string(const std::string& file)> recorded_path_;
  std::optional<LockReport> report_;
};

Status LocksJob::Prepare() {
  if (Status status = OpenForLocks(opened_); !status) return status;
  Result<TimeSpan> span = ParseTimeSpan(words_.reader.time, opened_.recording(), opened_.clock());
  if (!span) return Fail(span.error());
  span_ = *span;
  if (Status status = CheckSpan(opened_.recording(), opened_.clock(), span_, words_.reader);
      !status)
    return status;
  WarnOfSharedStreams(opened_.recording(), opened_.threads(), opened_.InputName());
  return OpenBaseline();
}

Status LocksJob::OpenBaseline() {
  if (words_.baseline.empty()) return {};
  Result<LockFigures> figures = ReadBaseline(words_);
  if (!figures) return Fail(figures.error());
  baseline_ = *std::move(figures);
  return {};
}

LockOptions LocksJob::Options() const {
  constexpr size_t kColumns = 1000;
  constexpr size_t kMostInPicture = 4000;
  LockOptions options{.threads = words_.reader.ThreadCount(),
                      .in_flight = words_.reader.in_flight,
                      .span = span_,
                      .paths = words_.paths,
                      .blocking = words_.blocking};
  if (!words_.IsPicture()) return options;
  options.columns = kColumns;
  options.worst = kMostInPicture;
  return options;
}

LocksView LocksJob::View() const {
  constexpr size_t kInFiles = 120;
  constexpr size_t kNarrowest = 80;
  LocksView view;
  view.report = &*report_;
  view.threads = &opened_.threads();
  view.names = {
      .lines = &names_.lines, .symbolizer = &names_.symbolizer, .recorded_path = &recorded_path_};
  view.input = opened_.InputName();
  view.all = words_.all;
  view.paths = words_.paths;
  view.rows = words_.top;
  const bool is_terminal = words_.reader.output.empty();
  view.width = is_terminal ? TerminalWidth(STDOUT_FILENO, kInFiles) : kInFiles;
  view.width = std::max(view.width, kNarrowest);
  return view;
}

Status LocksJob::Run(Output& output) {
  opened_.AddKnownLosses();
  // For the times and for the waits.
  constexpr uint64_t kPasses = 2;
  const WorkProgress progress = opened_.ShowProgress("locks", kPasses * opened_.trace_bytes());
  const TimelineSources sources = opened_.TimelineInput();
  recorded_path_ = sources.recorded_path;
  Result<LockReport> report =
      SearchLocks(opened_, sources, FlowsOf(opened_.threads().owners()), Options());
  if (!report) return Fail(report.error());
  report_ = *std::move(report);
  LocksView view = View();
  std::optional<LockChanges> changes;
  if (baseline_) changes = LockChanges::Between(*baseline_, FiguresOf(view));
  if (changes) view.changes = &*changes;
  FindWriter<LocksWriter>(words_.Format())->write(view, output);
  return {};
}

// A goal that nothing was held against is not reached.
Status LocksJob::JudgeResult() {
  if (!report_ || !words_.limit) return {};
  const LockTotals totals = TotalsOf(*report_);
  if (!report_->has_times) {
    is_over_ = true;
    Warn(fmt::format("{}: --fail-over {}: the trace has no times to hold it against",
                     opened_.InputName(), words_.fail_over),
         {"a recording with times: `flowback info` lists the packets of a recording"});
    return {};
  }
  const double share = WaitShare(totals.lock_waiting, totals.lock_life);
  if (share <= *words_.limit) return {};
  is_over_ = true;
  Warn(fmt::format("{}: threads waited for locks for {:.1f} % of their time, more than {:g} %",
                   opened_.InputName(), 100 * share, 100 * *words_.limit));
  return {};
}

void AddLocksOptions(CLI::App& app, LockWords& words, ReaderWords&) {
  app.add_flag("--blocking", words.blocking,
               "Also report waits in poll, epoll_wait, read and other system calls that block");
  app.add_flag("--paths", words.paths, "Print the sums of each call path below its site");
  app.add_flag("--all", words.all,
               "Also list loops that look like waits but were not counted, with the reasons");
  app.add_option("--top", words.top, "Lines of each list (default 20)");
  app.add_option("--baseline", words.baseline,
                 "Compare with an older recording, or with a file that --json wrote");
  app.add_option(
      "--fail-over", words.fail_over,
      "Exit with 1 if threads wait for locks for a larger share of their lives, e.g. 5%. "
      "Waits for conditions, barriers and thread ends do not count");
  CLI::Option* const svg =
      app.add_option("--svg", words.svg, "Write a picture instead of the text, as one SVG file");
  app.add_option(
         "--html", words.html,
         "Write a page to explore instead of the text, as one HTML file that needs nothing else")
      ->excludes(svg);
  app.footer(
      "The program needs no recompilation. `record --locks` records which lock each wait is for, "
      "so "
      "that locks of one place in the code have their own rows, with their holders.\n"
      "Columns: `waiting` and its `share` of the lives of all threads that executed (of a thread's "
      "row: of its own life); `acquired`, how often a thread got the lock; `trips`, how often a "
      "waiting loop or call was repeated; `spun`, the share of `waiting` that was not sleeping.\n"
      "`flowback help output locks` describes the text and the JSON.");
}

Status UnderstandLocks(const CLI::App&, LockWords& words) {
  for (const WrittenFile& file :
       {WrittenFile{"-o", words.reader.output}, WrittenFile{"--svg", words.svg},
        WrittenFile{"--html", words.html}})
    if (Status status = CheckIsNotRead(file, {&words.baseline, 1}); !status) return status;
  if (words.fail_over.empty()) return {};
  char* end = nullptr;
  const double percent = std::strtod(words.fail_over.c_str(), &end);
  const std::string_view unit = end;
  const bool is_number = end != words.fail_over.c_str() && (unit.empty() || unit == "%");
  if (!is_number || !(percent >= 0 && percent <= 100))
    return Fail(
        Error(ErrorCode::kUsage, fmt::format("--fail-over: can't understand '{}'", words.fail_over))
            .Remedy("--fail-over 5%"));
  words.limit = percent / 100;
  return {};
}

// Waiting for too long goes before losses, which --strict reports by its status.
int RunLocksJob(const LockWords& words) {
  bool is_over = false;
  const int status = RunReadingJob<LocksJob>(words.reader, words, &is_over);
  const bool is_done =
      status == kDone || status == kFinishedWithLosses || status == kImageIsMissing;
  return is_done && is_over ? kFailed : status;
}

}  // namespace

int RunLocks(const Arguments& arguments) {
  return ExecuteReading<LockWords>(
      arguments, {.name = "locks",
                  .summary = "Shows which threads waited for each other, spinning and sleeping.",
                  .add_options = AddLocksOptions,
                  .understand = UnderstandLocks,
                  .run = RunLocksJob});
}

}  // namespace flowback::cli
