// SPDX-License-Identifier: MIT
// Writes what analyses find out, in formats that other programs read, and as pictures.
//
//   flowback::StringSink sink;
//   flowback::FindWriter<flowback::TimelineWriter>("json")->write(
//       flowback::TimelineView::Of(session, timeline), sink);
//   flowback::FindWriter<flowback::CoverageWriter>("lcov")->write(
//       {.report = report, .counts = counts, .lines = &session.lines()}, sink);
//
// Writers() lists all formats; a writer's type says what the format is written from.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/coverage_report.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/timeline.h"
#include "flowback/session.h"

namespace flowback {

struct CoverageChanges;  // replay/coverage/report/coverage_changes.h
struct LocksView;        // replay/writers/locks/locks_view.h

// Where a writer's text goes. A writer appends to buffer() and calls Commit() now and then. The
// sink collects the text; a derived class takes it in large writes. Not thread-safe.
class TextSink {
 public:
  virtual ~TextSink() = default;

  // The pending text: append to it, then call Commit.
  std::string& buffer() { return buffer_; }
  // Hands the pending text on once it is large, or has waited for long.
  void Commit() {
    if (buffer_.size() >= write_size_ || IsOld()) Flush();
  }
  // Large text is not copied into the buffer first.
  void Write(std::string_view text) {
    if (text.size() >= write_size_) return Take(text);
    buffer_ += text;
    Commit();
  }
  // Hands the pending text on now, unless the sink has a reason to keep it.
  void Flush() { Take({}); }

  // True once no more text is wanted: the reader has gone, or writing failed. The sink ignores text
  // that follows.
  bool closed() const { return closed_; }

 protected:
  static constexpr size_t kMostWrite = 256 * 1024;

  TextSink() = default;
  TextSink(TextSink&& other) noexcept
      : buffer_(std::exchange(other.buffer_, {})),
        write_size_(other.write_size_),
        commits_(other.commits_),
        taken_(other.taken_),
        closed_(other.closed_) {}
  TextSink& operator=(TextSink&&) = delete;

  // Hands on the pending text, then `more`, and calls Taken. Or appends `more` to the pending text,
  // to hand both on later.
  virtual void Take(std::string_view more) = 0;
  // Empties the buffer, whose text was handed on. Writes grow: only the first ones are small.
  void Taken() {
    buffer_.clear();
    write_size_ = std::min(2 * write_size_, kMostWrite);
    taken_ = std::chrono::steady_clock::now();
  }
  void set_closed(bool closed) { closed_ = closed; }

 private:
  // The first lines go out soon: the user may be waiting for them.
  static constexpr size_t kFirstWrite = 4 * 1024;
  static constexpr unsigned kCommits = 64;

  // Looks at the clock once in kCommits commits: a look costs as much as a short line.
  bool IsOld() { return ++commits_ % kCommits == 0 && Waited(); }
  bool Waited() const;

  std::string buffer_;
  size_t write_size_ = kFirstWrite;
  unsigned commits_ = 0;
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
  bool closed_ = false;
};

// Keeps all text in memory.
class StringSink final : public TextSink {
 public:
  // Returns all text so far.
  const std::string& text() {
    Flush();
    return text_;
  }

 private:
  void Take(std::string_view more) override;

  std::string text_;
};

// The input of the coverage formats: a report, and how to show it.
struct CoverageView {
  const CoverageReport& report;
  const CoverageCounts& counts;  // those of the report
  SourceLines* lines = nullptr;  // gives the text of branches' lines; null: none is shown
  std::string source_root;       // folder under which source files lie; empty: where they were
  std::string names_under = {};  // names of files below that folder are relative to it; empty: none
  size_t rows = 20;              // of each list of a summary
  std::string sort = "size";     // of its functions: "size", "name" or "address"
  int64_t date = 0;              // of the newest input, in seconds since 1970; 0: none
  const CoverageChanges* changes = nullptr;  // since a baseline; null: no baseline
};

using CoverageWriter = void(const CoverageView&, TextSink&);

// The order of functions and call paths (--sort).
enum class TimelineSort : uint8_t { kTime, kInstructions, kCalls, kTotal };

// The input of the timeline formats. The view refers to these objects, which must outlive it.
struct TimelineView {
  // Returns a view that shows a timeline of the session as the `timeline` command does. `columns`
  // is the number of TimelineOptions::columns.
  static TimelineView Of(Session& session, const Timeline& timeline, size_t columns = 0);

