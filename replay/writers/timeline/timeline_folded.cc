// SPDX-License-Identifier: MIT
// `export --to folded` of whole flow: call paths with their own instructions or time, a line for
// each path, as flame graphs are made from: "comm;main;f 12".
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr const char* kUnknown = "??";
constexpr const char* kCutCalls = "[calls left out]";
constexpr const char* kInKernel = "[kernel]";

// A name must not contain what separates functions.
std::string FoldedName(std::string_view name) {
  std::string text(Printable(name));
  for (char& each : text)
    if (each == ';') each = ':';
  return text;
}

// By the name that the thread had last: threads of one name are added up.
std::string FirstOf(const TimelineView& view, const ThreadTimeline& thread) {
  if (thread.tid < 0) return FoldedName(NameOf(view, thread));
  const CommSpan comm = view.threads->CommAt(thread.tid, thread.end);
  return FoldedName(comm.comm.empty() ? std::to_string(thread.tid) : std::string(comm.comm));
}

class FoldedCalls {
 public:
  explicit FoldedCalls(const TimelineView& view) : view_(view) {}

  void Add(const ThreadTimeline& thread) {
    std::vector<std::string> names(thread.paths.size());  // parents come first
    for (size_t i = 0; i < thread.paths.size(); ++i) {
      const CallPath& path = thread.paths[i];
      names[i] = i == 0 ? FirstOf(view_, thread) : names[path.parent] + ';' + FunctionOf(path);
      Add(names[i], path.is_cut ? view_.WeightOf(path.sums) : view_.SelfWeightOf(path.sums));
      if (!view_.weighs_instructions() && !path.is_cut)
        Add(IsSystemCall(path) ? names[i] : names[i] + ';' + kInKernel,
            path.sums.own[static_cast<size_t>(TimeClass::kKernel)]);
    }
  }

  void Write(TextSink& sink) const {
    for (const auto& [path, amount] : lines_) {
      fmt::format_to(std::back_inserter(sink.buffer()), "{} {}\n", path, amount);
      sink.Commit();
      if (sink.closed()) return;
    }
  }

 private:
  std::string FunctionOf(const CallPath& path) const {
    if (path.function == CallPath::kNoFunction) return path.is_cut ? kCutCalls : kUnknown;
    return FoldedName(view_.timeline->functions[path.function].name);
  }
  bool IsSystemCall(const CallPath& path) const {
    return path.function != CallPath::kNoFunction &&
           view_.timeline->functions[path.function].is_system_call;
  }
  void Add(const std::string& path, uint64_t amount) {
    if (amount != 0) lines_[path] += amount;
  }

  const TimelineView& view_;
  std::map<std::string, uint64_t> lines_;
};

}  // namespace

void WriteFoldedCalls(const TimelineView& view, TextSink& sink) {
  FoldedCalls calls(view);
  for (const ThreadTimeline& thread : view.timeline->threads) calls.Add(thread);
  calls.Write(sink);
}

}  // namespace flowback
