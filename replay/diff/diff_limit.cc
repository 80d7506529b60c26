// SPDX-License-Identifier: MIT
#include "replay/diff/diff_limit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_words.h"

namespace flowback {
namespace {

using Measure = DiffLimit::Measure;

struct MeasureName {
  std::string_view name;
  Measure measure;
};
constexpr MeasureName kMeasures[] = {{"instructions", Measure::kInstructions},
                                     {"self", Measure::kSelf},
                                     {"calls", Measure::kCalls},
                                     {"time", Measure::kTime},
                                     {"off_cpu", Measure::kOffCpu},
                                     {"waits", Measure::kWaits},
                                     {"waiting", Measure::kWaiting},
                                     {"coverage", Measure::kCoverage},
                                     {"new", Measure::kNew},
                                     {"gone", Measure::kGone}};

class LimitParser {
 public:
  explicit LimitParser(const std::string& text) : text_(text) { limit_.text = text; }

  Result<DiffLimit> Parse() {
    if (Status status = ParseMeasure(); !status) return Fail(status.error());
    if (Status status = ParseParentheses(); !status) return Fail(status.error());
    if (Status status = ParseComparison(); !status) return Fail(status.error());
    if (Status status = ParseBound(); !status) return Fail(status.error());
    SkipBlanks();
    if (at_ != text_.size()) return Wrong("nothing more is expected");
    return std::move(limit_);
  }

 private:
  std::unexpected<Error> Wrong(const std::string& expected) const {
    const std::string found =
        at_ >= text_.size() ? "its end" : "'" + std::string(1, text_[at_]) + "'";
    return Fail(Error(ErrorCode::kUsage, "--fail-if '" + text_ + "': " + expected +
                                             " at character " + std::to_string(at_ + 1) + ", not " +
                                             found)
                    .Remedy("--fail-if 'instructions(main) > 1.02x', 'calls(Parse) > +5%', "
                            "'coverage(lines) < 80'"));
  }
  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Status ParseMeasure() {
    SkipBlanks();
    size_t end = at_;
    while (end < text_.size() && ((text_[end] >= 'a' && text_[end] <= 'z') || text_[end] == '_'))
      ++end;
    const std::string_view word = std::string_view(text_).substr(at_, end - at_);
    const auto* const found = std::ranges::find(kMeasures, word, &MeasureName::name);
    if (found == std::end(kMeasures))
      return Wrong(
          "one of instructions, self, calls, time, off_cpu, waits, waiting, coverage, new or gone "
          "is expected");
    limit_.measure = found->measure;
    at_ = end;
    return {};
  }

  // A name may have parentheses of its own: "calls(f(int))".
  Status ParseParentheses() {
    SkipBlanks();
    if (!Take('(')) return Wrong("'(' is expected");
    const size_t begin = at_;
    int depth = 1;
    for (; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    if (depth != 0) return Wrong("')' is expected");
    limit_.of = Trimmed(std::string_view(text_).substr(begin, at_++ - begin));
    return CheckName(begin);
  }

  Status CheckName(size_t begin) {
    const bool is_count = limit_.measure == Measure::kNew || limit_.measure == Measure::kGone;
    if (limit_.measure == Measure::kCoverage) {
      constexpr std::array<std::string_view, 6> kKinds = {"",         "functions",    "blocks",
                                                          "branches", "instructions", "lines"};
      if (std::ranges::find(kKinds, limit_.of) != kKinds.end()) return {};
      at_ = begin;
      return Wrong("one of functions, blocks, branches, instructions, lines or ) is expected");
    }
    if (limit_.of.empty()) return {};
    if (is_count) {
      at_ = begin;
      return Wrong("')' is expected");
    }
    Result<NamePattern> pattern = NamePattern::Parse(limit_.of);
    if (!pattern) return Fail(pattern.error());
    limit_.function = *std::move(pattern);
    return {};
  }

  Status ParseComparison() {
    SkipBlanks();
    limit_.above = Take('>');
    if (!limit_.above && !Take('<')) return Wrong("one of >, >=, < or <= is expected");
    limit_.equal = Take('=');
    return {};
  }

  Status ParseBound() {
    SkipBlanks();
    const bool is_negative = at_ < text_.size() && text_[at_] == '-';
    const bool has_sign = is_negative || (at_ < text_.size() && text_[at_] == '+');
    if (has_sign) ++at_;
    const char* const end = text_.data() + text_.size();
    const auto read = std::from_chars(text_.data() + at_, end, limit_.bound);
    const bool is_number = read.ec == std::errc() && std::isfinite(limit_.bound);
    if (!is_number || limit_.bound < 0)
      return Wrong("a number such as 1.02x, +5%, +1000 or 1000 is expected");
    at_ = static_cast<size_t>(read.ptr - text_.data());
    limit_.kind = has_sign ? DiffLimit::Kind::kDifference : DiffLimit::Kind::kValue;
    if (is_negative) limit_.bound = -limit_.bound;
    return ParseUnit(has_sign);
  }

  Status ParseUnit(bool has_sign) {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t') ++at_;
    const std::string_view unit = std::string_view(text_).substr(begin, at_ - begin);
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    const bool is_time = limit_.MeasuresTime();
    const bool is_share = limit_.measure == Measure::kCoverage && !has_sign;
    if (unit.empty()) return {};
    if (unit == "x" && !has_sign) {
      limit_.kind = DiffLimit::Kind::kRatio;
      return {};
    }
    if (unit == "%") {
      // A share is in per cent by itself.
      if (!is_share) limit_.kind = DiffLimit::Kind::kPercent;
      return {};
    }
    for (const auto& [name, factor] : kUnits)
      if (is_time && unit == name) {
        limit_.bound *= factor;
        return {};
      }
    at_ = begin;
    return WrongUnit(has_sign, is_time);
  }

  std::unexpected<Error> WrongUnit(bool has_sign, bool is_time) const {
    const std::string units = is_time ? "%, ns, us, ms or s" : "%";
    if (!has_sign) return Wrong(is_time ? "x, " + units + " is expected" : "x or % is expected");
    return Wrong(units + " is expected behind a number with a sign (a ratio has none: 1.02x)");
  }

  const std::string& text_;
  size_t at_ = 0;
  DiffLimit limit_;
};

MeasuredChange CoverageIn(const RunComparison& diff, const std::string& of, std::string& problem) {
  const std::string kind = !of.empty()                        ? of
                           : diff.coverage[4].total.now.any() ? "lines"
                                                              : "instructions";
  const auto found = std::ranges::find_if(
      diff.coverage, [&](const CoverageMeasure& each) { return each.name == kind; });
  if (found->percent.old.runs == 0 || found->percent.now.runs == 0)
    problem = "no " + kind + " are known of the code that was chosen";
  return found->percent;
}

double Value(const MeasuredChange& change, DiffLimit::Kind kind) {
  switch (kind) {
    case DiffLimit::Kind::kValue:
      return change.now.mean;
    case DiffLimit::Kind::kDifference:
      return change.delta();
    case DiffLimit::Kind::kRatio:
      return change.ratio();
    case DiffLimit::Kind::kPercent:
      return 100 * (change.ratio() - 1);
  }
  return 0;
}

class LimitHolder {
 public:
  LimitHolder(const DiffLimit& limit, const RunComparison& diff) : limit_(limit), diff_(diff) {}

