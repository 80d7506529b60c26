// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/path_text.h"
#include "cli/diff/diff_view.h"
#include "replay/writers/text/code_words.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback::cli {
namespace {

// "new.data", or "the 3 new recordings".
std::string SideText(const std::vector<std::string>& inputs, const char* side) {
  if (inputs.size() == 1) return Printable(inputs.front());
  return fmt::format("the {} {} recordings", inputs.size(), side);
}

class SentenceWriter {
 public:
  explicit SentenceWriter(const DiffView& view)
      : view_(view),
        diff_(view.diff),
        old_(SideText(view.old, "old")),
        now_(SideText(view.now, "new")) {}

  std::vector<std::string> Write() {
    Headline();
    Code();
    Times();
    Waits();
    Notes();
    return std::move(sentences_);
  }

 private:
  void Say(std::string sentence) {
    if (sentences_.empty() && !sentence.empty())
      sentence.front() = sentence.starts_with("the ") ? 'T' : sentence.front();
    sentences_.push_back(std::move(sentence));
  }
  std::string Mean() const { return diff_.IsSingle() ? "" : " on average"; }

  void Headline() {
    const MeasuredChange& all = diff_.instructions;
    const char* const of = diff_.is_part ? " of the chosen code" : "";
    const std::string numbers = fmt::format("{} instead of {}{}", GroupedDigits(all.now.rounded()),
                                            GroupedDigits(all.old.rounded()), Mean());
    if (all.delta() != 0 && all.old.mean == 0)
      Say(fmt::format("{} executes {} instructions{}, and {} executes none{}", now_,
                      GroupedDigits(all.now.rounded()), of, old_, LargestChange(true)));
    else if (all.delta() == 0)
      Say(fmt::format("{} executes as many instructions{} as {} ({}){}", now_, of, old_,
                      GroupedDigits(all.now.rounded()), LargestChange(false)));
    else if (!all.IsSignificant())
      Say(fmt::format("{} executes as many instructions{} as {} within the noise ({}){}", now_, of,
                      old_, numbers, LargestChange(false)));
    else
      Say(fmt::format("{} executes {} instructions{} {} {} ({}){}", now_, MoreOrFewer(all), of,
                      all.ratio() >= 2 ? "as" : "than", old_, numbers, LargestChange(true)));
  }

  const FunctionChange* LargestFunction() const {
    for (const FunctionChange& each : diff_.functions)
      if (each.fate != Fate::kNotKnown && each.self.delta() != 0 && each.self.IsSignificant())
        return &each;
    return nullptr;
  }

  // Returns the end of the first sentence.
  std::string LargestChange(bool all_changed) const {
    const FunctionChange* const function = LargestFunction();
    if (function == nullptr) return ".";
    const double share = function->self.delta() / diff_.instructions.delta();
    const bool mostly = all_changed && share >= 0.5;
    const LineChange* const line = MostChangedLine(diff_, *function);
    std::string text =
        fmt::format("{} {}", mostly ? ", mostly in" : "; the largest change is in",
                    FunctionText(function->name, function->object, function->address));
    const DiffPlace place =
        line == nullptr ? function->place()
                        : DiffPlace{line->file, line->line != 0 ? line->line : line->old_line};
    if (place.line != 0) text += fmt::format(" at {}", PlaceText(place));
    return text + fmt::format(": {}.", SignedDigits(function->self.delta()));
  }

  // Changes of all runs of a side, and whether there are others in some of the runs.
  struct ChangedCode {
    uint64_t functions[2] = {};  // gone, new
    uint64_t directions[2] = {};
    bool in_some_runs = false;

    bool any() const { return (functions[0] | functions[1] | directions[0] | directions[1]) != 0; }
  };

