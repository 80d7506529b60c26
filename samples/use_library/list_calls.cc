// SPDX-License-Identifier: MIT
// Lists the calls between two times:
//   list_calls RECORDING FIRST LAST    nanoseconds of the recording's clock (perf's)
// Prints "TIME THREAD: CALLER -> CALLEE" for each, one thread after the other. What was lost stands
// where it was, as '#'.
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "flowback/replay/player.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/span_decoder.h"
#include "flowback/replay/symbolizer.h"
#include "opened.h"

namespace {

using flowback::Fail;
using flowback::Status;

class CallPrinter final : public flowback::PlayConsumer {
 public:
  CallPrinter(const flowback::RecordingClock& clock, flowback::TimeSpan span,
              flowback::Symbolizer& symbolizer)
      : clock_(clock), span_(span), symbolizer_(symbolizer) {}

  void OnThreadBegin(const flowback::ThreadFlow& thread, size_t) override {
    thread_ = NameOf(thread.tid, thread.pieces.front().stream);
  }
  void OnBlock(const flowback::BlockRun& run) override {
    if (run.last != flowback::InstructionClass::kCall &&
        run.last != flowback::InstructionClass::kIndirectCall)
      return;
    // A call that was not carried out any more leads nowhere.
    if (run.next == 0 || !IsBetween(run.tsc)) return;
    std::printf("%" PRIu64 " %s: %s -> %s\n", clock_.Value(run.tsc), thread_.c_str(),
                Name(run, run.LastAddress()).c_str(), Name(run, run.next).c_str());
  }
  void OnEvent(const flowback::TraceEvent&) override {}
  void OnLoss(const flowback::DataLoss& loss) override {
    if (IsBetween(loss.tsc)) std::printf("# %s: %s\n", thread_.c_str(), TextOf(loss).c_str());
  }

 private:
  bool IsBetween(uint64_t tsc) const { return tsc != 0 && span_.Contains(clock_.Value(tsc)); }
  std::string Name(const flowback::BlockRun& run, uint64_t address) {
    const auto symbol = run.space == nullptr ? std::nullopt : symbolizer_.Find(*run.space, address);
    if (symbol) return std::string(symbol->name);
    char text[20];
    std::snprintf(text, sizeof text, "%" PRIx64, address);
    return text;
  }

  const flowback::RecordingClock& clock_;
  flowback::TimeSpan span_;
  flowback::Symbolizer& symbolizer_;
  std::string thread_;
};

Status List(const std::string& path, flowback::TimeSpan span) {
  const auto opened = Open(path);
  if (!opened) return Fail(opened.error());
  const flowback::Recording& recording = (*opened)->recording;
  const flowback::RecordingClock clock(recording);
  if (!clock.has_nanoseconds())
    return Fail(flowback::ErrorCode::kUnsupported, path + ": does not tell how its clock runs");
  flowback::StreamInputs& inputs = *(*opened)->inputs;
  inputs.set_times(true);
  // Only what can lie between the two times is decoded, and what does not is left out.
  const flowback::SpanNeeds needs{.span = span};
  const flowback::SpanRanges ranges(inputs, recording, needs, clock);
  std::atomic<bool> found = false;
  const auto make_decoder = [&]() -> flowback::Result<std::unique_ptr<flowback::Decoder>> {
    auto decoder = inputs.source().MakeDecoder("");
    if (!decoder) return decoder;
    return flowback::MakeSpanDecoder(*std::move(decoder), needs, clock, found);
  };
  const auto reaches = [&](const flowback::FlowPiece& stay) { return ranges.Reaches(stay); };
  const std::vector<flowback::ThreadFlow> flows = flowback::ThreadFlows(recording, inputs);
  flowback::Symbolizer symbolizer({}, &recording);
  CallPrinter printer(clock, span, symbolizer);
  return flowback::Player(inputs, make_decoder, {.threads = 2, .reaches = reaches})
      .Play(PointersTo(flows), printer);
}

}  // namespace

int main(int argc, char** argv) {
  const auto time = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const Status done =
      argc == 4 ? List(argv[1], {.begin = time(2), .end = time(3)})
                : Fail(flowback::ErrorCode::kUsage, "usage: list_calls RECORDING FIRST LAST");
  return done ? 0 : Report("list_calls", done.error());
}