  LimitOutcome Hold() {
    Measure();
    if (!outcome_.problem.empty()) return std::move(outcome_);
    const double value = Value(outcome_.change, limit_.kind);
    const bool beyond = limit_.above ? value > limit_.bound : value < limit_.bound;
    outcome_.exceeded = beyond || (limit_.equal && value == limit_.bound);
    // A limit on the change means one that repeats do not show by themselves.
    const bool is_change = limit_.kind != DiffLimit::Kind::kValue && outcome_.change.delta() != 0;
    outcome_.is_noise = outcome_.exceeded && is_change && !outcome_.change.IsSignificant();
    outcome_.exceeded &= !outcome_.is_noise;
    return std::move(outcome_);
  }

 private:
  void Problem(std::string problem, std::string remedy) {
    outcome_.problem = std::move(problem);
    outcome_.remedy = std::move(remedy);
  }

  void Measure() {
    using enum DiffLimit::Measure;
    const bool is_time = limit_.MeasuresTime();
    if (limit_.MeasuresWaits() && !diff_.has_waits) {
      Problem("waits are known of recordings with whole flow only, not of samples and part files",
              "recordings of `flowback record` on both sides, with --waits");
      return;
    }
    if (is_time && !diff_.has_times) {
      Problem(diff_.emulated ? "times of an emulated recording are the emulator's"
                             : "not every recording has times in nanoseconds",
              limit_.MeasuresWaits() ? "waits(FUNCTION), the number of waits"
                                     : "instructions(FUNCTION), which emulation counts exactly");
      return;
    }
    const bool needs_calls = limit_.measure == kInstructions && limit_.function.has_value();
    if ((needs_calls || is_time) && !diff_.has_calls) {
      Problem("calls are known of recordings with whole flow only, not of samples and part files",
              "self(FUNCTION)");
      return;
    }
    if (limit_.measure == kCoverage)
      outcome_.change = CoverageIn(diff_, limit_.of, outcome_.problem);
    else if (limit_.measure == kNew || limit_.measure == kGone)
      outcome_.change = Counted();
    else if (limit_.function && limit_.MeasuresWaits())
      MeasureWaits();
    else if (limit_.function)
      MeasureFunctions();
    else
      outcome_.change = OfAll();
  }

  MeasuredChange Counted() const {
    const bool gone = limit_.measure == DiffLimit::Measure::kGone;
    const auto count = std::ranges::count_if(diff_.functions, [&](const FunctionChange& each) {
      return each.in_all_runs && (gone ? IsGone(each.fate) : IsNew(each.fate));
    });
    const uint64_t none = 0;
    const auto number = static_cast<uint64_t>(count);
    return {Measured::Of({&none, 1}), Measured::Of({&number, 1})};
  }

