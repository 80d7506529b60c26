// SPDX-License-Identifier: MIT
#include "capture/record/watch/watched_functions.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/record/watch/region_log.h"

namespace flowback::record {
namespace {

// A file's path as the kernel has it.
std::string Canonical(const std::string& path) {
  if (path.find('/') == std::string::npos) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : real.get();
}

Result<FunctionName> Understand(const std::string& text, const std::string& option) {
  if (text.empty()) return FunctionName{};
  auto function = ParseFunctionName(text);
  if (!function)
    return Fail(Error(ErrorCode::kUsage, option + ": '" + text + "' names no function")
                    .Remedy(option + " main, or " + option + " deflate@libz.so.1"));
  function->file = Canonical(function->file);
  return *std::move(function);
}

void AddOnce(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

void NotePlaces(const std::string& option, const FunctionName& function,
                const std::vector<std::string>& places, RecordSummary& summary) {
  if (function.empty()) return;
  if (places.empty())
    summary.notes.push_back(option + ": no file that the program mapped as code has a function '" +
                            ToText(function) + "'");
  if (places.size() < 2) return;
  std::string text = option + ": '" + ToText(function) + "' is in " +
                     std::to_string(places.size()) + " places, and each counts";
  for (const std::string& place : places) text += "; " + place;
  summary.notes.push_back(text);
}

}  // namespace

Result<WatchedFunctions> UnderstandWatch(const RecordOptions& options) {
  auto from = Understand(options.watched.from, "--from");
  if (!from) return Fail(std::move(from.error()));
  auto until = Understand(options.watched.until, "--until");
  if (!until) return Fail(std::move(until.error()));
  if (*from == *until && !from->empty())
    return Fail(Error(ErrorCode::kUsage, "--from and --until name the same function")
                    .Remedy("name the function that runs after it with --until"));
  return WatchedFunctions{*std::move(from), *std::move(until)};
}

void NoteFunction(RecordingSwitch turns, bool indirect, const std::string& text,
                  RecordSummary& summary) {
  const bool on = turns == RecordingSwitch::kOn;
  if (indirect)
    return AddOnce(summary.notes, std::string(on ? "--from: " : "--until: ") + text +
                                      " is chosen at run time (IFUNC): name the function it "
                                      "chooses, or one that calls it");
  AddOnce(on ? summary.from_places : summary.until_places, text);
}

std::string WatchText(const WatchedFunctions& watched, const RecordSummary& summary) {
  std::string text;
  const auto add = [&text](const char* word, const FunctionName& function,
                           std::vector<std::string> places) {
    if (function.empty()) return;
    if (places.empty()) places.push_back(ToText(function));
    for (const std::string& place : places) text += word + place;
  };
  add("; from ", watched.from, summary.from_places);
  add("; until ", watched.until, summary.until_places);
  return text;
}

void NoteWatch(const WatchedFunctions& watched, RecordSummary& summary) {
  if (WatchesRegions(watched) && summary.from_places.empty()) {
    summary.notes.push_back(
        "--regions: the program has none, by its symbols: it does not use flowback/self.h, or is "
        "stripped");
    return;
  }
  if (WatchesRegions(watched)) {
    if (summary.instructions == 0)
      summary.notes.push_back("--regions: no region was entered: nothing is recorded");
    return;
  }
  NotePlaces("--from", watched.from, summary.from_places, summary);
  NotePlaces("--until", watched.until, summary.until_places, summary);
  if (summary.instructions != 0) return;
  if (watched.from.empty() && !summary.until_places.empty())
    summary.notes.push_back("--until: '" + ToText(watched.until) +
                            "' was reached before anything else: nothing is recorded");
  if (!summary.from_places.empty())
    summary.notes.push_back("--from: '" + ToText(watched.from) +
                            "' was never reached: nothing is recorded");
}

}  // namespace flowback::record
