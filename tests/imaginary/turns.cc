// SPDX-License-Identifier: MIT
#include "tests/imaginary/turns.h"

#include <utility>

namespace flowback {
namespace {

class TurnCounter final : public PlayConsumer {
 public:
  explicit TurnCounter(Session& session) : session_(session) {}

  void OnThreadBegin(const ThreadFlow&, size_t number) override {
    threads_.push_back({.thread = &session_.threads().owners()[number]});
  }
  void OnBlock(const BlockRun& run) override {
    if (run.exit != BlockExit::kTaken) return;
    ThreadTurns& turns = threads_.back();
    ++(run.next <= run.LastAddress() ? turns.back : turns.ahead);
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { session_.losses().Add(loss); }

  std::vector<ThreadTurns> Take() { return std::move(threads_); }

 private:
  Session& session_;
  std::vector<ThreadTurns> threads_;
};

}  // namespace

Result<std::vector<ThreadTurns>> CountTurns(Session& session) {
  TurnCounter counter(session);
  if (Status status = session.Play(counter); !status) return Fail(status.error());
  return counter.Take();
}

}  // namespace flowback
