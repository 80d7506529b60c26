// SPDX-License-Identifier: MIT
// `flowback info`: what a recording holds and what of it can be read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/info/info_report.h"
#include "cli/options/arguments.h"
#include "cli/reading/image_report.h"
#include "cli/reading/opened_recording.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reader_output.h"
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

// One run of the command.
class InfoJob {
 public:
  InfoJob(const ReaderOptions& options, Recording recording)
      : options_(options), opened_(options, std::move(recording)) {
    report_.opened = &opened_;
  }

  int Execute(bool stats);

 private:
  Status Prepare();
  Status Collect();
  Status AddStreams();
  void AddTimes(TimeAccounts times);
  void AddStream(const StreamOwner& owner, FlowSummary summary);
  int Finish();

  const ReaderOptions& options_;
  OpenedRecording opened_;
  InfoReport report_;
};

// The threads are chosen by stream: how each of these was decoded is told.
Status InfoJob::Prepare() {
  if (Status status = Select(options_, opened_.threads()); !status) return status;
  if (Status status = opened_.LoadCode(); !status) return status;
  // Before the work, which may take long.
  return CheckMayOverwrite(options_.output, options_.output, options_, opened_.recording(),
                           &opened_.code());
}

Status InfoJob::Collect() {
  // The bytes are read twice: here, without the code, and when they are decoded.
  if (Status status = opened_.OpenSource(); !status) return status;
  opened_.KeepIndexes();
  report_.images = opened_.code().images();
  report_.ends = FindPlaces(opened_.recording(), opened_.code(), options_.search);
  opened_.AddRecordedLosses();
  opened_.PrepareStreams(false);
  if (Status status = AddStreams(); !status) return status;
  MarkImages(opened_.losses().images(), opened_.code(), options_, report_.images);
  return {};
}

Status InfoJob::AddStreams() {
  Result<std::unique_ptr<Decoder>> decoder = opened_.NewDecoder();
  if (!decoder) return Fail(decoder.error());
  const std::vector<Stream>& streams = opened_.recording().streams;
  const WorkProgress progress = opened_.ShowProgress("info", opened_.trace_bytes());
  for (const Stream& stream : streams) opened_.source()->Index(stream);
  // A thread's time may be on any of the streams, shown or not.
  Result<FlowAccounts> accounts = AccountFlow(opened_.recording(), opened_.inputs(), **decoder);
  if (!accounts) return Fail(accounts.error());
  for (const Stream& stream : streams) {
    const FlowSummary& sum = accounts->summaries[stream.index];
    const ByteAccount account{sum.bytes_decoded, sum.bytes_padding, sum.bytes_lost};
    if (Status status = CheckAccount(account, stream, opened_.source()->Unit()); !status)
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
  Add(*opened_.source()->Index(*owner.stream), report_.packets);
  opened_.losses().AddStreamBytes(owner.stream->bytes.size());
  for (const DataLoss& loss : summary.losses) opened_.losses().Add(loss);
  if (summary.first_tsc != 0) {
    Extend(report_.span, opened_.clock().Value(summary.first_tsc));
    Extend(report_.span, opened_.clock().Value(summary.last_tsc));
  }
  report_.streams.push_back({&owner, std::move(summary)});
}

// Returns the exit status.
int InfoJob::Execute(bool stats) {
  report_.stats = stats;
  if (Status status = Prepare(); !status) return Report(status.error());
  if (Status status = Collect(); !status) return Report(status.error(), options_.InputName());
  Result<Output> output = opened_.OpenOutput();
  if (!output) return Report(output.error());
  if (options_.json)
    PrintInfoJson(report_, *output);
  else
    PrintInfoText(report_, *output);
  if (Status written = output->Finish(); !written) return Report(written.error());
  return output->closed() ? kDone : Finish();
}

int InfoJob::Finish() {
  opened_.TellMissing();
  opened_.Keep();
  if (opened_.recording().refusal) return Report(*opened_.recording().refusal);
  return opened_.ExitStatus();
}

int Execute(const ReaderOptions& options, bool stats) {
  Result<Recording> recording = OpenInput(options);
  if (!recording) return Report(recording.error(), options.InputName());
  return InfoJob(options, *std::move(recording)).Execute(stats);
}

}  // namespace

int RunInfo(const Arguments& arguments) {
  CLI::App app("Tells what a recording holds.", "flowback info");
  ReaderOptions options;
  ReaderWords words;
  AddReaderOptions(app, options, words);
  bool stats = false;
  app.add_flag("--stats", stats, "tell how the packets were decoded, and with how much memory");
  app.get_option("--time")->group(
      "");  // not listed: it is known only to say that it does not apply
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (Status status = Understand(words, options); !status) return Report(status.error());
  if (!options.time.empty())
    return Report(
        Error(ErrorCode::kUsage, "info looks at the whole recording: --time does not apply")
            .Remedy(fmt::format("flowback decode --as summary --time {} {}{}", options.time,
                                options.open.input.empty() ? "--raw-pt " : "",
                                options.InputName())));
  return Execute(options, stats);
}

}  // namespace flowback::cli