  MeasuredChange OfAll() const {
    switch (limit_.measure) {
      case DiffLimit::Measure::kTime:
        return diff_.duration;
      case DiffLimit::Measure::kOffCpu:
        return diff_.off_cpu;
      case DiffLimit::Measure::kWaits:
        return diff_.all_waits;
      case DiffLimit::Measure::kWaiting:
        return diff_.waiting;
      case DiffLimit::Measure::kCalls:
        return Sum(diff_.functions, &FunctionChange::calls,
                   [](const FunctionChange&) { return true; });
      default:
        return diff_.instructions;
    }
  }

  // Adds up; the ranges of sums are no wider than the sums of ranges.
  template <class Change, class Fits>
  MeasuredChange Sum(const std::vector<Change>& changes, MeasuredChange Change::* member,
                     const Fits& fits) const {
    MeasuredChange sum = diff_.instructions;
    sum.old = {.runs = sum.old.runs};
    sum.now = {.runs = sum.now.runs};
    const auto add = [](Measured& into, const Measured& more) {
      into.least += more.least;
      into.most += more.most;
      into.mean += more.mean;
      into.deviation += more.deviation;
    };
    for (const Change& each : changes) {
      if (!fits(each)) continue;
      add(sum.old, (each.*member).old);
      add(sum.now, (each.*member).now);
    }
    return sum;
  }

  bool IsOfLimit(const FunctionChange& each) const {
    return !each.name.empty() && limit_.function->Matches(each.name);
  }

  // Whether the limit is about a side that may have executed the function unseen.
  bool IsUnmeasured(const FunctionChange& each) const {
    const bool new_is_known = each.self.now.any() || each.calls.now.any();
    return each.fate == Fate::kNotKnown &&
           (limit_.kind != DiffLimit::Kind::kValue || !new_is_known);
  }

  void MeasureFunctions() {
    std::vector<const FunctionChange*> found;
    for (const FunctionChange& each : diff_.functions)
      if (IsOfLimit(each)) found.push_back(&each);
    if (found.empty()) return NamesNothing();
    const bool adds_up = limit_.measure == DiffLimit::Measure::kSelf ||
                         limit_.measure == DiffLimit::Measure::kCalls ||
                         limit_.measure == DiffLimit::Measure::kOffCpu;
    if (found.size() > 1 && !adds_up)
      return Problem("several functions fit, such as " + found[0]->name + " and " + found[1]->name +
                         ", which may call each other",
                     "the full name of one of them, or self(FUNCTION), which adds up");
    for (const FunctionChange* const each : found)
      if (IsUnmeasured(*each))
        return Problem("it is not known of one side whether it executed " + each->name +
                           ": trace was lost, or a file of code is missing",
                       "recordings without losses, and --symfs with the files that were recorded");
    outcome_.change =
        Sum(diff_.functions, Member(), [&](const FunctionChange& each) { return IsOfLimit(each); });
  }

  // A function that waits is often a library's, so a wait belongs to the function's caller, too.
  void MeasureWaits() {
    const auto is_of_limit = [&](const WaitChange& each) {
      return limit_.function->Matches(each.function) || limit_.function->Matches(each.caller);
    };
    const bool waits = std::ranges::any_of(diff_.waits, is_of_limit);
    const bool executed = std::ranges::any_of(
        diff_.functions, [&](const FunctionChange& each) { return IsOfLimit(each); });
    if (!waits && !executed) return NamesNothing();
    if (!waits && (diff_.old_lost || diff_.lost))
      return Problem("no wait of " + limit_.of + " was found, but trace was lost",
                     "recordings without losses");
    for (const WaitChange& each : diff_.waits)
      if (is_of_limit(each) && each.fate == Fate::kNotKnown &&
          (limit_.kind != DiffLimit::Kind::kValue || !each.waits.now.any()))
        return Problem("it is not known of one side whether a thread waited in " + each.function +
                           ": trace was lost",
                       "recordings without losses");
    const bool is_number = limit_.measure == DiffLimit::Measure::kWaits;
    outcome_.change =
        Sum(diff_.waits, is_number ? &WaitChange::waits : &WaitChange::waiting, is_of_limit);
  }

  void NamesNothing() {
    outcome_.names_nothing = true;
    Problem("names nothing: no function of that name executed on either side",
            "its name as `diff` prints it, a pattern ('str*'), or an expression ('/^str/')");
  }

  MeasuredChange FunctionChange::* Member() const {
    switch (limit_.measure) {
      case DiffLimit::Measure::kInstructions:
        return &FunctionChange::total;
      case DiffLimit::Measure::kCalls:
        return &FunctionChange::calls;
      case DiffLimit::Measure::kTime:
        return &FunctionChange::total_time;
      case DiffLimit::Measure::kOffCpu:
        return &FunctionChange::off_cpu;
      default:
        return &FunctionChange::self;
    }
  }

  const DiffLimit& limit_;
  const RunComparison& diff_;
  LimitOutcome outcome_;
};

}  // namespace

Result<DiffLimit> DiffLimit::Parse(const std::string& text) { return LimitParser(text).Parse(); }

LimitOutcome Hold(const DiffLimit& limit, const RunComparison& diff) {
  return LimitHolder(limit, diff).Hold();
}

}  // namespace flowback
