// SPDX-License-Identifier: MIT
// The accesses of a recording: those of samples beside the trace, then those that the trace holds.
#include <algorithm>
#include <iterator>
#include <memory>

#include "capture/formats/samples.h"
#include "cli/branches/branch_totals.h"
#include "cli/branches/memory_view.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/stream_report.h"
#include "flowback/replay/player.h"
#include "replay/samples/sample_assembler.h"

namespace flowback::cli {
namespace {

// What was mapped for the process then; its first mappings where the time is not known.
const AddressSpace* SpaceOf(const OpenedRecording& opened, const EventSample& sample) {
  const auto& epochs = opened.code().OfProcess(sample.pid)->epochs;
  const uint64_t time = sample.tsc != 0 ? opened.clock().Value(sample.tsc) : sample.time;
  const auto after = std::ranges::upper_bound(epochs, time, {}, &AddressSpaceHistory::Epoch::time);
  return (after == epochs.begin() ? *after : *std::prev(after)).space.get();
}

// Gives the samples in the trace on, and counts what of it is lost.
class TracedSamples final : public PlayConsumer {
 public:
  TracedSamples(OpenedRecording& opened, AccessSums& sums)
      : opened_(opened), assembler_([this, &sums](const EventSample& sample) {
          sums.Add(sample, SpaceOf(opened_, sample));
        }) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t) override {
    assembler_.BeginThread(ProcessOf(thread), thread.tid);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override { assembler_.EndThread(); }
  void OnBlock(const BlockRun&) override {}
  void OnBlocks(const BlockBatch&) override {}
  void OnEvent(const TraceEvent& event) override { assembler_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override {
    opened_.losses().Add(loss);
    assembler_.OnLoss();
  }

 private:
  // Of a stream without threads, the one process that there is.
  int32_t ProcessOf(const ThreadFlow& thread) const {
    if (thread.pid >= 0 || thread.pieces.empty()) return thread.pid;
    return opened_.code().ProcessOf(*thread.pieces.front().stream);
  }

  OpenedRecording& opened_;
  SampleAssembler assembler_;
};

bool IsChosen(const OpenedRecording& opened, const EventSample& sample) {
  const ThreadSelection& selection = opened.options().selection;
  if (!selection.cpus.empty() &&
      std::ranges::find(selection.cpus, sample.cpu) == selection.cpus.end())
    return false;
  return opened.threads().Wants(sample.tid, selection);
}

// Branch stacks hold no samples of their own.
bool MayHoldSamples(const OpenedRecording& opened) {
  return !opened.recording().streams.empty() && !opened.source().samples();
}

Status PlayTrace(OpenedRecording& opened, AccessSums& sums) {
  TracedSamples traced(opened, sums);
  return PlayChosen(opened, "branches", traced);
}

Error NoAccesses(const Recording& recording, const AccessReport& report) {
  if (report.samples == 0 && HasAccessSamples(recording))
    return Error(ErrorCode::kUnsupported,
                 recording.path + ": no sampled access to memory by the chosen threads and CPUs")
        .Remedy("leave --tid, --comm and --cpu-list out");
  std::string what = recording.path + ": no sampled access to memory in this recording";
  if (report.samples != 0)
    what += ": none of its " + std::to_string(report.samples) + " samples tells an address";
  return Error(ErrorCode::kUnsupported, what)
      .Remedy(
          "perf record -d -W -e cpu/mem-loads,ldlat=30/P -e cpu/mem-stores/P -- CMD on Intel "
          "processors, perf record -d -W -e ibs_op//p -- CMD on AMD's");
}

}  // namespace

Status PrepareAccesses(OpenedRecording& opened) {
  const bool has_samples = HasAccessSamples(opened.recording());
  if (const Status trace = CheckHasTrace(opened.recording()); !trace) {
    if (trace.error().code() == ErrorCode::kUnreadable) return trace;
    if (!has_samples) return Fail(NoAccesses(opened.recording(), {}));
    if (Status status = opened.OpenSource(); !status) return status;
    return opened.LoadCode();
  }
  if (Status status = opened.OpenTrace(); !status) return status;
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(false);
  if (has_samples) {
    opened.SelectThreads();
    return {};
  }
  return opened.ChooseThreads();
}

Result<AccessReport> SumAccesses(OpenedRecording& opened) {
  AccessSums sums;
  if (HasAccessSamples(opened.recording()))
    if (Status status = VisitSamples(opened.recording(),
                                     [&](const EventSample& sample) {
                                       if (IsChosen(opened, sample))
                                         sums.Add(sample, SpaceOf(opened, sample));
                                     });
        !status)
      return Fail(status.error());
  if (MayHoldSamples(opened))
    if (Status status = PlayTrace(opened, sums); !status) return Fail(status.error());
  AccessReport report = sums.Take();
  if (report.accesses == 0) return Fail(NoAccesses(opened.recording(), report));
  return report;
}

}  // namespace flowback::cli
