// SPDX-License-Identifier: MIT
// Each call in speedscope's file format (www.speedscope.app), a profile for each thread. Times
// count from the first moment of the recording.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/quick_text.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class SpeedscopeCalls final : public CallsTeller {
 public:
  SpeedscopeCalls(std::string_view unit, TextSink& sink) : unit_(unit), sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }

  // A thread without a call has no profile.
  void OnThread(const ExportedThread& thread) override {
    thread_ = thread;
    has_begun_ = false;
  }
  void OnEnter(const ExportedEntry& entry) override {
    if (!has_begun_) BeginProfile(entry.time);
    Event('O', entry.function, entry.time);
  }
  void OnExit(const ExportedExit& exit) override { Event('C', exit.function, exit.time); }
  void OnThreadEnd(uint64_t time) override {
    if (!has_begun_) return;
    fmt::format_to(std::back_inserter(out()), "\n],\"endValue\":{}}}", Number(time));
    sink_.Commit();
  }
  bool Done() const override { return sink_.closed(); }

 private:
  std::string& out() { return sink_.buffer(); }

  // A JSON number holds 2^53 exactly: a machine's clock passes that after 104 days.
  uint64_t Number(uint64_t time) const { return time - calls_->begin(); }

  void BeginProfile(uint64_t time) {
    has_begun_ = is_first_event_ = true;
    out() += is_first_profile_ ? "\n{" : ",\n{";
    is_first_profile_ = false;
    out() += R"("type":"evented","name":)";
    AppendJsonString(out(), thread_.name.empty() ? std::to_string(thread_.tid)
                                                 : fmt::format("{} {}", thread_.name, thread_.tid));
    fmt::format_to(std::back_inserter(out()), R"(,"unit":"{}","startValue":{},"events":[)", unit_,
                   Number(time));
  }
  void Event(char kind, uint32_t frame, uint64_t time) {
    constexpr std::string_view kBegin = ",\n{\"type\":\"";
    constexpr std::string_view kFrame = "\",\"frame\":";
    constexpr std::string_view kAt = ",\"at\":";
    constexpr size_t kMost = kBegin.size() + kFrame.size() + kAt.size() + 2 * kMostDigits + 2;
    AppendUpTo(kMost, out(), [&](char* at) {
      at = PutText(kBegin.substr(is_first_event_ ? 1 : 0), at);
      *at++ = kind;
      at = PutNumber(frame, PutText(kFrame, at));
      at = PutNumber(Number(time), PutText(kAt, at));
      *at++ = '}';
      return at;
    });
    is_first_event_ = false;
    sink_.Commit();
  }

  const std::string_view unit_;
  TextSink& sink_;
  const ExportedCalls* calls_ = nullptr;
  ExportedThread thread_;
  bool has_begun_ = false;
  bool is_first_profile_ = true;
  bool is_first_event_ = true;
};

void AppendFrame(const ExportedFunction& function, std::string& out) {
  out += "\n{\"name\":";
  AppendJsonString(out, function.name);
  if (!function.object.empty()) {
    out += ",\"file\":";
    AppendJsonString(out, function.object);
  }
  out += '}';
}

}  // namespace

Status WriteSpeedscope(const CallsExport& input, TextSink& sink) {
  const bool has_nanoseconds = input.session.clock().has_nanoseconds();
  SpeedscopeCalls speedscope(has_nanoseconds ? "nanoseconds" : "none", sink);
  ExportedCalls calls(input, speedscope);
  speedscope.Use(calls);
  sink.buffer() +=
      R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"flowback","name":)";
  AppendJsonString(sink.buffer(), input.session.options().InputName());
  sink.buffer() += R"(,"profiles":[)";
  const Status status = calls.Tell();
  sink.buffer() += "],\n\"shared\":{\"frames\":[";
  for (size_t i = 0; i < calls.functions().size(); ++i) {
    if (i != 0) sink.buffer() += ',';
    AppendFrame(calls.functions()[i], sink.buffer());
    sink.Commit();
  }
  sink.buffer() += "]}}\n";
  sink.Commit();
  return status;
}

}  // namespace flowback
