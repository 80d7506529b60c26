// SPDX-License-Identifier: MIT
#include "cli/report/timeline_part.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace flowback::cli {
namespace {

using ReportJson = nlohmann::json;
using ReportNumbers = std::vector<int64_t>;

// Returns the page's data: JSON, in which no '<' stands.
std::string_view DataOf(std::string_view page) {
  constexpr std::string_view kBegin = "<script id=\"data\" type=\"application/json\">";
  const size_t at = page.find(kBegin);
  if (at == std::string_view::npos) return {};
  page.remove_prefix(at + kBegin.size());
  return page.substr(0, page.find('<'));
}

ReportNumbers NumbersOf(const ReportJson& json) {
  ReportNumbers numbers;
  if (!json.is_array()) return numbers;
  numbers.reserve(json.size());
  for (const ReportJson& each : json) numbers.push_back(each.is_number() ? each.get<int64_t>() : 0);
  return numbers;
}

// Returns the indexes of the `most` largest numbers, in order of the indexes.
std::vector<size_t> Largest(const ReportNumbers& numbers, size_t most) {
  std::vector<size_t> all(numbers.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (all.size() > most) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(all.begin(), end, all.end(), [&](size_t a, size_t b) {
      return std::pair(-numbers[a], a) < std::pair(-numbers[b], b);
    });
    all.erase(end, all.end());
    std::ranges::sort(all);
  }
  return all;
}

ReportJson Chosen(const ReportNumbers& numbers, const std::vector<size_t>& chosen) {
  ReportJson json = ReportJson::array();
  for (const size_t i : chosen) json.push_back(i < numbers.size() ? numbers[i] : 0);
  return json;
}

// Keeps the thread's `most` longest calls. Returns how many it left out.
size_t CutCalls(ReportJson& thread, size_t most) {
  ReportJson& calls = thread["calls"];
  ReportNumbers begin = NumbersOf(calls["begin"]);
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  const ReportNumbers durations = NumbersOf(calls["duration"]);
  const std::vector<size_t> kept = Largest(durations, most);
  ReportJson cut = ReportJson::object();
  ReportJson& steps = cut["begin"] = ReportJson::array();
  int64_t before = 0;
  for (const size_t i : kept) {
    const int64_t at = i < begin.size() ? begin[i] : before;
    steps.push_back(at - before);
    before = at;
  }
  for (const char* column : {"duration", "depth", "fn", "instructions"})
    cut[column] = Chosen(NumbersOf(calls[column]), kept);
  calls = std::move(cut);
  return durations.size() - kept.size();
}

// Adds up neighbouring columns until at most `most` are left.
ReportNumbers Coarser(const ReportNumbers& strip, size_t kinds, size_t most) {
  const size_t columns = strip.size() / kinds;
  const size_t step = std::max<size_t>((columns + most - 1) / most, 1);
  ReportNumbers sums(((columns + step - 1) / step) * kinds);
  for (size_t i = 0; i < columns * kinds; ++i)
    sums[i / kinds / step * kinds + i % kinds] += strip[i];
  return sums;
}

// Returns where each of `columns` nearly equal parts of the `whole` begins, and the end.
ReportNumbers EqualParts(int64_t whole, size_t columns) {
  const auto many = static_cast<int64_t>(columns);
  ReportNumbers bounds;
  for (int64_t i = 0; i <= many; ++i) bounds.push_back(whole / many * i + whole % many * i / many);
  return bounds;
}

// Shares the spans among `columns` nearly equal parts of the `whole` time. The sums are exact: each
// tick of a span is in one column. What begins after the whole is in the last column.
ReportNumbers StripOf(const ReportJson& spans, size_t kinds, size_t columns, int64_t whole) {
  const ReportNumbers begin = NumbersOf(spans["begin"]);
  const ReportNumbers length = NumbersOf(spans["length"]);
  const ReportNumbers kind = NumbersOf(spans["kind"]);
  const ReportNumbers bounds = EqualParts(whole, columns);
  ReportNumbers strip(columns * kinds);
  for (size_t i = 0; i < begin.size() && i < length.size() && i < kind.size(); ++i) {
    const int64_t end = begin[i] + length[i];
    const auto after = std::upper_bound(bounds.begin() + 1, bounds.end() - 1, begin[i]);
    auto column = static_cast<size_t>(after - bounds.begin()) - 1;
    for (int64_t at = begin[i]; at < end; ++column) {
      const int64_t next = column + 1 < columns ? std::min(end, bounds[column + 1]) : end;
      strip[column * kinds + static_cast<size_t>(kind[i]) % kinds] += next - at;
      at = next;
    }
  }
  return strip;
}

class Cutter {
 public:
  explicit Cutter(const TimelineRoom& room) : room_(room) {}

  // Called with each object as it is read: a thread shrinks before the next one is read.
  void OnObject(int depth, ReportJson& object) {
    constexpr int kElement = 2;  // of an array in the page's data
    if (depth != kElement || !object.contains("calls") || !object["calls"].is_object()) return;
    if (threads_++ >= room_.threads) {
      object = ReportJson::object();
      return;
    }
    left_out_calls_ += CutCalls(object, room_.calls);
    object.erase("waits");
  }

