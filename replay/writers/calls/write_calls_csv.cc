// SPDX-License-Identifier: MIT
// Each call on a line, when it is left: for spreadsheets and data frames (RFC 4180).
#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "replay/writers/calls/exported_calls.h"
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

class CsvCalls final : public CallsTeller {
 public:
  explicit CsvCalls(TextSink& sink) : sink_(sink) {}
  void Use(ExportedCalls& calls) { calls_ = &calls; }

  void OnThread(const ExportedThread& thread) override {
    thread_ = thread;
    depth_ = 0;
  }
  void OnEnter(const ExportedEntry&) override { ++depth_; }
  void OnExit(const ExportedExit& exit) override {
    --depth_;
    if (exit.goes_on) return;
    const ExportedFunction& function = calls_->functions()[exit.function];
    std::string& out = sink_.buffer();
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{},{},{},{},{},{},{},"), thread_.pid,
                   thread_.tid, exit.begin, exit.time - exit.begin, depth_, exit.instructions,
                   exit.self);
    AppendField(function.name, out);
    out += ',';
    AppendField(function.object, out);
    out += "\r\n";
    sink_.Commit();
  }
  bool Done() const override { return sink_.closed(); }

 private:
  TextSink& sink_;
  ExportedCalls* calls_ = nullptr;
  ExportedThread thread_;
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
