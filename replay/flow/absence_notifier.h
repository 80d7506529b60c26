// SPDX-License-Identifier: MIT
// A player's notices beside the flow: stays, and the time between.
#pragma once

#include <cstdint>

#include "flowback/replay/player.h"

namespace flowback {

// Passes one thread's flow on, and reports where tracing was off and where the thread was off CPUs.
class AbsenceNotifier final : public ExecutionConsumer {
 public:
  // `clock` may be null: then no absence is reported.
  AbsenceNotifier(PlayConsumer& consumer, const RecordingClock* clock)
      : consumer_(consumer), clock_(clock) {}

  void BeginThread() { last_ = nullptr; }
  void BeginStay(const FlowPiece& piece);
  void EndStay(const FlowPiece& piece);

  void OnBlock(const BlockRun& run) override { consumer_.OnBlock(run); }
  void OnBlocks(const BlockBatch& batch) override { consumer_.OnBlocks(batch); }
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  void OnUnknown(const UnknownFlow& unknown) override { consumer_.OnUnknown(unknown); }
  RangeConsumer* ranges() override { return consumer_.ranges(); }
  bool Done() const override { return consumer_.Done(); }

 private:
  uint64_t BeginOf(const ThreadStay& stay) const;
  uint64_t EndOf(const ThreadStay& stay) const;
  void Tell(Absence::Kind kind, uint64_t begin, uint64_t end);

  PlayConsumer& consumer_;
  const RecordingClock* clock_;
  const ThreadStay* last_ = nullptr;  // the stay before
  uint64_t left_ = 0;                 // tracing has been off since then; 0: it is on, or not known
};

}  // namespace flowback
