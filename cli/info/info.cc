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

void CountPackets(const Stream& stream, const TraceSource& source,
                  std::map<std::string_view, PacketCount>& counts) {
  constexpr size_t kAtOnce = 4096;
  const std::unique_ptr<PacketReader> reader = source.Packets(stream);
  const std::unique_ptr<PacketBatch> packets = reader->NewBatch();
  for (bool more = true; more; packets->Clear()) {
    more = reader->Read(*packets, kAtOnce);
    for (size_t i = 0; i < packets->size(); ++i) {
      if ((*packets)[i].lost) continue;
      PacketCount& count = counts[packets->Name(i)];
      ++count.count;
      count.bytes += (*packets)[i].size;
    }
  }
}

Result<FlowSummary> Sum(const Stream& stream, const StreamInputs& inputs, Decoder& decoder) {
  if (stream.bytes.empty()) return FlowSummary();
  Result<FlowSummary> summary = decoder.Summarize(inputs.For(stream));
  if (!summary) return summary;
  const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
  if (Status status = CheckAccount(account, stream); !status) return Fail(status.error());
  return summary;
}

void Show(const StreamOwner& owner, FlowSummary summary, const TraceSource& source,
          InfoReport& report) {
  CountPackets(*owner.stream, source, report.packets);
  report.losses.AddStreamBytes(owner.stream->bytes.size());
  for (const DataLoss& loss : summary.losses) report.losses.Add(loss);
  if (summary.first_tsc != 0) {
    Extend(report.span, report.clock->Value(summary.first_tsc));
    Extend(report.span, report.clock->Value(summary.last_tsc));
  }
  report.streams.push_back({&owner, std::move(summary)});
}

Status Collect(const ReaderOptions& options, const RecordingCode& code, InfoReport& report) {
  Result<std::unique_ptr<Decoder>> decoder = MakeDecoder(options.engine);
  if (!decoder) return Fail(decoder.error());
  report.images = code.images();
  report.ends = FindPlaces(*report.recording, code, options.search);
  report.losses.AddRecording(*report.recording);
  StreamInputs inputs(*report.recording, code, options.resync);
  inputs.set_threads(options.threads, options.window);
  uint64_t bytes = 0;
  for (const Stream& stream : report.recording->streams) bytes += stream.bytes.size();
  std::atomic<uint64_t> done = 0;
  inputs.set_progress(done);
  const WorkProgress progress("info", bytes, done);
  // A thread's time may be on any of the streams, shown or not.
  std::vector<FlowSummary> summaries;
  for (const Stream& stream : report.recording->streams) {
    Result<FlowSummary> summary = Sum(stream, inputs, **decoder);
    if (!summary) return Fail(summary.error());
    summaries.push_back(std::move(*summary));
  }
  Result<TimeAccounts> times = AccountTimes(*report.recording, inputs, summaries, **decoder);
  if (!times) return Fail(times.error());
  if (Status status = CheckTimes(*times); !status) return status;
  std::erase_if(times->threads, [&](const TimeAccount& account) {
    return !report.threads->Wants(account.tid, options.selection);
  });
  report.times = std::move(*times);
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
