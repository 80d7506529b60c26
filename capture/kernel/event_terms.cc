// SPDX-License-Identifier: MIT
#include "capture/kernel/event_terms.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "capture/kernel/branch_filter.h"
#include "capture/kernel/call_stacks.h"

namespace flowback::kernel {
namespace {

struct Term {
  std::string_view name;
  std::optional<std::string_view> value;
};

Error Wrong(const Term& term, const std::string& why) {
  return Error(ErrorCode::kUsage, "'" + std::string(term.name) + "' " + why);
}

Result<uint64_t> NumberOf(const Term& term) {
  if (!term.value) return uint64_t{1};
  if (const auto number = ParseTermNumber(*term.value)) return *number;
  return Fail(Wrong(term, "takes a number, not '" + std::string(*term.value) + "'")
                  .Remedy(std::string(term.name) + "=1"));
}

// ---- perf's own terms ----

using Taker = Status (*)(const Term& term, WantedEvent& event);

template <auto kMember>
Status TakeNumber(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.*kMember = *number;
  return {};
}

template <auto kMember>
Status TakeFlag(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.*kMember = *number != 0;
  return {};
}

template <auto kMember>
Status TakeAbsence(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.*kMember = *number == 0;
  return {};
}

// bp_addr and config1 share their place, and so do bp_len and config2.
template <auto kMember>
Status TakeConfig(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.attr.*kMember = *number;
  return {};
}

Status TakeConfig1(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.attr.config1 = *number;
  return {};
}

Status TakeConfig2(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.attr.config2 = *number;
  return {};
}

Status TakeName(const Term& term, WantedEvent& event) {
  if (!term.value || term.value->empty())
    return Fail(Wrong(term, "names nothing").Remedy("name=WORD"));
  event.name = *term.value;
  return {};
}

Status TakeBranches(const Term& term, WantedEvent& event) {
  const auto filter = ParseBranchFilter(term.value.value_or("any"));
  if (!filter) return Fail(filter.error());
  event.branches = *filter;
  return {};
}

Status TakeAuxOutput(const Term& term, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  event.attr.aux_output = *number != 0;
  return {};
}

// perf reads such a buffer from its end, while it stands still.
template <bool kOverwrites>
Status TakeOverwrite(const Term& term, WantedEvent&) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  if ((*number != 0) != kOverwrites) return {};
  return Fail(Error(ErrorCode::kUnsupported, "'" + std::string(term.name) +
                                                 "' has the kernel write its records backwards, "
                                                 "which are not read here")
                  .Remedy("leave it out; of Intel PT, -S SIZE keeps the latest trace"));
}

Status TakeCallGraph(const Term& term, WantedEvent& event) {
  const auto stacks = ParseCallStacks(term.value.value_or("fp"));
  if (!stacks) return Fail(stacks.error());
  const auto before = event.stacks;
  event.stacks = *stacks;
  if (before) event.stacks->copy_bytes = before->copy_bytes;
  return {};
}

// perf's size alone asks for no stacks.
Status TakeStackSize(const Term& term, WantedEvent& event) {
  const auto bytes = ParseStackBytes(term.value.value_or(""));
  if (!bytes) return Fail(bytes.error());
  if (!event.stacks) event.stacks.emplace();
  event.stacks->copy_bytes = *bytes;
  return {};
}

// What an event does to the trace that leads its group, or a trace from the start. The bits are
// behind aux_sample_size, newer than the headers that this may be built with.
struct AuxAction {
  std::string_view word;
  uint32_t bit;
};
constexpr AuxAction kAuxActions[] = {{"start-paused", 1}, {"pause", 2}, {"resume", 4}};

Status TakeAuxAction(const Term& term, WantedEvent& event) {
  const auto action = std::ranges::find(kAuxActions, term.value.value_or(""), &AuxAction::word);
  if (action == std::end(kAuxActions))
    return Fail(
        Wrong(term, "is start-paused (of a trace), pause or resume (of events in its group)")
            .Remedy("-e '{intel_pt/aux-action=start-paused/u,EVENT/aux-action=resume/u}'"));
  SetAuxAction(event.attr, action->bit);
  return {};
}

struct OwnTerm {
  std::string_view name;
  Taker take;
};
constexpr OwnTerm kOwnTerms[] = {{"config", TakeConfig<&perf_event_attr::config>},
                                 {"config1", TakeConfig1},
                                 {"config2", TakeConfig2},
                                 {"name", TakeName},
                                 {"period", TakeNumber<&WantedEvent::period>},
                                 {"freq", TakeNumber<&WantedEvent::frequency>},
                                 {"branch_type", TakeBranches},
                                 {"time", TakeFlag<&WantedEvent::time>},
                                 {"inherit", TakeFlag<&WantedEvent::inherit>},
                                 {"no-inherit", TakeAbsence<&WantedEvent::inherit>},
                                 {"overwrite", TakeOverwrite<true>},
                                 {"no-overwrite", TakeOverwrite<false>},
                                 {"aux-output", TakeAuxOutput},
                                 {"aux-sample-size", TakeNumber<&WantedEvent::aux_sample_size>},
                                 {"aux-action", TakeAuxAction},
                                 {"call-graph", TakeCallGraph},
                                 {"stack-size", TakeStackSize}};

// ---- terms of the PMU ----

std::string KnownTerms(const WantedEvent& event) {
  std::string names;
  const auto add = [&](std::string_view name) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  };
  if (event.pmu != nullptr)
    for (const auto& [name, bits] : event.pmu->format) add(name);
  for (const OwnTerm& own : kOwnTerms) add(own.name);
  return names;
}

