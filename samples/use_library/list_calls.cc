// SPDX-License-Identifier: MIT
// Lists the calls between two times:
//   list_calls RECORDING FIRST LAST    nanoseconds of the recording's clock (perf's)
// Prints "TIME THREAD: CALLER -> CALLEE" for each, one thread after the other. A loss stands where
// it was, as '#'.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flowback/flowback.h"
#include "report.h"

namespace {

using flowback::Fail;
using flowback::Session;
using flowback::Status;

class CallPrinter final : public flowback::PlayConsumer {
 public:
  CallPrinter(Session& session, flowback::TimeSpan span) : session_(session), span_(span) {}

  void OnThreadBegin(const flowback::ThreadFlow&, size_t number) override {
    thread_ = session_.threads().owners()[number].label;
  }
  void OnBlock(const flowback::BlockRun& run) override {
    if (run.last != flowback::InstructionClass::kCall &&
        run.last != flowback::InstructionClass::kIndirectCall)
      return;
    // A call that did not complete leads nowhere.
    if (run.next == 0 || !IsBetween(run.tsc)) return;
    std::printf("%" PRIu64 " %s: %s -> %s\n", session_.clock().Value(run.tsc), thread_.c_str(),
                Name(run, run.LastAddress()).c_str(), Name(run, run.next).c_str());
  }
  void OnEvent(const flowback::TraceEvent&) override {}
  void OnLoss(const flowback::DataLoss& loss) override {
    if (IsBetween(loss.tsc)) std::printf("# %s: %s\n", thread_.c_str(), TextOf(loss).c_str());
  }

 private:
  bool IsBetween(uint64_t tsc) const {
    return tsc != 0 && span_.Contains(session_.clock().Value(tsc));
  }
  std::string Name(const flowback::BlockRun& run, uint64_t address) {
    if (run.space != nullptr)
      if (const auto symbol = session_.symbols().Find(*run.space, address))
        return std::string(symbol->name);
    char text[20];
    std::snprintf(text, sizeof text, "%" PRIx64, address);
    return text;
  }

  Session& session_;
  flowback::TimeSpan span_;
  std::string thread_;
};

Status List(const std::string& path, flowback::TimeSpan span) {
  auto session = Session::Open(path);
  if (!session) return Fail(session.error());
  if (!session->clock().has_nanoseconds())
    return Fail(flowback::ErrorCode::kUnsupported, path + ": does not say how its clock runs");
  CallPrinter printer(*session, span);
  return session->Play(span, printer);
}

}  // namespace

int main(int argc, char** argv) {
  const auto time = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  return ExitStatus("list_calls", argc == 4 ? List(argv[1], {.begin = time(2), .end = time(3)})
                                            : Fail(flowback::ErrorCode::kUsage,
                                                   "usage: list_calls RECORDING FIRST LAST"));
}
