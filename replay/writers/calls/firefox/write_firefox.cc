// SPDX-License-Identifier: MIT
// Each call in the processed format of the Firefox Profiler (profiler.firefox.com), version 57: a
// sample for each moment at which the innermost call changed, with the stack that it changed to.
// The sample's weight is the time until the next one, so that the call tree adds up to the truth.
//
//   {"meta":{...},"libs":[],"pages":[],
//    "threads":[{"samples":{"stack":[...],"time":[...],"weight":[...]}, ... "stackTable":{...}}],
//    "shared":{"stringArray":[...]}}
#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/path_text.h"
#include "replay/writers/calls/exported_paths.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/quick_text.h"
#include "replay/writers/text/spooled_text.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr std::string_view kMetaRest =
    R"("interval":0.001,"stackwalk":1,"debug":0,"gcpoison":0,"asyncstack":0,"processType":0,)"
    R"("symbolicated":true,"keepProfileThreadOrder":true,)"
    R"("categories":[{"name":"Program","color":"green","subcategories":["Other"]},)"
    R"({"name":"Shared libraries","color":"blue","subcategories":["Other"]},)"
    R"({"name":"System calls","color":"orange","subcategories":["Other"]},)"
    R"({"name":"Other","color":"grey","subcategories":["Other"]}],)"
    R"("markerSchema":[{"name":"totals","tooltipLabel":"{marker.name}","tableLabel":)"
    R"("{marker.data.calls} calls, {marker.data.instructions} instructions",)"
    R"("display":["marker-table","marker-chart"],"fields":[)"
    R"({"key":"calls","label":"Calls","format":"integer"},)"
    R"({"key":"instructions","label":"Instructions","format":"integer"}]}])";

// The categories of kMetaRest, in its order: colours of the graph and the charts.
enum class FirefoxCategory : uint8_t { kProgram, kLibraries, kSystemCalls, kOther };

std::string_view Digit(FirefoxCategory category) {
  return std::string_view("0123").substr(static_cast<size_t>(category), 1);
}

// A library is a file whose name ends in .so, or has a version behind that.
FirefoxCategory CategoryOf(const ExportedFunction& function) {
  if (function.is_system_call) return FirefoxCategory::kSystemCalls;
  const std::string_view file = LastPart(function.object);
  return file.ends_with(".so") || file.contains(".so.") ? FirefoxCategory::kLibraries
                                                        : FirefoxCategory::kProgram;
}

// Milliseconds, to the nanosecond.
void AppendMilliseconds(uint64_t nanoseconds, std::string& out) {
  constexpr uint64_t kMillisecond = 1'000'000;
  constexpr size_t kFraction = 6;
  AppendUpTo(kMostDigits + 1 + kFraction, out, [&](char* at) {
    at = PutNumber(nanoseconds / kMillisecond, at);
    *at++ = '.';
    return PutDigits(nanoseconds % kMillisecond, kFraction, at);
  });
}

// Texts that all threads refer to by number.
class FirefoxTexts {
 public:
  size_t NumberOf(const std::string& text) {
    return numbers_.try_emplace(text, numbers_.size()).first->second;
  }
  void Write(TextSink& sink) const {
    std::vector<const std::string*> list(numbers_.size());
    for (const auto& [text, number] : numbers_) list[number] = &text;
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) sink.buffer() += ",\n";
      AppendJsonString(sink.buffer(), *list[i]);
      sink.Commit();
    }
  }

 private:
  std::unordered_map<std::string, size_t> numbers_;
};

// A column of a table, as it grows. `Item` appends the value.
class FirefoxColumn {
 public:
  template <class Item>
  void Add(const Item& append) {
    if (count_++ != 0) text_.buffer() += ',';
    append(text_.buffer());
    text_.Commit();
  }
  size_t count() const { return count_; }
  Status MoveTo(TextSink& sink) {
    count_ = 0;
    return text_.MoveTo(sink);
  }

 private:
  SpooledText text_;
  size_t count_ = 0;
};

class FirefoxCalls final : public CallsTeller {
 public:
  explicit FirefoxCalls(TextSink& sink) : sink_(sink) {}
  void Use(const ExportedCalls& calls) { calls_ = &calls; }
  FirefoxTexts& texts() { return texts_; }
  const Status& status() const { return status_; }
  bool is_cut() const { return is_cut_; }

  void OnThread(const ExportedThread& thread) override {
    thread_ = thread;
    paths_.emplace(false, sink_);
    paths_->OnThread(thread);
    begin_ = last_ = 0;
    calls_of_thread_ = instructions_ = 0;
  }
  void OnEnter(const ExportedEntry& entry) override {
    paths_->OnEnter(entry);
    Change(entry.time);
  }
  void OnExit(const ExportedExit& exit) override {
    paths_->OnExit(exit);
    if (!exit.goes_on) {
      ++calls_of_thread_;
      instructions_ += exit.self;
    }
    Change(exit.time);
  }
  void OnLoss(std::string_view cause, uint64_t time) override {
    AddMarker("lost: " + std::string(cause), time, "null");
  }
  void OnThreadEnd(uint64_t time) override {
    paths_->OnThreadEnd(time);
    Change(time);
    if (has_sample_) AddSample(0);
    is_cut_ = is_cut_ || paths_->is_cut();
    AddMarker("totals of the thread", begin_,
              fmt::format(R"({{"type":"totals","calls":{},"instructions":{}}})", calls_of_thread_,
                          instructions_));
    WriteThread(time);
  }
  bool Done() const override { return sink_.closed() || !status_; }

