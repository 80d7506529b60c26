// SPDX-License-Identifier: MIT
#include "cli/record/pt_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/arguments.h"

namespace flowback::cli {
namespace {

constexpr uint64_t kLargestField = 15;  // the fields have four bits

// What the terms say; not named: empty.
struct Terms {
  std::optional<uint64_t> cyc, cyc_thresh, mtc, mtc_period, noretcomp, psb_period, tsc;
  std::optional<uint64_t> branch, pt, event, fup_on_ptw, notnt, ptw, pwr_evt;
};

struct Term {
  std::string_view name;
  std::optional<uint64_t> Terms::* value;
  uint64_t largest;
  bool hardware_only = false;  // no emulation serves it: off is what it is
};
constexpr Term kTerms[] = {{"cyc", &Terms::cyc, 1},
                           {"cyc_thresh", &Terms::cyc_thresh, kLargestField},
                           {"mtc", &Terms::mtc, 1},
                           {"mtc_period", &Terms::mtc_period, kLargestField},
                           {"noretcomp", &Terms::noretcomp, 1},
                           {"psb_period", &Terms::psb_period, kLargestField},
                           {"tsc", &Terms::tsc, 1},
                           {"branch", &Terms::branch, 1},
                           {"pt", &Terms::pt, 1},
                           {"event", &Terms::event, 1, true},
                           {"fup_on_ptw", &Terms::fup_on_ptw, 1, true},
                           {"notnt", &Terms::notnt, 1, true},
                           {"ptw", &Terms::ptw, 1, true},
                           {"pwr_evt", &Terms::pwr_evt, 1, true}};

Error Wrong(std::string_view event, const std::string& why) {
  return Error(ErrorCode::kUsage, fmt::format("-e {}: {}", event, why));
}

std::string KnownTerms() {
  std::string names;
  for (const Term& term : kTerms) {
    if (term.hardware_only) continue;
    if (!names.empty()) names += ", ";
    names += term.name;
  }
  return names;
}

// "name" or "name=value".
Status ParseTerm(std::string_view event, std::string_view text, Terms& terms) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto term = std::ranges::find(kTerms, name, &Term::name);
  if (term == std::end(kTerms))
    return Fail(Wrong(event, fmt::format("no term '{}'", name)).Remedy("known: " + KnownTerms()));
  const auto value = equals == std::string_view::npos ? std::optional<uint64_t>(1)
                                                      : ParseNumber(text.substr(equals + 1));
  if (!value || *value > term->largest)
    return Fail(Wrong(event, fmt::format("'{}' is not a number from 0 to {}", name, term->largest))
                    .Remedy(fmt::format("{}={}", name, term->largest)));
  if (term->hardware_only && *value != 0)
    return Fail(Wrong(event, fmt::format("'{}' needs tracing hardware: it can't be emulated", name))
                    .Remedy("leave it out"));
  terms.*(term->value) = value;
  return {};
}

Status Apply(std::string_view event, const Terms& terms, RecordOptions& options) {
  for (const auto& [name, value] : {std::pair{"branch", terms.branch}, std::pair{"pt", terms.pt}})
    if (value == 0u)
      return Fail(Wrong(event, fmt::format("without '{}' nothing would be recorded", name))
                      .Remedy("leave it out"));
  if (terms.cyc == 0u) options.packets.cyc_threshold.reset();
  if (terms.cyc == 1u || (terms.cyc_thresh && options.packets.cyc_threshold))
    options.packets.cyc_threshold = static_cast<uint8_t>(terms.cyc_thresh.value_or(0));
  if (terms.mtc_period) options.packets.mtc_shift = static_cast<uint8_t>(*terms.mtc_period);
  if (terms.mtc == 0u) options.packets.mtc_shift.reset();
  if (terms.noretcomp) options.packets.return_compression = *terms.noretcomp == 0;
  if (terms.psb_period) options.packets.psb_period_bytes = 2048u << *terms.psb_period;
  if (terms.tsc) options.packets.timestamps = *terms.tsc != 0;
  // An MTC gives no time without a TSC.
  if (!options.packets.timestamps) options.packets.mtc_shift.reset();
  return {};
}

}  // namespace

Status ApplyPtEvent(std::string_view event, RecordOptions& options) {
  constexpr std::string_view kEvent = "intel_pt/";
  const size_t end = event.rfind('/');
  if (!event.starts_with(kEvent) || end < kEvent.size())
    return Fail(Wrong(event, "not an event that can be emulated")
                    .Remedy("-e intel_pt//u, with terms between the slashes: " + KnownTerms()));
  const std::string_view modifiers = event.substr(end + 1);
  if (modifiers.find_first_not_of('u') != std::string_view::npos)
    return Fail(Wrong(event, fmt::format("'{}': only user code (u) can be emulated", modifiers))
                    .Remedy(fmt::format("-e {}u", event.substr(0, end + 1))));
  Terms terms;
  for (std::string_view rest = event.substr(kEvent.size(), end - kEvent.size()); !rest.empty();) {
    const size_t comma = rest.find(',');
    if (Status parsed = ParseTerm(event, rest.substr(0, comma), terms); !parsed) return parsed;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return Apply(event, terms, options);
}

}  // namespace flowback::cli
