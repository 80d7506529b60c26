// SPDX-License-Identifier: MIT
// Each call on a line, when it is left: for spreadsheets and data frames (RFC 4180).
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
#include "replay/writers/calls/function_texts.h"
#include "replay/writers/text/quick_text.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void AppendField(std::string_view text, std::string& out) {
  out += '"';
  for (const char each : text) {
    if (each == '"') out += '"';
    out += each;
  }
  out += '"';
}

void AppendLineEnd(const ExportedFunction& function, std::string& out) {
  AppendField(function.name, out);
  out += ',';
  AppendField(function.object, out);
  out += "\r\n";
}

class CsvCalls final : public CallsTeller {
 public:
  explicit CsvCalls(TextSink& sink) : sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    line_begin_ = fmt::format("{},{},", thread.pid, thread.tid);
    depth_ = 0;
  }
  void OnEnter(const ExportedEntry&) override { ++depth_; }
  void OnExit(const ExportedExit& exit) override {
    --depth_;
    if (exit.goes_on) return;
    const uint64_t numbers[] = {exit.begin, exit.time - exit.begin, depth_, exit.instructions,
                                exit.self};
    const std::string& end = line_ends_.Of(exit.function, calls_->functions());
    const size_t most = line_begin_.size() + std::size(numbers) * (kMostDigits + 1) + end.size();
    AppendUpTo(most, sink_.buffer(), [&](char* at) {
      at = PutText(line_begin_, at);
      for (const uint64_t number : numbers) {
        at = PutNumber(number, at);
        *at++ = ',';
      }
      return PutText(end, at);
    });
    sink_.Commit();
  }
  bool Done() const override { return sink_.closed(); }

 private:
  TextSink& sink_;
  ExportedCalls* calls_ = nullptr;
  FunctionTexts line_ends_{AppendLineEnd};
  std::string line_begin_;
  size_t depth_ = 0;
};

}  // namespace

Status WriteCallsCsv(const CallsExport& input, TextSink& sink) {
  CsvCalls csv(sink);
  ExportedCalls calls(input, csv);
  csv.Use(calls);
  sink.buffer() += "pid,tid,begin,duration,depth,instructions,self,function,object\r\n";
  return calls.Tell();
}

}  // namespace flowback
