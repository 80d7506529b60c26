// SPDX-License-Identifier: MIT
#include "replay/writers/locks/lock_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "replay/writers/text/json_parts.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

using Names = std::pair<std::string, std::string>;

std::map<Names, LockFigure> ByNames(const std::vector<LockFigure>& figures) {
  std::map<Names, LockFigure> sums;
  for (const LockFigure& each : figures) {
    const auto [at, is_new] = sums.try_emplace({each.function, each.caller}, each);
    if (is_new) continue;
    LockFigure& sum = at->second;
    sum.waits += each.waits;
    sum.trips += each.trips;
    sum.waiting += each.waiting;
    if (sum.acquisitions && each.acquisitions)
      *sum.acquisitions += *each.acquisitions;
    else
      sum.acquisitions.reset();
  }
  return sums;
}

LockTrend TrendOf(double old_share, double share) {
  constexpr double kLeast = 0.001;
  constexpr double kPart = 0.1;
  const double change = std::abs(share - old_share);
  if (change < kLeast || change < kPart * old_share) return LockTrend::kSame;
  return share < old_share ? LockTrend::kBetter : LockTrend::kWorse;
}

// What the share says, unless an acquisition's time says the opposite.
LockTrend TrendOfSite(const LockFigure& old, double old_share, const LockFigure& now,
                      double share) {
  const LockTrend trend = TrendOf(old_share, share);
  const std::optional<double> before = old.PerAcquisition();
  const std::optional<double> after = now.PerAcquisition();
  if (!before || !after || trend == LockTrend::kSame) return trend;
  const LockTrend of_each = *after < *before ? LockTrend::kBetter : LockTrend::kWorse;
  return of_each == trend ? trend : LockTrend::kMixed;
}

LockChange ChangeOf(const LockFigure* old, double old_share, const LockFigure* now, double share) {
  const LockFigure& named = now != nullptr ? *now : *old;
  const bool was = old != nullptr && old->waits != 0;
  const bool is = now != nullptr && now->waits != 0;
  return {.trend = !was  ? LockTrend::kNew
                   : !is ? LockTrend::kGone
                         : TrendOfSite(*old, old_share, *now, share),
          .function = named.function,
          .caller = named.caller,
          .old_share = old_share,
          .share = share,
          .old_each = was ? old->PerAcquisition() : std::nullopt,
          .each = is ? now->PerAcquisition() : std::nullopt};
}

std::string NameOf(const LockChange& change) {
  const std::string function = ShortName(change.function);
  return change.caller.empty() ? function
                               : fmt::format("{} in {}", function, ShortName(change.caller));
}

std::string EachWords(const LockChange& change, bool nanoseconds) {
  if (!change.each || !change.old_each) return {};
  const auto words = [&](double time) {
    return DurationWords(static_cast<uint64_t>(time + 0.5), nanoseconds);
  };
  return fmt::format("; {} an acquisition rather than {}", words(*change.each),
                     words(*change.old_each));
}

std::string Sentence(const LockChange& change, bool has_times, bool nanoseconds) {
  const std::string name = NameOf(change);
  switch (change.trend) {
    case LockTrend::kSame:
      return {};
    case LockTrend::kNew:
      return has_times ? fmt::format("New: {} ({} of the time).", name, PercentWords(change.share))
                       : fmt::format("New: {}.", name);
    case LockTrend::kGone:
      return has_times ? fmt::format("Gone: {} (it was {}).", name, PercentWords(change.old_share))
                       : fmt::format("Gone: {}.", name);
    case LockTrend::kBetter:
    case LockTrend::kWorse:
    case LockTrend::kMixed:
      break;
  }
  const char* const head = change.trend == LockTrend::kBetter  ? "Better"
                           : change.trend == LockTrend::kWorse ? "Worse"
                                                               : "Mixed";
  return fmt::format("{}: {}: {} of the time rather than {}{}.", head, name,
                     PercentWords(change.share), PercentWords(change.old_share),
                     EachWords(change, nanoseconds));
}

void AddShare(JsonLine& line, std::string_view name, double share) {
  line.Raw(name, fmt::format("{:.6f}", share));
}

void AddTime(JsonLine& line, std::string_view name, const std::optional<double>& time) {
  if (time)
    line.Raw(name, fmt::format("{:.3f}", *time));
  else
    line.Null(name);
}

}  // namespace

std::optional<double> LockFigure::PerAcquisition() const {
  if (acquisitions.value_or(0) == 0) return std::nullopt;
  return static_cast<double>(waiting) / static_cast<double>(*acquisitions);
}

