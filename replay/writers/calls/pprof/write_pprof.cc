// SPDX-License-Identifier: MIT
// Call paths as pprof reads them: a sample for each, with its own instructions and time, and how
// often it was called. A caller stands at the place of the call, with what was inlined there; the
// innermost function stands at its entry.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "pprof.pb.h"
#include "replay/writers/calls/exported_paths.h"
#include "replay/writers/calls/message_field.h"
#include "replay/writers/calls/pprof/pprof_places.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

using pprof::Profile;

class PprofText {
 public:
  PprofText(Session& session, const std::vector<ExportedFunction>& functions,
            const ExportedPaths& paths, TextSink& sink)
      : paths_(paths), places_(session, functions, sink), sink_(sink) {
    const auto main = std::ranges::find(functions, "main", &ExportedFunction::name);
    if (main != functions.end()) places_.Map(*main);
  }

  void WriteTypes(bool has_nanoseconds) {
    WriteType("calls", "count");
    WriteType("instructions", "count");
    WriteType("time", has_nanoseconds ? "nanoseconds" : "ticks");
  }
  // `best`: the type that a reader shows first.
  void WriteHead(const std::string& comment, std::string_view best) {
    Profile head;
    head.add_comment(places_.Text(comment));
    head.set_default_sample_type(places_.Text(best));
    head.AppendToString(&sink_.buffer());
  }
  void WriteSamples() {
    for (const ExportedPath& path : paths_.paths()) {
      if (path.calls != 0 || path.instructions != 0 || path.time != 0) WriteSample(path);
      if (sink_.closed()) return;
    }
  }
  void Finish() { places_.Finish(); }

 private:
  void WriteType(std::string_view type, std::string_view unit) {
    pprof::ValueType value;
    value.set_type(places_.Text(type));
    value.set_unit(places_.Text(unit));
    AppendMessage(Profile::kSampleTypeFieldNumber, value, sink_.buffer());
  }

  void WriteSample(const ExportedPath& path) {
    pprof::Sample sample;
    AddStack(path, sample);
    sample.add_value(static_cast<int64_t>(path.calls));
    sample.add_value(static_cast<int64_t>(path.instructions));
    sample.add_value(static_cast<int64_t>(path.time));
    const ExportedThread& thread = paths_.threads()[path.thread];
    pprof::Label& tid = *sample.add_label();
    tid.set_key(places_.Text("tid"));
    tid.set_num(thread.tid);
    if (!thread.name.empty()) {
      pprof::Label& name = *sample.add_label();
      name.set_key(places_.Text("thread"));
      name.set_str(places_.Text(thread.name));
    }
    AppendMessage(Profile::kSampleFieldNumber, sample, sink_.buffer());
    sink_.Commit();
  }
  // The innermost first.
  void AddStack(const ExportedPath& innermost, pprof::Sample& sample) {
    const ExportedPath* called = nullptr;
    const ExportedPath* path = &innermost;
    for (; !path->IsRoot(); called = path, path = &paths_.paths()[path->parent]) {
      if (path->function == ExportedPath::kCut)
        sample.add_location_id(places_.Named("[calls left out]"));
      else if (called == nullptr)
        sample.add_location_id(places_.Location(path->function, nullptr, 0));
      else
        sample.add_location_id(places_.Location(path->function, called->space, called->site));
    }
    if (innermost.IsRoot()) sample.add_location_id(places_.Named("[in no known call]"));
  }

  const ExportedPaths& paths_;
  PprofPlaces places_;
  TextSink& sink_;
};

}  // namespace

Status WritePprof(const CallsExport& input, TextSink& sink) {
  ExportedPaths paths(true, sink);
  ExportedCalls calls(input, paths);
  const Status status = calls.Tell();
  const bool emulated = input.session.recording().machine.emulated;
  PprofText text(input.session, calls.functions(), paths, sink);
  text.WriteTypes(input.session.clock().has_nanoseconds());
  text.WriteHead("flowback: " + input.session.options().InputName() +
                     (emulated ? ": emulated: times are the emulator's" : ""),
                 emulated || !input.session.Span() ? "instructions" : "time");
  text.WriteSamples();
  text.Finish();
  sink.Commit();
  if (paths.is_cut() && input.warn)
    input.warn(
        "of more call paths than a profile holds those that came last are "
        "\"[calls left out]\"",
        {"--tid, --function or --max-depth leaves some out"});
  return status;
}

}  // namespace flowback