  ReportJson Finish(ReportJson data) {
    const bool has_waits = data.contains("sites");
    data.erase("cpus");
    data.erase("sites");
    data["kinds"] = has_waits ? 8 : 6;
    CutThreads(data, has_waits ? 8 : 6);
    CutPaths(data);
    CutFunctions(data);
    data["left_out"] = {{"threads", threads_ - data["threads"].size()},
                        {"calls", left_out_calls_},
                        {"paths", left_out_paths_},
                        {"functions", left_out_functions_}};
    return data;
  }

 private:
  void CutThreads(ReportJson& data, size_t kinds) {
    ReportJson& threads = data["threads"];
    if (threads.size() > room_.threads)
      threads.erase(threads.begin() + static_cast<std::ptrdiff_t>(room_.threads), threads.end());
    const int64_t whole =
        std::max<int64_t>(data.value("end", int64_t{0}) - data.value("begin", int64_t{0}), 1);
    const size_t many = std::max<size_t>(threads.size(), 1);
    const size_t columns = many > 8 ? room_.columns / 2 : room_.columns;
    for (ReportJson& thread : threads) {
      left_out_calls_ += CutCalls(thread, std::max<size_t>(room_.calls / many, 200));
      if (thread.contains("strip"))
        thread["strip"] = Coarser(NumbersOf(thread["strip"]), kinds, columns);
      if (!thread.contains("spans")) continue;
      if (thread["spans"]["begin"].size() <= room_.spans * 8 / std::max<size_t>(many, 8)) continue;
      thread["strip"] = StripOf(thread["spans"], kinds, columns, whole);
      thread.erase("spans");
    }
  }

  // A path has at least the sums of each path below it, and a lower number: the largest ones are a
  // tree.
  void CutPaths(ReportJson& data) {
    ReportJson& paths = data["paths"];
    const char* const measure = data.value("emulated", false) ? "instructions" : "time";
    const std::vector<size_t> kept = Largest(NumbersOf(paths[measure]), room_.paths);
    const ReportNumbers parents = NumbersOf(paths["parent"]);
    left_out_paths_ = parents.size() - kept.size();
    std::vector<int64_t> numbers(parents.size());
    ReportJson parent = ReportJson::array();
    for (size_t i = 0; i < kept.size(); ++i) {
      numbers[kept[i]] = static_cast<int64_t>(i);
      parent.push_back(numbers[static_cast<size_t>(parents[kept[i]])]);
    }
    for (const char* column : {"fn", "time", "instructions", "calls"})
      paths[column] = Chosen(NumbersOf(paths[column]), kept);
    paths["parent"] = std::move(parent);
  }

  // Keeps the functions that are named, and those with most of their own.
  void CutFunctions(ReportJson& data) {
    ReportJson& functions = data["functions"];
    std::vector<bool> used(functions.size());
    const auto use = [&](const ReportJson& numbers) {
      for (const int64_t number : NumbersOf(numbers))
        if (number >= 0 && static_cast<size_t>(number) < used.size())
          used[static_cast<size_t>(number)] = true;
    };
    use(data["paths"]["fn"]);
    for (const ReportJson& thread : data["threads"]) use(thread["calls"]["fn"]);
    for (const char* measure : {"self", "instructions", "total"}) {
      ReportNumbers sums;
      for (const ReportJson& function : functions)
        sums.push_back(function.value(measure, int64_t{0}));
      for (const size_t number : Largest(sums, room_.functions)) used[number] = true;
    }
    Renumber(data, used);
  }

  void Renumber(ReportJson& data, const std::vector<bool>& used) {
    constexpr size_t kLongestName = 240;
    ReportJson& functions = data["functions"];
    std::vector<int64_t> numbers(used.size(), -1);
    ReportJson kept = ReportJson::array();
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      numbers[i] = static_cast<int64_t>(kept.size());
      ReportJson function = std::move(functions[i]);
      for (const char* key : {"quantiles", "cycles", "text"}) function.erase(key);
      const std::string name = function.value("name", "");
      if (name.size() > kLongestName) function["name"] = name.substr(0, kLongestName) + "...";
      kept.push_back(std::move(function));
    }
    left_out_functions_ = used.size() - kept.size();
    functions = std::move(kept);
    const auto renumber = [&](ReportJson& column) {
      for (ReportJson& each : column) {
        const int64_t number = each.get<int64_t>();
        each = number < 0 ? -1 : numbers[static_cast<size_t>(number)];
      }
    };
    renumber(data["paths"]["fn"]);
    for (ReportJson& thread : data["threads"]) renumber(thread["calls"]["fn"]);
  }

  const TimelineRoom& room_;
  size_t threads_ = 0;
  size_t left_out_calls_ = 0;
  size_t left_out_paths_ = 0;
  size_t left_out_functions_ = 0;
};

}  // namespace

std::optional<ReportJson> ReadTimelinePage(std::FILE* page, const TimelineRoom& room) {
  const auto file = MappedFile::Open("/proc/self/fd/" + std::to_string(fileno(page)));
  if (!file) return std::nullopt;
  const Bytes bytes = (*file)->bytes();
  const std::string_view data = DataOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  Cutter cutter(room);
  const auto hear = [&](int depth, ReportJson::parse_event_t event, ReportJson& value) {
    if (event == ReportJson::parse_event_t::object_end) cutter.OnObject(depth, value);
    return true;
  };
  ReportJson all = ReportJson::parse(data.begin(), data.end(), hear, false);
  if (!all.is_object() || !all.contains("paths") || !all.contains("threads")) return std::nullopt;
  return cutter.Finish(std::move(all));
}

}  // namespace flowback::cli
