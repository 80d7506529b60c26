// SPDX-License-Identifier: MIT
// `flowback info`: shows a recording's content, and which parts can be read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/info/info_report.h"
#include "cli/reading/image_report.h"
#include "cli/reading/opened_recording.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/reading_command.h"
#include "cli/reading/reading_job.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

void Add(const StreamIndex& index, std::map<std::string_view, PacketCount>& counts) {
  for (const auto& [name, sum] : index.packets) {
    PacketCount& count = counts[name];
    count.count += sum.count;
    count.bytes += sum.bytes;
  }
}

struct InfoOptions {
  ReaderOptions reader;
  bool stats = false;
};

// One run of the command.
class InfoJob final : public ReadingJob {
 public:
  InfoJob(const InfoOptions& options, Recording recording)
      : ReadingJob(options.reader, std::move(recording)), options_(options.reader) {
    report_.opened = &opened_;
    report_.stats = options.stats;
  }

  static constexpr bool kWarnsOfDamage = false;

 private:
  Status Prepare() override;
  Status Gather() override;
  bool MeetsAllLosses() const override { return true; }
  Status Run(Output& output) override;

  Status AddStreams();
  void AddTimes(TimeAccounts times);
  void AddStream(const StreamOwner& owner, FlowSummary summary);

  const ReaderOptions& options_;
  InfoReport report_;
};

// The threads are chosen by stream, because the report shows how each stream was decoded.
Status InfoJob::Prepare() {
  if (Status status = Select(options_, opened_.threads()); !status) return status;
  if (Status status = opened_.LoadCode(); !status) return status;
  // Before the work, which may take long.
  return CheckMayOverwrite(options_.output, options_.output, options_, opened_.recording(),
                           &opened_.code());
}

Status InfoJob::Gather() {
  // The bytes are read twice: here, without the code, and when they are decoded.
  if (Status status = opened_.OpenSource(); !status) return status;
  opened_.KeepIndexes();
  report_.images = opened_.code().images();
  report_.ends = FindPlaces(opened_.recording(), opened_.code(), options_.search);
  opened_.AddRecordedLosses();
  opened_.PrepareStreams(false);
  if (opened_.source().WhyNoFlow().empty())
    if (Status status = AddStreams(); !status) return status;
  MarkImages(opened_.losses().images(), opened_.code(), options_, report_.images);
  return {};
}

Status InfoJob::AddStreams() {
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  const std::vector<Stream>& streams = opened_.recording().streams;
  const WorkProgress progress = opened_.ShowProgress("info", opened_.trace_bytes());
  for (const Stream& stream : streams) opened_.source().Index(stream);
  // A thread's time may be on any of the streams, shown or not.
  Result<FlowAccounts> accounts = AccountFlow(opened_.recording(), opened_.inputs(), **decoder);
  if (!accounts) return Fail(accounts.error());
  for (const Stream& stream : streams) {
    const FlowSummary& sum = accounts->summaries[stream.index];
    const ByteAccount account{sum.bytes_decoded, sum.bytes_padding, sum.bytes_lost};
    if (Status status = CheckAccount(account, stream, opened_.source().Unit()); !status)
      return status;
  }
  if (Status status = CheckTimes(accounts->times); !status) return status;
  AddTimes(std::move(accounts->times));
  for (const StreamOwner& owner : opened_.threads().owners())
    AddStream(owner, std::move(accounts->summaries[owner.stream->index]));
  return {};
}

void InfoJob::AddTimes(TimeAccounts times) {
  report_.times = std::move(times);
  std::erase_if(report_.times.threads, [&](const TimeAccount& account) {
    return !opened_.threads().Wants(account.tid, options_.selection);
  });
  opened_.losses().AddTimes(report_.times);
  Threads grouped = opened_.threads();
  grouped.GroupByThread(opened_.recording(), opened_.inputs());
  if (grouped.Select(options_.selection)) opened_.losses().AddUnattributed(grouped);
}

void InfoJob::AddStream(const StreamOwner& owner, FlowSummary summary) {
  Add(*opened_.source().Index(*owner.stream), report_.packets);
  opened_.losses().AddStreamBytes(owner.stream->bytes.size());
  for (const DataLoss& loss : summary.losses) opened_.losses().Add(loss);
  if (summary.first_tsc != 0) {
    Extend(report_.span, opened_.clock().Value(summary.first_tsc));
    Extend(report_.span, opened_.clock().Value(summary.last_tsc));
  }
  report_.streams.push_back({&owner, std::move(summary)});
}

Status InfoJob::Run(Output& output) {
  if (options_.json)
    PrintInfoJson(report_, output);
  else
    PrintInfoText(report_, output);
  return {};
}

void AddInfoOptions(CLI::App& app, InfoOptions& options, ReaderWords&) {
  app.add_flag("--stats", options.stats,
               "Also print how the packets were decoded, and the memory used");
}

Status CheckNoTime(const CLI::App&, InfoOptions& options) {
  const ReaderOptions& reader = options.reader;
  if (reader.time.empty()) return {};
  return Fail(
      Error(ErrorCode::kUsage, "info looks at the whole recording: --time does not apply")
          .Remedy(fmt::format("flowback decode --as summary --time {} {}{}", reader.time,
                              reader.open.input.empty() ? "--raw-pt " : "", reader.InputName())));
}

}  // namespace

int RunInfo(const Arguments& arguments) {
  return ExecuteReading<InfoOptions>(
      arguments, {.name = "info",
                  .summary = "Shows a recording's machine, threads, packets, losses and files.",
                  .add_options = AddInfoOptions,
                  .hidden = {"--time"},
                  .understand = CheckNoTime,
                  .run = [](const InfoOptions& options) {
                    return RunReadingJob<InfoJob>(options.reader, options);
                  }});
}

}  // namespace flowback::cli