  ChangedCode CountChanges() const {
    ChangedCode result;
    const auto count = [&](const auto& each, uint64_t(&counts)[2]) {
      if (!IsNew(each.fate) && !IsGone(each.fate)) return;
      counts[IsNew(each.fate)] += each.in_all_runs;
      result.in_some_runs |= !each.in_all_runs;
    };
    for (const FunctionChange& each : diff_.functions) count(each, result.functions);
    for (const DirectionChange& each : diff_.directions) count(each, result.directions);
    return result;
  }

  // Whether all that either side executed was recorded, and could be compared.
  bool IsAllKnown() const {
    return !diff_.old_lost && !diff_.lost && !diff_.sampled && diff_.unknown_directions == 0 &&
           std::ranges::count(diff_.functions, Fate::kNotKnown, &FunctionChange::fate) == 0;
  }

  void Code() {
    const ChangedCode changed = CountChanges();
    if (changed.any())
      Say(fmt::format("New: {} and {}. Gone: {} and {}.", Counted(changed.functions[1], "function"),
                      Counted(changed.directions[1], "branch direction"),
                      Counted(changed.functions[0], "function"),
                      Counted(changed.directions[0], "branch direction")));
    else if (changed.in_some_runs)
      Say("No function and no branch direction separates all recordings of one side from all of "
          "the other.");
    else if (!IsAllKnown())
      Say("No function and no branch direction is known to execute on one side only.");
    else
      Say("Both sides execute the same functions and the same directions of branches.");
  }

  void Times() {
    if (diff_.has_times) {
      Say(
          fmt::format("The threads lived {} instead of {}{}, of which they were {} instead of {} "
                      "off the CPU.",
                      TimeWords(diff_.duration.now), TimeWords(diff_.duration.old), Mean(),
                      TimeWords(diff_.off_cpu.now), TimeWords(diff_.off_cpu.old)));
    } else if (diff_.emulated) {
      Say("Recorded under emulation: counts are the program's own; times are not, and are left "
          "out.");
    }
    if (diff_.sampled)
      Say("Only samples were recorded, so counts are of these.");
    else if (!diff_.has_calls)
      Say("A part file has no calls: calls are entries of functions, and callees are left out.");
  }

  void Waits() {
    if (!view_.waits) return;
    if (!diff_.has_waits) {
      Say("Waits are not compared: part files and samples do not show them.");
      return;
    }
    const MeasuredChange& all = diff_.all_waits;
    if (!all.old.any() && !all.now.any()) {
      Say("No wait of a thread for another one was found on either side.");
      return;
    }
    std::string text =
        fmt::format("Threads waited for each other {} instead of {}{}",
                    TimesWords(all.now.rounded()), GroupedDigits(all.old.rounded()), Mean());
    if (diff_.has_times)
      text += fmt::format(", for {} instead of {}", TimeWords(diff_.waiting.now),
                          TimeWords(diff_.waiting.old));
    Say(text + '.');
  }
  static std::string TimesWords(uint64_t times) {
    return times == 1 ? "once" : GroupedDigits(times) + " times";
  }
  static std::string TimeWords(const Measured& side) {
    return DurationWords(static_cast<uint64_t>(side.mean), true);
  }

  void Notes() {
    if (diff_.old_lost || diff_.lost)
      Say(fmt::format("Trace was lost of {}: code may have executed more often than is counted.",
                      diff_.old_lost && diff_.lost ? "both sides"
                      : diff_.lost                 ? now_
                                                   : old_));
    const auto lost = std::ranges::count(diff_.functions, Fate::kNotKnown, &FunctionChange::fate);
    if (lost != 0)
      Say(fmt::format("It is not known of {} whether one side executed them.",
                      Counted(static_cast<uint64_t>(lost), "function")));
    if (const uint64_t unknown = diff_.unknown_directions; unknown != 0)
      Say(fmt::format("{} that one side takes cannot be compared with the other side.",
                      Counted(unknown, "branch direction")));
    MissingFiles();
    if (diff_.unmatched_lines != 0)
      Say(fmt::format("{} of the old side that executed {} no counterpart in the new source.",
                      Counted(diff_.unmatched_lines, "line"),
                      diff_.unmatched_lines == 1 ? "has" : "have"));
    for (const ObjectMatch& each : diff_.objects)
      if (each.executed && !each.name.empty() && !each.old_name.empty() &&
          each.name != each.old_name)
        Say(fmt::format("{} is compared with {}.", Printable(each.name), Printable(each.old_name)));
    if (diff_.IsSingle() && diff_.instructions.delta() != 0)
      Say("One recording of a side does not show the noise. Several do: --old FILE... --new "
          "FILE...");
  }

