// SPDX-License-Identifier: MIT
// Each call as the trace event format of Chromium has it, in JSON: Perfetto (ui.perfetto.dev) and
// chrome://tracing read it.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/calls/function_texts.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/quick_text.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void AppendEndOfBegin(const ExportedFunction& function, std::string& out) {
  out += R"(,"name":)";
  AppendJsonString(out, function.name);
  if (!function.object.empty()) {
    out += R"(,"args":{"file":)";
    AppendJsonString(out, function.object);
    out += '}';
  }
  out += '}';
}

void AppendName(const ExportedFunction& function, std::string& out) {
  out += R"(,"name":)";
  AppendJsonString(out, function.name);
}

class ChromeCalls final : public CallsTeller {
 public:
  explicit ChromeCalls(TextSink& sink) : sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    ids_ = fmt::format(R"(","pid":{},"tid":{})", thread.pid, thread.tid);
    if (thread.pid >= 0 && processes_.insert(thread.pid).second)
      Describe("process_name", thread.process);
    Describe("thread_name", thread.name);
  }
  void OnEnter(const ExportedEntry& entry) override {
    const std::string& end = ends_of_begins_.Of(entry.function, calls_->functions());
    AppendUpTo(MostOfBegin() + end.size(), out(),
               [&](char* at) { return PutText(end, PutBegin('B', entry.time, at)); });
    sink_.Commit();
  }
  void OnExit(const ExportedExit& exit) override {
    constexpr std::string_view kInstructions = R"(,"args":{"instructions":)";
    const std::string& name = names_.Of(exit.function, calls_->functions());
    const size_t most = MostOfBegin() + name.size() + kInstructions.size() + kMostDigits + 2;
    AppendUpTo(most, out(), [&](char* at) {
      at = PutText(name, PutBegin('E', exit.time, at));
      if (!exit.goes_on) {
        at = PutNumber(exit.instructions, PutText(kInstructions, at));
        *at++ = '}';
      }
      *at++ = '}';
      return at;
    });
    sink_.Commit();
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    AppendUpTo(MostOfBegin(), out(), [&](char* at) { return PutBegin('i', time, at); });
    out() += R"(,"name":)";
    AppendJsonString(out(), "lost: " + std::string(cause));
    out() += R"(,"s":"t"})";
  }
  bool Done() const override { return sink_.closed(); }

 private:
  std::string& out() { return sink_.buffer(); }

  // Names the thread, or its process.
  void Describe(std::string_view what, std::string_view name) {
    if (name.empty()) return;
    fmt::format_to(std::back_inserter(out()), R"({}{{"ph":"M{},"name":"{}","args":{{"name":)",
                   Separator(), ids_, what);
    AppendJsonString(out(), name);
    out() += "}}";
  }
  std::string_view Separator() { return std::exchange(is_first_, false) ? "\n" : ",\n"; }

  // Writes the fields that come first in an event with a time. The time is in microseconds from the
  // first moment of the recording: readers keep a number of 53 bits, which a machine's clock passes
  // after 104 days.
  char* PutBegin(char phase, uint64_t clock_time, char* at) {
    const uint64_t time = clock_time - calls_->begin();
    at = PutText(kPhase, PutText(Separator(), at));
    *at++ = phase;
    at = PutNumber(time / 1000, PutText(kTime, PutText(ids_, at)));
    *at++ = '.';
    return PutDigits(time % 1000, 3, at);
  }
  size_t MostOfBegin() const {
    return kPhase.size() + ids_.size() + kTime.size() + kMostDigits +
           std::string_view(",\nB.999").size();
  }

  static constexpr std::string_view kPhase = R"({"ph":")";
  static constexpr std::string_view kTime = R"(,"ts":)";

  TextSink& sink_;
  ExportedCalls* calls_ = nullptr;
  FunctionTexts ends_of_begins_{AppendEndOfBegin};
  FunctionTexts names_{AppendName};
  std::unordered_set<int32_t> processes_;  // whose names were written
  std::string ids_;                        // the current thread's
  bool is_first_ = true;
};

}  // namespace

Status WriteChrome(const CallsExport& input, TextSink& sink) {
  ChromeCalls chrome(sink);
  ExportedCalls calls(input, chrome);
  chrome.Use(calls);
  sink.buffer() += R"({"displayTimeUnit":"ns","traceEvents":[)";
  const Status status = calls.Tell();
  const bool has_nanoseconds = input.session.clock().has_nanoseconds();
  sink.buffer() += "\n],\"otherData\":{\"recording\":";
  AppendJsonString(sink.buffer(), input.session.options().InputName());
  fmt::format_to(std::back_inserter(sink.buffer()),
                 R"(,"begin":"{}","emulated":"{}","unit of ts":"{}"}}}})"
                 "\n",
                 calls.begin(), input.session.recording().machine.emulated ? "yes" : "no",
                 has_nanoseconds ? "us" : "1000 ticks");
  sink.Commit();
  return status;
}

}  // namespace flowback
