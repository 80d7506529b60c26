// SPDX-License-Identifier: MIT
// Lists the calls between two times:
//   list_calls RECORDING FIRST LAST    nanoseconds of the recording's clock (perf's)
// Prints "TIME THREAD: CALLER -> CALLEE" for each, one thread after the other. What was lost stands
// where it was, as '#'.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flowback/replay/symbolizer.h"
#include "opened.h"

namespace {

using flowback::Fail;
using flowback::Status;

// What lies between two times, of one thread.
class CallPrinter final : public flowback::ExecutionConsumer {
 public:
  CallPrinter(const flowback::TimeConversion& clock, uint64_t first, uint64_t last,
              flowback::Symbolizer& symbolizer)
      : clock_(clock), first_(first), last_(last), symbolizer_(symbolizer) {}

  void set_thread(std::string name) { thread_ = std::move(name); }
  void OnBlock(const flowback::BlockRun& run) override {
    if (run.last != flowback::InstructionClass::kCall &&
        run.last != flowback::InstructionClass::kIndirectCall)
      return;
    // A call that was not carried out any more leads nowhere.
    if (run.next == 0 || !IsBetween(run.tsc)) return;
    std::printf("%" PRIu64 " %s: %s -> %s\n", clock_.ToNanoseconds(run.tsc), thread_.c_str(),
                Name(run, run.LastAddress()).c_str(), Name(run, run.next).c_str());
  }
  void OnEvent(const flowback::TraceEvent&) override {}
  void OnLoss(const flowback::DataLoss& loss) override {
    if (IsBetween(loss.tsc)) std::printf("# %s: %s\n", thread_.c_str(), TextOf(loss).c_str());
  }

 private:
  bool IsBetween(uint64_t tsc) const {
    const uint64_t time = clock_.ToNanoseconds(tsc);
    return tsc != 0 && time >= first_ && time <= last_;
  }
  std::string Name(const flowback::BlockRun& run, uint64_t address) {
    const auto symbol = run.space == nullptr ? std::nullopt : symbolizer_.Find(*run.space, address);
    if (symbol) return std::string(symbol->name);
    char text[20];
    std::snprintf(text, sizeof text, "%" PRIx64, address);
    return text;
  }

  flowback::TimeConversion clock_;
  uint64_t first_;
  uint64_t last_;
  flowback::Symbolizer& symbolizer_;
  std::string thread_;
};

Status List(const std::string& path, uint64_t first, uint64_t last) {
  const auto opened = Open(path);
  if (!opened) return Fail(opened.error());
  const flowback::Recording& recording = (*opened)->recording;
  flowback::StreamInputs& inputs = *(*opened)->inputs;
  const flowback::TimeConversion& clock = recording.time;
  if (!clock.known())
    return Fail(flowback::ErrorCode::kUnsupported, path + ": does not tell how its clock runs");
  inputs.set_times(true);
  // Only what can lie between the two times is decoded.
  for (const flowback::Stream& stream : recording.streams) {
    const flowback::StreamRange range = flowback::RangeOfTimes(
        inputs.source(), stream, [&](uint64_t tsc) { return clock.ToNanoseconds(tsc) < first; },
        [&](uint64_t tsc) { return clock.ToNanoseconds(tsc) > last; });
    inputs.set_from(stream, range.begin);
  }
  flowback::Symbolizer symbolizer({}, &recording);
  CallPrinter printer(clock, first, last, symbolizer);
  for (const flowback::ThreadFlow& flow : flowback::ThreadFlows(recording, inputs))
    for (const flowback::FlowPiece& piece : flow.pieces) {
      printer.set_thread(NameOf(flow.tid, piece.stream));
      if (Status status = DecodePiece(piece, inputs, *(*opened)->decoder, printer); !status)
        return status;
    }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Status done =
      argc == 4
          ? List(argv[1], std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10))
          : Fail(flowback::ErrorCode::kUsage, "usage: list_calls RECORDING FIRST LAST");
  return done ? 0 : Report("list_calls", done.error());
}
