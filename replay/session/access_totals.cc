// SPDX-License-Identifier: MIT
#include "replay/session/access_totals.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "capture/formats/input/samples.h"
#include "flowback/replay/player.h"
#include "replay/samples/sample_assembler.h"

namespace flowback {
namespace {

// Adds the samples in the trace to the sums.
class TracedSamples final : public PlayConsumer {
 public:
  TracedSamples(const Session& session, AccessSums& sums)
      : session_(session), assembler_([this, &sums](const EventSample& sample) {
          sums.Add(sample, SpaceOf(session_, sample));
        }) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t) override {
    assembler_.BeginThread(ProcessOf(thread), thread.tid);
  }
  void OnThreadEnd(const ThreadFlow&, size_t) override { assembler_.EndThread(); }
  void OnBlock(const BlockRun&) override {}
  void OnBlocks(const BlockBatch&) override {}
  void OnEvent(const TraceEvent& event) override { assembler_.OnEvent(event); }
  void OnLoss(const DataLoss&) override { assembler_.OnLoss(); }

 private:
  // Returns the only process, for a stream without threads.
  int32_t ProcessOf(const ThreadFlow& thread) const {
    if (thread.pid >= 0 || thread.pieces.empty()) return thread.pid;
    return session_.code().ProcessOf(*thread.pieces.front().stream);
  }

  const Session& session_;
  SampleAssembler assembler_;
};

bool IsChosen(const Session& session, const EventSample& sample) {
  const ThreadSelection& selection = session.options().selection;
  if (!selection.cpus.empty() &&
      std::ranges::find(selection.cpus, sample.cpu) == selection.cpus.end())
    return false;
  return session.threads().Wants(sample.tid, selection);
}

// Branch stacks hold no samples of their own.
bool MayHoldSamples(const Session& session) {
  return !session.recording().streams.empty() && !session.source().samples();
}

Status PlayTrace(Session& session, AccessSums& sums) {
  TracedSamples traced(session, sums);
  return session.PlayAccounted(traced);
}

}  // namespace

const AddressSpace* SpaceOf(const Session& session, const EventSample& sample) {
  const auto& epochs = session.code().OfProcess(sample.pid)->epochs;
  const uint64_t time = sample.tsc != 0 ? session.clock().Value(sample.tsc) : sample.time;
  const auto after = std::ranges::upper_bound(epochs, time, {}, &AddressSpaceHistory::Epoch::time);
  return (after == epochs.begin() ? *after : *std::prev(after)).space.get();
}

Error NoAccesses(const Recording& recording, const AccessReport& report) {
  if (report.samples == 0 && HasAccessSamples(recording))
    return Error(ErrorCode::kUnsupported,
                 recording.path + ": no sampled access to memory by the chosen threads and CPUs")
        .Remedy("leave --tid, --comm and --cpu-list out");
  std::string what = recording.path + ": no sampled access to memory in this recording";
  if (report.samples != 0)
    what += ": none of its " + std::to_string(report.samples) + " samples has an address";
  return Error(ErrorCode::kUnsupported, what)
      .Remedy(
          "perf record -d -W -e cpu/mem-loads,ldlat=30/P -e cpu/mem-stores/P -- CMD on Intel "
          "processors, perf record -d -W -e ibs_op//p -- CMD on AMD's");
}

Result<AccessReport> SumAccesses(Session& session) {
  AccessSums sums;
  if (HasAccessSamples(session.recording()))
    if (Status status = VisitSamples(session.recording(),
                                     [&](const EventSample& sample) {
                                       if (IsChosen(session, sample))
                                         sums.Add(sample, SpaceOf(session, sample));
                                     });
        !status)
      return Fail(status.error());
  if (MayHoldSamples(session))
    if (Status status = PlayTrace(session, sums); !status) return Fail(status.error());
  AccessReport report = sums.Take();
  if (report.accesses == 0) return Fail(NoAccesses(session.recording(), report));
  return report;
}

}  // namespace flowback