  const Timeline* timeline = nullptr;
  const Recording* recording = nullptr;
  const Threads* threads = nullptr;
  const RecordingClock* clock = nullptr;
  SourceLines* lines = nullptr;
  std::vector<CpuStrip> cpus;
  // The threads' waits, of the same flows and span; null: they are not shown.
  const LocksView* waits = nullptr;
  std::string input;
  std::string function;     // --function, as it was given
  size_t rows = 20;         // of each profile
  uint64_t max_depth = 32;  // of call paths
  size_t width = 120;       // of a line
  bool color = false;
  bool is_part = false;  // --time, --tid, ... leave something out
  // A column knows a function's share of a stretch around it, not who executed in it.
  bool is_coarse = false;
  bool is_sampled = false;  // numbers of samples are in the place of times
  TimelineSort sort = TimelineSort::kTime;

  // If false, instructions replace times.
  bool has_times() const { return timeline->begin < timeline->end; }
  // Returns whether the trace contains a processor's cycles. An emulator's cycles are only its
  // clock.
  bool has_cycles() const {
    return !timeline->emulated && timeline->paths.front().sums.cycles.any();
  }
  // Whether shares are shares of the instructions; else they are shares of the time.
  bool weighs_instructions() const {
    const bool asks_for_time = sort == TimelineSort::kTime || sort == TimelineSort::kTotal;
    return !has_times() || sort == TimelineSort::kInstructions ||
           (timeline->emulated && !asks_for_time);
  }
  uint64_t WeightOf(const CallSums& sums) const {
    return weighs_instructions() ? sums.instructions : sums.total;
  }
  uint64_t SelfWeightOf(const CallSums& sums) const {
    return weighs_instructions() ? sums.self_instructions : sums.self.time;
  }
};

using TimelineWriter = void(const TimelineView&, TextSink&);

// A row of the table.
class Writer {
 public:
  template <class Function>
  Writer(std::string_view row_name, Function* write, std::string_view row_summary)
      : name(row_name),
        summary(row_summary),
        type_(&typeid(Function)),
        write_(reinterpret_cast<AnyFunction*>(write)) {}

  // Returns null if the row's function has another type.
  template <class Function>
  Function* As() const {
    return *type_ == typeid(Function) ? reinterpret_cast<Function*>(write_) : nullptr;
  }

  std::string_view name;  // as options take it
  std::string_view summary;

 private:
  using AnyFunction = void();

  const std::type_info* type_;
  AnyFunction* write_;
};

// Returns all rows, in the order of the table.
std::span<const Writer> Writers();

// A row whose function has this type.
template <class Function>
struct WriterOf {
  std::string_view name;
  Function* write;
  std::string_view summary;
};

// Returns the rows whose functions have this type, in the order of the table.
template <class Function>
std::vector<WriterOf<Function>> WritersOf() {
  std::vector<WriterOf<Function>> found;
  for (const Writer& each : Writers())
    if (Function* const write = each.As<Function>())
      found.push_back({each.name, write, each.summary});
  return found;
}

// Returns nothing if no row of this type has the name.
template <class Function>
std::optional<WriterOf<Function>> FindWriter(std::string_view name) {
  const std::vector<WriterOf<Function>> all = WritersOf<Function>();
  const auto found = std::ranges::find(all, name, &WriterOf<Function>::name);
  if (found == all.end()) return std::nullopt;
  return *found;
}

}  // namespace flowback
