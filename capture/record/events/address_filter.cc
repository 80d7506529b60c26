// SPDX-License-Identifier: MIT
#include "capture/record/events/address_filter.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "base/hex.h"
#include "capture/kernel/event_terms.h"
#include "capture/record/watch/function_name.h"

namespace flowback::record {
namespace {

struct Place {
  std::string text;   // a number, a symbol or "*"
  std::string which;  // behind "#": "2", "g"; empty: it is the only one

  std::optional<uint64_t> number() const { return kernel::ParseTermNumber(text); }
};

struct Filter {
  std::string action;
  Place start;
  std::optional<Place> size;
  std::string file;
};

Error Wrong(std::string_view words, const std::string& why) {
  return Error(ErrorCode::kUsage, "--filter '" + std::string(words) + "': " + why)
      .Remedy("--filter 'filter main @ /usr/bin/x', or 'start 0x1139@/usr/lib/libx.so'");
}

// Cuts the words.
class FilterReader {
 public:
  explicit FilterReader(std::string_view words) : words_(words), rest_(words) {}

  Result<std::vector<Filter>> Read() {
    std::vector<Filter> filters;
    while (SkipSeparators()) {
      auto filter = ReadOne();
      if (!filter) return Fail(std::move(filter.error()));
      filters.push_back(*std::move(filter));
    }
    if (filters.empty()) return Fail(Wrong(words_, "there is no filter in it"));
    return filters;
  }

 private:
  static constexpr std::string_view kSpace = " \t\n";

  bool SkipSpace() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
    return !rest_.empty();
  }
  bool SkipSeparators() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n,"), rest_.size()));
    return !rest_.empty();
  }
  std::string TakeUntil(std::string_view ends) {
    SkipSpace();
    const std::string word(rest_.substr(0, rest_.find_first_of(ends)));
    rest_.remove_prefix(word.size());
    return word;
  }
  bool Take(char sign) {
    if (!SkipSpace() || rest_[0] != sign) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Place TakePlace() {
    Place place{.text = TakeUntil(" \t\n,/@#"), .which = {}};
    if (Take('#')) place.which = TakeUntil(" \t\n,/@");
    return place;
  }
  Result<Filter> ReadOne() {
    static constexpr std::string_view kActions[] = {"filter", "start", "stop", "tracestop"};
    Filter filter;
    filter.action = TakeUntil(kSpace);
    if (std::ranges::find(kActions, filter.action) == std::end(kActions))
      return Fail(
          Wrong(words_, "'" + filter.action + "' is none of filter, start, stop and tracestop"));
    filter.start = TakePlace();
    if (filter.start.text.empty()) return Fail(Wrong(words_, filter.action + " of nothing"));
    if (Take('/')) filter.size = TakePlace();
    if (Take('@')) filter.file = TakeUntil(" \t\n,");
    return filter;
  }

  std::string_view words_, rest_;
};

using Ranges = std::vector<FunctionRange>;

// Returns the kernel's functions: each symbol ends where the next one begins.
Ranges KernelFunctions(const kernel::SystemKernel& kernel) {
  Ranges ranges;
  std::istringstream lines(kernel.ReadFile("/proc/kallsyms").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    FunctionRange range;
    char kind = 0;
    if (!(words >> std::hex >> range.begin >> kind >> range.name) || range.begin == 0) continue;
    range.global = kind == 'T';
    ranges.push_back(std::move(range));
  }
  std::ranges::stable_sort(ranges, {}, &FunctionRange::begin);
  for (size_t i = 0; i < ranges.size(); ++i) {
    size_t next = i + 1;
    while (next < ranges.size() && ranges[next].begin == ranges[i].begin) ++next;
    if (next < ranges.size()) ranges[i].size = ranges[next].begin - ranges[i].begin;
  }
  return ranges;
}

class Resolver {
 public:
  Resolver(std::string_view words, const kernel::SystemKernel& kernel)
      : words_(words), kernel_(kernel) {}

