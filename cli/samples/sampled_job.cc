// SPDX-License-Identifier: MIT
#include "cli/samples/sampled_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/reading/spike_moment.h"
#include "cli/samples/print_paths.h"
#include "cli/stack/stack_moment.h"
#include "replay/samples/call_paths.h"
#include "replay/session/stack_naming.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {
namespace {

Error NotOfSamples(const std::string& what) {
  return Error(ErrorCode::kUsage, what + ", and this recording has samples")
      .Remedy(
          "--at TIME for the last sample up to then, --all for every sample, --paths for their "
          "sum by call path");
}

}  // namespace

// A sample's time is in perf's clock, even if the recording has another.
Status SampledStackJob::Prepare() {
  if (NamesSpike(options_.at))
    return Fail(NotOfSamples(fmt::format("--at {} is a part of a whole flow", options_.at)));
  const Result<StackPlace> place =
      ParseStackPlace(options_.at, opened_.recording(), opened_.clock());
  if (!place) return Fail(place.error());
  if (place->kind == StackPlace::Kind::kInstruction)
    return Fail(NotOfSamples(
        fmt::format("--at {} is an instruction of a thread's whole flow", options_.at)));
  if (place->kind == StackPlace::Kind::kTime) end_ = place->value;
  if (options_.paths && (options_.all || options_.at != "end"))
    return Fail(Error(ErrorCode::kUsage, "--paths adds up all samples: --all and --at do not apply")
                    .Remedy("leave one of them out"));
  if (Status status = opened_.LoadCode(); !status) return status;
  const SampledThreads threads(opened_.recording(), opened_.code(), opened_.threads(),
                               options_.reader.selection, options_.stitch);
  if (threads.threads().empty())
    return Fail(Error(ErrorCode::kUsage, "no thread that was selected has a sample")
                    .Remedy("`flowback stack` without --thread, --tid, --comm and --cpu-list shows "
                            "those that have"));
  return {};
}

void SampledStackJob::PrintHeader(Output& output) const {
  if (!options_.reader.json) return;
  JsonLine line(output.buffer());
  line.Text("schema", "flowback.stack/1").Text("input", opened_.recording().path);
  line.Text("clock", "ns").Bool("emulated", opened_.recording().machine.emulated);
  line.Bool("samples", true).End();
}

size_t SampledStackJob::CountUpTo(const SampledThread& thread) const {
  const auto behind = std::ranges::upper_bound(
      thread.samples, end_, {}, [](const CallSample* sample) { return sample->time; });
  return static_cast<size_t>(behind - thread.samples.begin());
}

void SampledStackJob::Show(const SampledThread& thread, SampledThreads& threads, StackNames& names,
                           Output& output) {
  const size_t count = CountUpTo(thread);
  const SampleStyle style{names, names_.symbolizer, opened_.recording().machine.emulated};
  threads.ForEachStack(thread, count, [&](size_t number, const SampledStack& stack) {
    if (!options_.all && number + 1 != count) return true;
    const CallSample& sample = *thread.samples[number];
    const ShownSample shown{
        thread, number, sample, threads.CommOf(thread, sample), threads.EventOf(sample), stack};
    if (options_.reader.json)
      PrintSampleJson(shown, style, output);
    else
      PrintSampleText(shown, style, output);
    return !output.closed();
  });
  if (count == 0 && !options_.reader.json)
    fmt::format_to(std::back_inserter(output.buffer()),
                   "Thread {}: its first sample is behind that time.\n\n", thread.tid);
}

Status SampledStackJob::Run(Output& output) {
  SampledThreads threads(opened_.recording(), opened_.code(), opened_.threads(),
                         options_.reader.selection, options_.stitch);
  StackNames names = StackNamesOf(opened_);
  PrintHeader(output);
  if (options_.paths) {
    const CallPaths paths = SumPaths(threads, names);
    options_.reader.json ? PrintPathsJson(paths, output) : PrintPathsText(paths, output);
    return {};
  }
  for (const SampledThread& thread : threads.threads()) {
    Show(thread, threads, names, output);
    if (output.closed()) break;
  }
  return {};
}

}  // namespace flowback::cli
