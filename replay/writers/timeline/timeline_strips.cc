// SPDX-License-Identifier: MIT
// Strips over time: what each thread did in each column, and beside them who was on which CPU.
//
//   gzip 4711   AAAAAAAABBBBB--aaa.....CC!!
//   CPU 0       1111111111112222222
//
// A letter is the function that executed most, a sign another class of time. The letter is a
// capital where most of the column was executing; where that was little, it is a small one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"

namespace flowback {
namespace {

constexpr size_t kMostLetters = 12;
constexpr size_t kMostThreads = 32;
constexpr size_t kMostCpus = 32;
constexpr size_t kNameColumns = 18;

struct ClassSign {
  char sign;
  const char* color;
};
// By TimeClass, then spinning and sleeping.
constexpr ClassSign kSigns[] = {{'*', "\033[32m"},   {'.', "\033[90m"},  {'-', "\033[34m"},
                                {'!', "\033[31m"},   {'~', "\033[90m"},  {'?', "\033[35m"},
                                {'%', "\033[1;31m"}, {'=', "\033[1;34m"}};
static_assert(std::size(kSigns) == kTimeParts);
constexpr const char* kLetterColors[] = {"\033[1;32m", "\033[1;33m", "\033[1;36m", "\033[1;35m",
                                         "\033[32m",   "\033[33m",   "\033[36m",   "\033[35m"};

// A line of signs, with the colours between them.
class StripLine {
 public:
  explicit StripLine(bool color) : color_(color) {}
  void Add(char sign, const char* color) {
    if (color_ && color != last_) text_ += color == nullptr ? "\033[0m" : color;
    last_ = color;
    text_ += sign;
  }
  std::string Take() {
    if (color_ && last_ != nullptr) text_ += "\033[0m";
    return std::move(text_);
  }

 private:
  bool color_;
  const char* last_ = nullptr;
  std::string text_;
};

class StripPainter {
 public:
  explicit StripPainter(const TimelineView& view) : view_(view) {
    for (const uint32_t function : BySelf(view)) {
      if (letters_.size() == kMostLetters) break;
      if (view.SelfWeightOf(view.timeline->by_function[function]) == 0) break;
      const size_t number = letters_.size();
      letters_[function] = number;
      order_.push_back(function);
    }
  }

  void Append(std::string& out) {
    const Timeline& timeline = *view_.timeline;
    size_t columns = 0;
    for (const ThreadTimeline& thread : timeline.threads)
      columns = std::max(columns, thread.strip.size());
    if (columns == 0) return;
    out +=
        fmt::format("\n{} of threads\n{:<{}}  {} to {}, a column is {}\n",
                    view_.is_sampled ? "samples" : "time", "", kNameColumns,
                    MomentWords(timeline.begin, timeline.nanoseconds),
                    MomentWords(timeline.end, timeline.nanoseconds),
                    DurationWords((timeline.end - timeline.begin) / columns, timeline.nanoseconds));
    size_t shown = 0;
    for (const ThreadTimeline* thread : ByLife(timeline)) {
      if (thread->strip.empty() || shown == kMostThreads) continue;
      numbers_[thread->tid] = ++shown;
      AppendThread(*thread, out);
    }
    if (shown < timeline.threads.size())
      out += fmt::format("({} more)\n", timeline.threads.size() - shown);
    AppendCpus(out);
    AppendLegend(out);
  }

 private:
  void AppendName(std::string name, std::string& out) const {
    name = CutWords(name, kNameColumns);
    out += name;
    out.append(kNameColumns - std::min(kNameColumns, ColumnsOf(name)) + 2, ' ');
  }

  void AppendThread(const ThreadTimeline& thread, std::string& out) {
    AppendName(NameOf(view_, thread, kNameColumns), out);
    StripLine line(view_.color);
    for (size_t i = 0; i < thread.strip.size(); ++i)
      if (!AppendWait(thread, i, line)) AppendColumn(thread.strip[i], line);
    out += line.Take() + '\n';
  }

  // Returns false unless the thread waited for most of the column.
  bool AppendWait(const ThreadTimeline& thread, size_t column, StripLine& line) {
    if (view_.waits == nullptr || !view_.function.empty()) return false;
    const TimeParts parts = PartsOf(view_, thread, column);
    const uint64_t waiting = parts[kSpinning] + parts[kSleeping];
    const uint64_t all = std::accumulate(parts.begin(), parts.end(), uint64_t{0});
    if (waiting <= all / 2) return false;
    const size_t part = parts[kSpinning] > parts[kSleeping] ? kSpinning : kSleeping;
    seen_[part] = true;
    line.Add(kSigns[part].sign, kSigns[part].color);
    return true;
  }