LockFigures FiguresOf(const LocksView& view) {
  const LockReport& report = *view.report;
  const LockTotals totals = TotalsOf(report);
  LockFigures figures{.input = view.input,
                      .nanoseconds = report.nanoseconds,
                      .has_times = report.has_times,
                      .life = totals.life,
                      .waiting = totals.sums.waiting.time,
                      .sites = {}};
  for (const LockSums& sums : report.site_sums) {
    const LockSite& site = report.sites[sums.site];
    figures.sites.push_back({.function = FunctionName(report, site.function),
                             .caller = FunctionName(report, site.caller),
                             .waits = sums.waits,
                             .trips = sums.trips,
                             .waiting = sums.waiting.time,
                             .acquisitions = sums.acquisitions});
  }
  return figures;
}

const char* Name(LockTrend trend) {
  switch (trend) {
    case LockTrend::kSame:
      return "same";
    case LockTrend::kBetter:
      return "better";
    case LockTrend::kWorse:
      return "worse";
    case LockTrend::kMixed:
      return "mixed";
    case LockTrend::kNew:
      return "new";
    case LockTrend::kGone:
      return "gone";
  }
  return "";
}

LockChanges LockChanges::Between(const LockFigures& old, const LockFigures& now) {
  LockChanges changes{.input = old.input,
                      .old_share = old.share(),
                      .share = now.share(),
                      .has_times = old.has_times && now.has_times,
                      .trend = TrendOf(old.share(), now.share()),
                      .sites = {}};
  const std::map<Names, LockFigure> before = ByNames(old.sites);
  const std::map<Names, LockFigure> after = ByNames(now.sites);
  const auto find = [](const auto& figures, const Names& names) {
    const auto at = figures.find(names);
    return at == figures.end() ? nullptr : &at->second;
  };
  const auto add = [&](const LockFigure* was, const LockFigure* is) {
    if ((was == nullptr || was->waits == 0) && (is == nullptr || is->waits == 0)) return;
    changes.sites.push_back(ChangeOf(was, was == nullptr ? 0 : WaitShare(was->waiting, old.life),
                                     is, is == nullptr ? 0 : WaitShare(is->waiting, now.life)));
  };
  for (const auto& [names, figure] : after) add(find(before, names), &figure);
  for (const auto& [names, figure] : before)
    if (find(after, names) == nullptr) add(&figure, nullptr);
  if (old.nanoseconds != now.nanoseconds)
    for (LockChange& each : changes.sites) each.old_each.reset();
  std::ranges::stable_sort(changes.sites, std::ranges::greater(), [](const LockChange& each) {
    return std::abs(each.share - each.old_share);
  });
  return changes;
}

std::vector<std::string> ChangeSentences(const LockChanges& changes, bool nanoseconds) {
  constexpr size_t kMost = 6;
  std::vector<std::string> sentences;
  const std::string shares = fmt::format(
      "{} of the time of the threads that waited, {} in {}", PercentWords(changes.share),
      PercentWords(changes.old_share), NameWords(changes.input, 60));
  if (!changes.has_times)
    sentences.push_back(
        fmt::format("One of the recordings has no times: only new sites, and those that are gone, "
                    "are listed since {}.",
                    NameWords(changes.input, 60)));
  else if (changes.old_share == 0 && changes.share == 0)
    sentences.push_back(
        fmt::format("No thread waited in {} either.", NameWords(changes.input, 60)));
  else if (changes.trend == LockTrend::kSame)
    sentences.push_back(fmt::format("Waiting is about the same: {}.", shares));
  else
    sentences.push_back(fmt::format("Waiting got {}: {}.", Name(changes.trend), shares));
  size_t left_out = 0;
  for (const LockChange& each : changes.sites) {
    const bool is_told =
        changes.has_times || each.trend == LockTrend::kNew || each.trend == LockTrend::kGone;
    const std::string sentence = Sentence(each, changes.has_times, nanoseconds);
    if (sentence.empty() || !is_told) continue;
    if (sentences.size() > kMost)
      ++left_out;
    else
      sentences.push_back(sentence);
  }
  if (left_out != 0)
    sentences.push_back(fmt::format("{} more sites changed less (--json has all).", left_out));
  return sentences;
}

std::string ChangesJson(const LockChanges& changes) {
  return JsonObject([&](JsonLine& line) {
    line.Text("baseline", changes.input).Text("trend", Name(changes.trend));
    line.Bool("has_times", changes.has_times);
    AddShare(line, "old_share", changes.old_share);
    AddShare(line, "share", changes.share);
    line.Raw("sites", JsonArray(changes.sites, [](const LockChange& each) {
               return JsonObject([&](JsonLine& site) {
                 site.Text("trend", Name(each.trend)).Text("function", each.function);
                 site.Text("caller", each.caller);
                 AddShare(site, "old_share", each.old_share);
                 AddShare(site, "share", each.share);
                 AddTime(site, "old_per_acquisition", each.old_each);
                 AddTime(site, "per_acquisition", each.each);
               });
             }));
  });
}

}  // namespace flowback
