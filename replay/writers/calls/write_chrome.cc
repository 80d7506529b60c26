// SPDX-License-Identifier: MIT
// Each call as the trace event format of Chromium has it, in JSON: Perfetto (ui.perfetto.dev) and
// chrome://tracing read it.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/text/json.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class ChromeCalls final : public CallsTeller {
 public:
  explicit ChromeCalls(TextSink& sink) : sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    thread_ = thread;
    if (thread.name.empty()) return;
    Begin("M", "thread_name");
    out() += R"(,"args":{"name":)";
    AppendJsonString(out(), thread.name);
    out() += "}}";
  }
  void OnEnter(const ExportedEntry& entry) override {
    const ExportedFunction& function = calls_->functions()[entry.function];
    Begin("B", function.name);
    Time(entry.time);
    if (!function.object.empty()) {
      out() += R"(,"args":{"file":)";
      AppendJsonString(out(), function.object);
      out() += '}';
    }
    out() += '}';
    sink_.Commit();
  }
  void OnExit(const ExportedExit& exit) override {
    Begin("E", calls_->functions()[exit.function].name);
    Time(exit.time);
    if (!exit.goes_on)
      fmt::format_to(std::back_inserter(out()), FMT_COMPILE(R"(,"args":{{"instructions":{}}})"),
                     exit.instructions);
    out() += '}';
    sink_.Commit();
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    Begin("i", "lost: " + std::string(cause));
    Time(time);
    out() += R"(,"s":"t"})";
  }
  bool Done() const override { return sink_.closed(); }

 private:
  std::string& out() { return sink_.buffer(); }

  void Begin(std::string_view phase, std::string_view name) {
    out() += std::exchange(is_first_, false) ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(out()),
                   FMT_COMPILE(R"({{"ph":"{}","pid":{},"tid":{},"name":)"), phase, thread_.pid,
                   thread_.tid);
    AppendJsonString(out(), name);
  }
  // In microseconds from the first moment of the recording: readers keep a number of 53 bits, which
  // a machine's clock passes after 104 days.
  void Time(uint64_t clock_time) {
    const uint64_t time = clock_time - calls_->begin();
    fmt::format_to(std::back_inserter(out()), FMT_COMPILE(R"(,"ts":{}.{:03})"), time / 1000,
                   time % 1000);
  }

  TextSink& sink_;
  ExportedCalls* calls_ = nullptr;
  ExportedThread thread_;
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
