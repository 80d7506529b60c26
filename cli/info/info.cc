// SPDX-License-Identifier: MIT
// `flowback info`: what a recording holds and what of it can be read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>

#include "cli/command.h"
#include "cli/info/info_report.h"
#include "cli/options/arguments.h"
#include "cli/reading/cut_files.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/reader_output.h"
#include "cli/reading/stream_report.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {
namespace {

void Add(const StreamIndex& index, std::map<std::string_view, PacketCount>& counts) {
  for (const auto& [name, sum] : index.packets) {
    PacketCount& count = counts[name];
    count.count += sum.count;
    count.bytes += sum.bytes;
  }
}

void Show(const StreamOwner& owner, FlowSummary summary, const TraceSource& source,
          InfoReport& report) {
  Add(*source.Index(*owner.stream), report.packets);
  report.losses.AddStreamBytes(owner.stream->bytes.size());
  for (const DataLoss& loss : summary.losses) report.losses.Add(loss);
  if (summary.first_tsc != 0) {
    Extend(report.span, report.clock->Value(summary.first_tsc));
    Extend(report.span, report.clock->Value(summary.last_tsc));
  }
  report.streams.push_back({&owner, std::move(summary)});
}

Status Collect(const ReaderOptions& options, const RecordingCode& code, InfoReport& report) {
  report.images = code.images();
  report.ends = FindPlaces(*report.recording, code, options.search);
  report.losses.AddRecording(*report.recording);
  Result<std::shared_ptr<const TraceSource>> opened = OpenSource(*report.recording);
  if (!opened) return Fail(opened.error());
  Result<std::unique_ptr<Decoder>> decoder = (*opened)->MakeDecoder(options.engine);
  if (!decoder) return Fail(decoder.error());
  // The bytes are read twice: here, without the code, and when they are decoded.
  const std::shared_ptr<const TraceSource> source = KeepIndexes(std::move(*opened));
  report.source = source;
  StreamInputs inputs(*report.recording, code, options.resync, source);
  inputs.set_threads(options.threads, options.in_flight);
  uint64_t bytes = 0;
  for (const Stream& stream : report.recording->streams) bytes += stream.bytes.size();
  std::atomic<uint64_t> done = 0;
  inputs.set_progress(done);
  const WorkProgress progress("info", bytes, done);
  for (const Stream& stream : report.recording->streams) source->Index(stream);
  // A thread's time may be on any of the streams, shown or not.
  Result<FlowAccounts> accounts = AccountFlow(*report.recording, inputs, **decoder);
  if (!accounts) return Fail(accounts.error());
  std::vector<FlowSummary>& summaries = accounts->summaries;
  for (const Stream& stream : report.recording->streams) {
    const FlowSummary& sum = summaries[stream.index];
    const ByteAccount account{sum.bytes_decoded, sum.bytes_padding, sum.bytes_lost};
    if (Status status = CheckAccount(account, stream, source->Unit()); !status) return status;
  }
  report.times = std::move(accounts->times);
  if (Status status = CheckTimes(report.times); !status) return status;
  std::erase_if(report.times.threads, [&](const TimeAccount& account) {
    return !report.threads->Wants(account.tid, options.selection);
  });
  report.losses.AddTimes(report.times);
  Threads grouped = *report.threads;
  grouped.GroupByThread(*report.recording, inputs);
  if (grouped.Select(options.selection)) report.losses.AddNobodys(grouped);
  for (const StreamOwner& owner : report.threads->owners())
    Show(owner, std::move(summaries[owner.stream->index]), inputs.source(), report);
  report.losses.images().Mark(code, options, report.images);
  return {};
}

int Execute(const ReaderOptions& options, bool stats) {
  const Result<Recording> recording = OpenInput(options);
  if (!recording) return Report(recording.error(), options.InputName());
  Threads threads(*recording);
  if (Status status = Select(options, threads); !status) return Report(status.error());
  const Result<RecordingCode> code = RecordingCode::Load(*recording, options.search);
  if (!code) return Report(code.error());
  // Before the work, which may take long.
  if (Status status =
          CheckMayOverwrite(options.output, options.output, options, *recording, &*code);
      !status)
    return Report(status.error());
  const RecordingClock clock(*recording);
  InfoReport report;
  report.recording = &*recording;
  report.threads = &threads;
  report.clock = &clock;
  report.stats = stats;
  if (Status status = Collect(options, *code, report); !status)
    return Report(status.error(), options.InputName());
  Result<Output> output = OpenOutput(options, *recording, &*code);
  if (!output) return Report(output.error());
  output->CheckWith([&] { return CheckUncut(*recording, &*code); });
  if (options.json)
    PrintInfoJson(report, *output);
  else
    PrintInfoText(report, *output);
  if (Status written = output->Finish(); !written) return Report(written.error());
  if (output->closed()) return kDone;
  report.losses.Warn(options.InputName());
  if (!report.streams.empty()) report.losses.images().Warn(*code, options);
  WarnOfModes(*code, options.InputName());
  code->KeepBlocks();
  WarnOfCache(*code);
  if (recording->refusal) return Report(*recording->refusal);
  return report.losses.Status(options.strict);
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