  void MissingFiles() {
    for (const ObjectMatch& each : diff_.objects) {
      if (!each.is_unknown()) continue;
      const std::string& name = each.name.empty() ? each.old_name : each.name;
      const char* const side = each.old_missing && each.missing ? "both sides"
                               : each.missing                   ? "the new side"
                                                                : "the old side";
      Say(
          fmt::format("The file of {} was not found for {}, so it is not known which of its "
                      "functions executed there.",
                      Printable(name), side));
    }
  }

  const DiffView& view_;
  const RunComparison& diff_;
  const std::string old_;
  const std::string now_;
  std::vector<std::string> sentences_;
};

std::string LimitValue(const DiffLimit& limit, const Measured& value) {
  switch (limit.measure) {
    case DiffLimit::Measure::kCoverage:
      return fmt::format("{:.1f} %", value.mean);
    case DiffLimit::Measure::kTime:
    case DiffLimit::Measure::kOffCpu:
    case DiffLimit::Measure::kWaiting:
      return DurationWords(static_cast<uint64_t>(value.mean), true);
    default:
      return GroupedDigits(value.rounded());
  }
}

}  // namespace

bool DiffView::IsLarge(const MeasuredChange& change) const {
  const double all = std::max(diff.instructions.old.mean, diff.instructions.now.mean);
  return change.delta() != 0 && change.IsSignificant() &&
         std::abs(change.delta()) >= all * min_change / 100;
}

std::vector<std::string> DiffSentences(const DiffView& view) {
  return SentenceWriter(view).Write();
}

std::string SignedDigits(double number) {
  const std::string digits = GroupedDigits(static_cast<uint64_t>(std::abs(number) + 0.5));
  if (digits == "0") return digits;
  return (number < 0 ? "-" : "+") + digits;
}

std::string MoreOrFewer(const MeasuredChange& change) {
  const double ratio = change.ratio();
  if (ratio >= 2) return fmt::format("{:.2f} times as many", ratio);
  const double percent = 100 * std::abs(ratio - 1);
  const char* const more = ratio > 1 ? "more" : "fewer";
  if (percent < 0.05) return fmt::format("{:.2g} % {}", percent, more);
  return fmt::format("{:.1f} % {}", percent, more);
}

std::string FunctionText(const std::string& name, const std::string& object, uint64_t address) {
  if (!name.empty()) return ShortName(name);
  if (address != 0) return fmt::format("[{}+{:#x}]", Printable(object), address);
  return fmt::format("[code without a symbol in {}]", Printable(object));
}

std::string PlaceText(const DiffPlace& place) {
  if (place.line == 0) return {};
  return fmt::format("{}:{}", Printable(LastPart(place.file)), place.line);
}

std::string OutcomeText(const DiffLimit& limit, const LimitOutcome& outcome) {
  if (!outcome.problem.empty()) return PrintableProse(outcome.problem);
  const MeasuredChange& change = outcome.change;
  std::string text = LimitValue(limit, change.now);
  if (limit.measure == DiffLimit::Measure::kNew || limit.measure == DiffLimit::Measure::kGone)
    return text;
  text += fmt::format(" instead of {}", LimitValue(limit, change.old));
  if (change.old.mean != 0) text += fmt::format(" ({:.4f}x)", change.ratio());
  if (outcome.is_noise) text += ", which is within the noise";
  return text;
}

}  // namespace flowback::cli
