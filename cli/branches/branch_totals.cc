// SPDX-License-Identifier: MIT
#include "cli/branches/branch_totals.h"

#include "cli/reading/reader_options.h"
#include "cli/reading/stream_report.h"
#include "replay/account/laws.h"

namespace flowback::cli {
namespace {

// Counts what is lost on the way.
class Tallied final : public PlayConsumer {
 public:
  Tallied(BranchSums& sums, LossTally& losses) : sums_(sums), losses_(losses) {}

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override {
    sums_.OnThreadBegin(thread, number);
  }
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override {
    sums_.OnThreadEnd(thread, number);
  }
  void OnBlock(const BlockRun& run) override { sums_.OnBlock(run); }
  void OnEvent(const TraceEvent& event) override { sums_.OnEvent(event); }
  void OnUnknown(const UnknownFlow& unknown) override { sums_.OnUnknown(unknown); }
  void OnLoss(const DataLoss& loss) override {
    losses_.Add(loss);
    sums_.OnLoss(loss);
  }

 private:
  BranchSums& sums_;
  LossTally& losses_;
};

}  // namespace

Status PrepareBranches(OpenedRecording& opened) {
  if (Status status = opened.OpenTrace(); !status) return status;
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(false);
  if (Status status = opened.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened.recording(), opened.threads(), opened.InputName());
  return {};
}

Status PlayChosen(OpenedRecording& opened, const std::string& command, PlayConsumer& consumer) {
  const WorkProgress progress = opened.ShowProgress(command, opened.SelectedBytes());
  opened.AddKnownLosses();
  Player player(opened.Flow(), {.threads = opened.options().ThreadCount(),
                                .in_flight = opened.options().in_flight,
                                .check = AccountCheck(opened.source().Unit())});
  return player.Play(FlowsOf(opened.threads().owners()), consumer);
}

Result<BranchReport> SumBranches(OpenedRecording& opened, const std::string& command) {
  const bool of_records = opened.source().Unit().bytes != 1;
  BranchSums sums(of_records);
  Tallied tallied(sums, opened.losses());
  if (const Status status = PlayChosen(opened, command, tallied); !status)
    return Fail(status.error());
  return sums.Take();
}

}  // namespace flowback::cli