  void AppendColumn(const StripColumn& column, StripLine& line) {
    constexpr auto kExecutes = static_cast<size_t>(TimeClass::kExecuting);
    constexpr uint64_t kLittle = 50;  // 1/50
    const auto most = std::ranges::max_element(column.times);
    if (*most == 0) return line.Add(' ', nullptr);
    if (!view_.function.empty()) return AppendFocus(column, line);
    const auto kind = static_cast<size_t>(most - column.times.begin());
    const auto letter = letters_.find(column.function);
    const bool executes = column.times[kExecutes] > *most / kLittle;
    if (!executes || letter == letters_.end() || !IsNamed(column, column.times[kExecutes])) {
      seen_[kind] = true;
      return line.Add(kSigns[kind].sign, kSigns[kind].color);
    }
    used_.insert(column.function);
    line.Add(static_cast<char>((kind == kExecutes ? 'A' : 'a') + letter->second),
             kLetterColors[letter->second % std::size(kLetterColors)]);
  }

  // A stretch with several functions has none of their letters.
  bool IsNamed(const StripColumn& column, uint64_t executing) const {
    return column.function_time > (view_.is_coarse ? executing / 2 : 0);
  }

  // Where --function names what is looked for.
  void AppendFocus(const StripColumn& column, StripLine& line) {
    uint64_t all = 0;
    for (const uint64_t time : column.times) all += time;
    focus_ = true;
    if (column.focus == 0) return line.Add('_', "\033[90m");
    line.Add(column.focus > all / 2 ? '#' : '+', kLetterColors[0]);
  }

  // Which thread was there, by its number in the strips above.
  void AppendCpus(std::string& out) {
    size_t shown = 0;
    for (const CpuStrip& cpu : view_.cpus) {
      if (++shown > kMostCpus) break;
      AppendName(fmt::format("CPU {}", cpu.cpu), out);
      StripLine line(view_.color);
      for (const int32_t tid : cpu.tids) {
        const auto number = numbers_.find(tid);
        if (tid < 0)
          line.Add(' ', nullptr);
        else if (number == numbers_.end() || number->second > 35)
          line.Add('+', nullptr);
        else
          line.Add("0123456789abcdefghijklmnopqrstuvwxyz"[number->second], nullptr);
      }
      out += line.Take() + '\n';
    }
    if (shown > kMostCpus) out += fmt::format("({} more CPUs)\n", view_.cpus.size() - kMostCpus);
  }

  void AppendLegend(std::string& out) {
    for (const uint32_t function : order_)
      if (used_.contains(function))
        out += fmt::format("  {} {}\n", static_cast<char>('A' + letters_[function]),
                           NameOf(view_, function, view_.width > 10 ? view_.width - 6 : 10));
    std::string signs;
    for (size_t part = 0; part < kTimeParts; ++part) {
      if (!seen_[part]) continue;
      const bool executes = part == static_cast<size_t>(TimeClass::kExecuting);
      signs += fmt::format("{}{} {}", signs.empty() ? "  " : "   ", kSigns[part].sign,
                           !executes         ? PartName(part)
                           : view_.is_coarse ? "other functions"
                                             : "another function");
    }
    if (focus_) signs += "  # in such calls   + a part of it   _ elsewhere";
    if (view_.is_sampled)
      signs += "   a blank: no sample";
    else if (!used_.empty())
      signs += "   a small letter: most was something else";
    if (!view_.cpus.empty()) signs += "   1 the first thread, ...";
    if (!signs.empty()) out += Wrapped(signs, 2, view_.width) + '\n';
  }

  const TimelineView& view_;
  std::map<uint32_t, size_t> letters_;  // of functions
  std::vector<uint32_t> order_;
  std::set<uint32_t> used_;
  std::map<int32_t, size_t> numbers_;  // of threads, from 1
  bool focus_ = false;
  bool seen_[kTimeParts] = {};
};

}  // namespace

void AppendStrips(const TimelineView& view, std::string& out) { StripPainter(view).Append(out); }

}  // namespace flowback