 private:
  std::string& out() { return sink_.buffer(); }
  uint64_t FromBegin(uint64_t time) const { return time - calls_->begin(); }

  // If several changes have one time, only the last one lasts.
  void Change(uint64_t time) {
    if (!has_sample_) begin_ = time;
    if (has_sample_ && time != last_) AddSample(time - last_);
    has_sample_ = true;
    last_ = time;
    at_ = paths_->at();
  }
  void AddSample(uint64_t lasts) {
    stacks_.Add([&](std::string& text) {
      if (paths_->paths()[at_].IsRoot())
        text += "null";
      else
        AppendUpTo(kMostDigits, text, [&](char* at) { return PutNumber(at_ - 1, at); });
    });
    times_.Add([&](std::string& text) { AppendMilliseconds(FromBegin(last_), text); });
    weights_.Add([&](std::string& text) { AppendMilliseconds(lasts, text); });
  }
  void AddMarker(const std::string& name, uint64_t time, std::string_view data) {
    marker_names_.Add([&](std::string& text) { text += std::to_string(texts_.NumberOf(name)); });
    marker_times_.Add([&](std::string& text) {
      AppendMilliseconds(time < calls_->begin() ? 0 : FromBegin(time), text);
    });
    marker_data_.Add([&](std::string& text) { text += data; });
  }

  // Threads of a process often have one name. The page shows the process's number beside the first.
  std::string Title() const {
    const std::string name = thread_.name.empty() ? "thread" : thread_.name;
    return thread_.pid == thread_.tid ? name : fmt::format("{} {}", name, thread_.tid);
  }
  void WriteThread(uint64_t end) {
    has_sample_ = false;
    out() += is_first_ ? "\n{" : ",\n{";
    is_first_ = false;
    out() += R"("processType":"default","processStartupTime":0,"processShutdownTime":null,"name":)";
    AppendJsonString(out(), Title());
    out() += R"(,"processName":)";
    AppendJsonString(out(), thread_.process);
    fmt::format_to(std::back_inserter(out()),
                   R"(,"pausedRanges":[],"isMainThread":{},"pid":"{}","tid":{},"registerTime":)",
                   thread_.pid == thread_.tid, thread_.pid, thread_.tid);
    AppendMilliseconds(begin_ == 0 ? 0 : FromBegin(begin_), out());
    out() += R"(,"unregisterTime":)";
    AppendMilliseconds(begin_ == 0 ? 0 : FromBegin(end), out());
    const size_t samples = stacks_.count();
    out() += ",\n\"samples\":{\"stack\":[";
    Move(stacks_);
    out() += "],\n\"time\":[";
    Move(times_);
    out() += "],\n\"weight\":[";
    Move(weights_);
    fmt::format_to(std::back_inserter(out()), R"(],"weightType":"tracing-ms","length":{}}})",
                   samples);
    WriteMarkers();
    WriteTables();
    out() += '}';
    sink_.Commit();
  }
  void Move(FirefoxColumn& column) {
    if (Status status = column.MoveTo(sink_); !status && status_) status_ = status;
  }

  void WriteMarkers() {
    const size_t count = marker_names_.count();
    const auto repeated = [&](std::string_view value) {
      for (size_t i = 0; i < count; ++i) out().append(i == 0 ? "" : ",").append(value);
      sink_.Commit();
    };
    out() += ",\n\"markers\":{\"name\":[";
    Move(marker_names_);
    out() += R"(],"startTime":[)";
    Move(marker_times_);
    out() += R"(],"endTime":[)";
    repeated("null");
    out() += R"(],"phase":[)";
    repeated("0");
    out() += R"(],"category":[)";
    repeated(Digit(FirefoxCategory::kOther));
    out() += R"(],"data":[)";
    Move(marker_data_);
    fmt::format_to(std::back_inserter(out()), R"(],"length":{}}})", count);
  }