  // As the kernel takes it.
  Result<std::string> Resolve(const Filter& filter) {
    std::error_code none;
    const std::string file =
        filter.file.empty() ? "" : std::filesystem::canonical(filter.file, none).string();
    if (none) return Fail(Wrong(words_, "there is no file '" + filter.file + "'"));
    auto range = RangeOf(filter, file);
    if (!range) return Fail(std::move(range.error()));
    std::string text = filter.action + " " + Hex(range->begin);
    const bool sized = filter.action == "filter" || filter.action == "tracestop";
    if (range->size != 0 && (sized || filter.size)) text += "/" + Hex(range->size);
    if (sized && range->size == 0)
      return Fail(Wrong(words_, filter.action + " " + filter.start.text +
                                    ": how long it is is not known: write / SIZE behind it"));
    return file.empty() ? text : text + "@" + file;
  }

 private:
  Result<FunctionRange> RangeOf(const Filter& filter, const std::string& file) {
    const Ranges functions = file.empty() ? KernelFunctions(kernel_) : FunctionRanges(file);
    FunctionRange range;
    if (filter.start.text == "*") return Whole(functions, file);
    if (const auto number = filter.start.number()) {
      range.begin = *number;
    } else {
      auto found = Find(functions, filter.start, file);
      if (!found) return found;
      range = *std::move(found);
    }
    if (!filter.size) return range;
    if (const auto number = filter.size->number()) {
      range.size = *number;
      return range;
    }
    const auto last = Find(functions, *filter.size, file);
    if (!last) return last;
    if (last->begin < range.begin)
      return Fail(Wrong(words_, filter.size->text + " lies before " + filter.start.text));
    range.size = last->begin + last->size - range.begin;
    return range;
  }

  Result<FunctionRange> Whole(const Ranges& functions, const std::string& file) {
    FunctionRange all;
    if (functions.empty() || file.empty())
      return Fail(Wrong(words_, "* takes a file with symbols: * @ FILE"));
    all.begin = functions.front().begin;
    uint64_t end = 0;
    for (const FunctionRange& one : functions) end = std::max(end, one.begin + one.size);
    all.size = end - all.begin;
    return all;
  }

  static std::string Where(const std::string& file) { return file.empty() ? "the kernel" : file; }

  Result<FunctionRange> Find(const Ranges& functions, const Place& place, const std::string& file) {
    Ranges named;
    const bool global = place.which == "0" || place.which == "g" || place.which == "G";
    for (const FunctionRange& one : functions)
      if (one.name == place.text && (!global || one.global)) named.push_back(one);
    if (named.empty())
      return Fail(
          Wrong(words_, "there is no " + std::string(global ? "global " : "") + "symbol '" +
                            place.text + "' in " + Where(file) +
                            (file.empty() ? ": of other code, write @ FILE behind it" : "")));
    if (place.which.empty() && named.size() > 1) return Fail(Ambiguous(place, named, file));
    const uint64_t which =
        place.which.empty() || global ? 1 : kernel::ParseTermNumber(place.which).value_or(0);
    if (which == 0 || which > named.size())
      return Fail(Wrong(words_, "there is no '" + place.text + " #" + place.which + "': " +
                                    std::to_string(named.size()) + " are in " + Where(file)));
    return named[which - 1];
  }

  Error Ambiguous(const Place& place, const Ranges& named, const std::string& file) const {
    std::string list;
    for (size_t i = 0; i < named.size(); ++i)
      list += (i == 0 ? "" : ", ") + ("#" + std::to_string(i + 1)) + " at " + Hex(named[i].begin) +
              (named[i].global ? " (global)" : "");
    return Error(ErrorCode::kUsage, "--filter '" + std::string(words_) + "': '" + place.text +
                                        "' is " + std::to_string(named.size()) + " times in " +
                                        Where(file) + ": " + list)
        .Remedy("say which: '" + place.text + " #1'");
  }

  std::string_view words_;
  const kernel::SystemKernel& kernel_;
};

}  // namespace

Result<std::string> ResolveAddressFilter(std::string_view words, const kernel::SystemKernel& kernel,
                                         size_t& count) {
  const auto filters = FilterReader(words).Read();
  if (!filters) return Fail(filters.error());
  std::string text;
  Resolver resolver(words, kernel);
  for (const Filter& filter : *filters) {
    auto resolved = resolver.Resolve(filter);
    if (!resolved) return resolved;
    text += (text.empty() ? "" : ",") + *resolved;
  }
  count = filters->size();
  return text;
}

}  // namespace flowback::record
