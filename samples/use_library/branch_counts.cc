// SPDX-License-Identifier: MIT
// A consumer of one's own counts how often each conditional branch was taken, and was not.
//   branch_counts RECORDING
// Prints "THREAD ADDRESS TAKEN NOT_TAKEN" by address, and how much of each thread was lost.
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>

#include "flowback/flowback.h"
#include "report.h"

namespace {

using flowback::Fail;
using flowback::Session;
using flowback::Status;

// Receives one thread after the other. The session decodes on several threads and calls the
// consumer on one.
class BranchCounter final : public flowback::PlayConsumer {
 public:
  explicit BranchCounter(const Session& session) : session_(session) {}

  void OnBlock(const flowback::BlockRun& run) override {
    if (run.last != flowback::InstructionClass::kConditional) return;
    Counts& counts = counts_[run.LastAddress()];
    // The branch was the run's last instruction, unless something stopped the flow ahead of it.
    if (run.exit == flowback::BlockExit::kTaken) ++counts.taken;
    if (run.exit == flowback::BlockExit::kNotTaken) ++counts.not_taken;
  }
  void OnEvent(const flowback::TraceEvent&) override {}
  void OnLoss(const flowback::DataLoss& loss) override {
    ++losses_;
    lost_bytes_ += loss.end - loss.begin;
  }

  void OnThreadEnd(const flowback::ThreadFlow&, size_t number) override {
    Print(session_.threads().owners()[number].label);
    counts_.clear();
    losses_ = lost_bytes_ = 0;
  }

 private:
  void Print(const std::string& thread) const {
    for (const auto& [address, counts] : counts_)
      std::printf("%s %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", thread.c_str(), address, counts.taken,
                  counts.not_taken);
    if (losses_ != 0)
      std::printf("# %s: %" PRIu64 " losses, %" PRIu64 " bytes of trace\n", thread.c_str(), losses_,
                  lost_bytes_);
  }

  struct Counts {
    uint64_t taken = 0;
    uint64_t not_taken = 0;
  };
  const Session& session_;
  std::map<uint64_t, Counts> counts_;
  uint64_t losses_ = 0;
  uint64_t lost_bytes_ = 0;
};

Status Count(const std::string& path) {
  auto session = Session::Open(path);
  if (!session) return Fail(session.error());
  BranchCounter counter(*session);
  return session->Play(counter);
}

}  // namespace

int main(int argc, char** argv) {
  return ExitStatus("branch_counts", argc == 2 ? Count(argv[1])
                                               : Fail(flowback::ErrorCode::kUsage,
                                                      "usage: branch_counts RECORDING"));
}