Status TakeBits(const Term& term, const TermBits& bits, WantedEvent& event) {
  const auto number = NumberOf(term);
  if (!number) return Fail(number.error());
  if (*number > bits.largest())
    return Fail(Wrong(term, "is at most " + std::to_string(bits.largest()) + ", not " +
                                std::to_string(*number))
                    .Remedy(std::string(term.name) + "=" + std::to_string(bits.largest())));
  bits.Set(event.attr, *number);
  return {};
}

// "r1a8" between slashes is the whole configuration.
std::optional<uint64_t> RawConfig(const Term& term) {
  constexpr int kHexadecimal = 16;
  uint64_t config = 0;
  const char* const end = term.name.data() + term.name.size();
  if (term.value || !term.name.starts_with('r') || term.name.size() < 2) return std::nullopt;
  const auto [stop, code] = std::from_chars(term.name.data() + 1, end, config, kHexadecimal);
  if (code != std::errc() || stop != end) return std::nullopt;
  return config;
}

// Whether names of the PMU's events count: their own texts have none, or they might never end.
enum class Names : bool { kNone, kOfEvents };
Status Apply(std::string_view terms, Names names, WantedEvent& event);

Status Take(const Term& term, Names names, WantedEvent& event) {
  const auto own = std::ranges::find(kOwnTerms, term.name, &OwnTerm::name);
  if (own != std::end(kOwnTerms)) return own->take(term, event);
  if (event.pmu != nullptr) {
    const auto bits = event.pmu->format.find(term.name);
    if (bits != event.pmu->format.end()) return TakeBits(term, bits->second, event);
    const auto named = event.pmu->events.find(term.name);
    if (named != event.pmu->events.end() && !term.value && names == Names::kOfEvents)
      return Apply(named->second, Names::kNone, event);
    if (const auto config = RawConfig(term)) {
      event.attr.config = *config;
      return {};
    }
  }
  return Fail(Wrong(term, "is no term of it").Remedy("known: " + KnownTerms(event)));
}

Status Apply(std::string_view terms, Names names, WantedEvent& event) {
  while (!terms.empty()) {
    const size_t comma = terms.find(',');
    const std::string_view text = terms.substr(0, comma);
    terms.remove_prefix(comma == std::string_view::npos ? terms.size() : comma + 1);
    const size_t equals = text.find('=');
    Term term{.name = text.substr(0, equals), .value = {}};
    if (equals != std::string_view::npos) term.value = text.substr(equals + 1);
    if (Status taken = Take(term, names, event); !taken) return taken;
  }
  return {};
}

}  // namespace

std::optional<uint64_t> ParseTermNumber(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (code != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

Status ApplyTerms(std::string_view terms, WantedEvent& event) {
  return Apply(terms, Names::kOfEvents, event);
}

}  // namespace flowback::kernel
