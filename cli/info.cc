// SPDX-License-Identifier: MIT
// `flowback info`: what a recording holds and what of it can be read.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/info_report.h"
#include "cli/packet_walk.h"
#include "cli/reader_options.h"
#include "cli/status.h"
#include "cli/stream_report.h"

namespace flowback::cli {
namespace {

void CountPackets(const Stream& stream, const CpuId& cpu,
                  std::map<std::string_view, PacketCount>& counts) {
  PacketWalk(
      stream, cpu,
      [&](size_t, size_t size, const pt::Packet& packet) {
        PacketCount& count = counts[NameOf(packet)];
        ++count.count;
        count.bytes += size;
        return true;
      },
      [](LossCause, size_t, size_t) { return true; })
      .Run();
}

Status Collect(const ReaderOptions& options, const RecordingCode& code, InfoReport& report) {
  Result<std::unique_ptr<Decoder>> decoder = MakeDecoder(options.engine);
  if (!decoder) return Fail(decoder.error());
  report.images = code.images();
  report.losses.AddDamage(report.recording->warnings.size());
  StreamInputs inputs(*report.recording, code, options.resync);
  inputs.set_threads(options.threads, options.window);
  for (const StreamOwner& owner : report.threads->owners()) {
    const Stream& stream = *owner.stream;
    CountPackets(stream, report.recording->pt.cpu, report.packets);
    Result<FlowSummary> summary = (*decoder)->Summarize(inputs.For(stream));
    if (!summary) return Fail(summary.error());
    const ByteAccount account{summary->bytes_decoded, summary->bytes_padding, summary->bytes_lost};
    if (Status status = CheckAccount(account, stream); !status) return status;
    report.losses.AddStreamBytes(stream.bytes.size());
    for (const DataLoss& loss : summary->losses) report.losses.Add(loss);
    if (summary->first_tsc != 0) {
      Extend(report.span, report.clock->Value(summary->first_tsc));
      Extend(report.span, report.clock->Value(summary->last_tsc));
    }
    report.streams.push_back({&owner, std::move(*summary)});
  }
  return {};
}

int Execute(const ReaderOptions& options) {
  const Result<Recording> recording = OpenInput(options);
  if (!recording) return Report(recording.error(), options.InputName());
  Threads threads(*recording);
  if (Status status = threads.Select(options); !status) return Report(status.error());
  const Result<RecordingCode> code = RecordingCode::Load(*recording, options.search);
  if (!code) return Report(code.error());
  const TraceClock clock(*recording);
  InfoReport report;
  report.recording = &*recording;
  report.threads = &threads;
  report.clock = &clock;
  if (Status status = Collect(options, *code, report); !status)
    return Report(status.error(), options.InputName());
  Result<Output> output = Output::Open(options.output);
  if (!output) return Report(output.error());
  if (options.json)
    PrintInfoJson(report, *output);
  else
    PrintInfoText(report, *output);
  if (Status written = output->Finish(); !written) return Report(written.error());
  if (output->closed()) return kDone;
  report.losses.Warn(options.InputName());
  if (!report.streams.empty()) WarnOfRejectedImages(report.images, options.InputName());
  WarnOfModes(*code, options.InputName());
  return report.losses.Status(options.strict);
}

}  // namespace

int RunInfo(const Arguments& arguments) {
  CLI::App app("Tells what a recording holds.", "flowback info");
  ReaderOptions options;
  ReaderWords words;
  AddReaderOptions(app, options, words);
  if (const std::optional<int> status = Parse(app, arguments)) return *status;
  if (Status status = Understand(words, options); !status) return Report(status.error());
  if (!options.time.empty())
    return Report(
        Error(ErrorCode::kUsage, "info looks at the whole recording: --time does not apply")
            .Remedy("flowback decode --as summary --time " + options.time));
  return Execute(options);
}

}  // namespace flowback::cli