  // Writes a column with a value for each of `count`.
  template <class Value>
  void Column(std::string_view name, size_t count, const Value& value) {
    out().append("\"").append(name).append("\":[");
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) out() += ',';
      out() += value(i);
      if (i % 64 == 63) sink_.Commit();
    }
    out() += "],";
  }

  // Frame, function and resource tables of the functions that the thread has called; frame i is
  // function i.
  void WriteTables() {
    const std::vector<ExportedPath>& paths = paths_->paths();
    std::unordered_map<uint32_t, size_t> numbers;
    std::vector<uint32_t> functions;
    for (const ExportedPath& path : paths)
      if (!path.IsRoot() && numbers.try_emplace(path.function, functions.size()).second)
        functions.push_back(path.function);
    const auto same = [](std::string_view value) { return [value](size_t) { return value; }; };
    out() += ",\n\"stackTable\":{";
    Column("frame", paths.size() - 1,
           [&](size_t i) { return std::to_string(numbers[paths[i + 1].function]); });
    Column("prefix", paths.size() - 1, [&](size_t i) {
      const uint32_t parent = paths[i + 1].parent;
      return parent == 0 ? "null" : std::to_string(parent - 1);
    });
    fmt::format_to(std::back_inserter(out()), "\"length\":{}}},\n\"frameTable\":{{",
                   paths.size() - 1);
    const size_t count = functions.size();
    Column("address", count, same("-1"));
    Column("inlineDepth", count, same("0"));
    Column("category", count, [&](size_t i) {
      return Digit(functions[i] == ExportedPath::kCut
                       ? FirefoxCategory::kOther
                       : CategoryOf(calls_->functions()[functions[i]]));
    });
    Column("subcategory", count, same("0"));
    Column("func", count, [](size_t i) { return std::to_string(i); });
    for (const std::string_view none : {"nativeSymbol", "innerWindowID", "line", "column"})
      Column(none, count, same("null"));
    fmt::format_to(std::back_inserter(out()), "\"length\":{}}},\n", count);
    WriteFunctions(functions);
  }

  void WriteFunctions(const std::vector<uint32_t>& functions) {
    std::unordered_map<std::string, size_t> numbers;
    std::vector<std::string> resources;
    const auto resource = [&](size_t i) -> std::string {
      if (functions[i] == ExportedPath::kCut) return "-1";
      const std::string& object = calls_->functions()[functions[i]].object;
      if (object.empty()) return "-1";
      const auto [at, is_new] = numbers.try_emplace(object, resources.size());
      if (is_new) resources.push_back(object);
      return std::to_string(at->second);
    };
    const auto name = [&](size_t i) {
      return std::to_string(texts_.NumberOf(functions[i] == ExportedPath::kCut
                                                ? "[calls left out]"
                                                : calls_->functions()[functions[i]].name));
    };
    const auto same = [](std::string_view value) { return [value](size_t) { return value; }; };
    const size_t count = functions.size();
    out() += "\"funcTable\":{";
    Column("name", count, name);
    Column("isJS", count, same("false"));
    Column("relevantForJS", count, same("false"));
    Column("resource", count, resource);
    for (const std::string_view none : {"fileName", "lineNumber", "columnNumber"})
      Column(none, count, same("null"));
    fmt::format_to(std::back_inserter(out()), "\"length\":{}}},\n\"resourceTable\":{{", count);
    Column("name", resources.size(), [&](size_t i) {
      const size_t slash = resources[i].rfind('/');
      return std::to_string(texts_.NumberOf(
          slash == std::string::npos ? resources[i] : resources[i].substr(slash + 1)));
    });
    Column("lib", resources.size(), same("null"));
    Column("host", resources.size(), same("null"));
    Column("type", resources.size(), same("1"));
    fmt::format_to(std::back_inserter(out()),
                   "\"length\":{}}},\n\"nativeSymbols\":{{\"libIndex\":[],\"address\":[],"
                   "\"name\":[],\"functionSize\":[],\"length\":0}}",
                   resources.size());
  }

  TextSink& sink_;
  const ExportedCalls* calls_ = nullptr;
  FirefoxTexts texts_;
  Status status_;
  bool is_first_ = true;
  bool is_cut_ = false;
  // State of the current thread.
  ExportedThread thread_;
  std::optional<ExportedPaths> paths_;
  FirefoxColumn stacks_, times_, weights_;
  FirefoxColumn marker_names_, marker_times_, marker_data_;
  bool has_sample_ = false;
  uint32_t at_ = 0;  // of the sample that is not written yet
  uint64_t begin_ = 0;
  uint64_t last_ = 0;
  uint64_t calls_of_thread_ = 0;
  uint64_t instructions_ = 0;
};

}  // namespace

Status WriteFirefox(const CallsExport& input, TextSink& sink) {
  FirefoxCalls firefox(sink);
  ExportedCalls calls(input, firefox);
  firefox.Use(calls);
  const MachineInfo& machine = input.session.recording().machine;
  std::string& out = sink.buffer();
  out += R"({"meta":{"version":30,"preprocessedProfileVersion":57,"startTime":0,)";
  out += kMetaRest;
  out += R"(,"product":)";
  AppendJsonString(
      out, machine.emulated ? "flowback: emulated, so times are the emulator's" : "flowback");
  out += R"(,"importedFrom":)";
  AppendJsonString(out, "flowback: " + input.session.options().InputName());
  out += R"(},"libs":[],"pages":[],"threads":[)";
  Status status = calls.Tell();
  sink.buffer() += "],\n\"shared\":{\"stringArray\":[";
  firefox.texts().Write(sink);
  sink.buffer() += "]}}\n";
  sink.Commit();
  if (firefox.is_cut() && input.warn)
    input.warn(
        "of more call paths than a thread's table holds those that came last are "
        "\"[calls left out]\"",
        {"--tid, --function or --max-depth leaves some out"});
  return status ? firefox.status() : status;
}

}  // namespace flowback
