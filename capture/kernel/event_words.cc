// SPDX-License-Identifier: MIT
// One pass from left to right. The characters after a name show its kind:
//
//   NAME/terms/mods      an event of the PMU of that name; of an event with a name of perf's, terms
//   NAME:mods            an event with a name of perf's
//   mem:ADDRESS[/SIZE][:ACCESS][:mods]   accesses to memory
//   SYSTEM:NAME[:mods]   a tracepoint; * and ? stand for any letters of the name
//   [NAME]{event,...}:mods   a group
#include "capture/kernel/event_words.h"

#include <fnmatch.h>
#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <string>
#include <utility>

#include "capture/kernel/event_default.h"
#include "capture/kernel/event_modifiers.h"
#include "capture/kernel/event_terms.h"
#include "capture/kernel/symbol_event.h"

namespace flowback::kernel {
namespace {

constexpr const char* kTracefs[] = {"/sys/kernel/tracing/events/",
                                    "/sys/kernel/debug/tracing/events/"};
constexpr unsigned kPmuTypeAt = 32;  // of hardware and cache events, on hybrid machines

// Memory accesses that a breakpoint waits for.
constexpr uint32_t kReads = HW_BREAKPOINT_R;
constexpr uint32_t kWrites = HW_BREAKPOINT_W;
constexpr uint32_t kExecutes = HW_BREAKPOINT_X;
constexpr uint64_t kUsualSize = HW_BREAKPOINT_LEN_4;

// "rw". Empty: other letters are there.
std::optional<uint32_t> AccessOf(std::string_view letters) {
  uint32_t access = 0;
  for (const char letter : letters) {
    if (letter != 'r' && letter != 'w' && letter != 'x') return std::nullopt;
    access |= letter == 'r' ? kReads : letter == 'w' ? kWrites : kExecutes;
  }
  return access;
}

// Units that a machine has several of, as memory controllers, have numbers after their names, and
// "uncore_" before them: imc is uncore_imc_0, uncore_imc_1.
bool IsNumbered(std::string_view pmu, std::string_view name) {
  constexpr std::string_view kUncore = "uncore_";
  if (pmu.starts_with(kUncore) && !name.starts_with(kUncore)) pmu.remove_prefix(kUncore.size());
  if (!pmu.starts_with(name)) return false;
  const std::string_view rest = pmu.substr(name.size());
  return rest.size() > 1 && rest[0] == '_' &&
         rest.substr(1).find_first_not_of("0123456789") == std::string_view::npos;
}

class Parser {
 public:
  Parser(std::string_view text, const std::vector<Pmu>& pmus, const SystemKernel& kernel)
      : text_(text), pmus_(pmus), kernel_(kernel) {}

  Result<std::vector<WantedEvent>> Parse();

 private:
  // ---- the text ----
  bool AtEnd() const { return at_ == text_.size(); }
  char Next() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Skip(char c) {
    if (Next() != c) return false;
    ++at_;
    return true;
  }
  std::string_view TakeUpTo(std::string_view stops) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(stops, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  std::unexpected<Error> Wrong(const std::string& why, const std::string& remedy,
                               ErrorCode code = ErrorCode::kUsage) const {
    return Fail(Error(code, "-e " + std::string(text_) + ": " + why).Remedy(remedy).At(at_));
  }
  Status InContext(Status status) const {
    if (status) return status;
    return Fail(
        Error(status.error().code(), "-e " + std::string(text_) + ": " + status.error().message())
            .Remedy(status.error().remedy())
            .At(at_));
  }

  // ---- the grammar; each adds to events_ ----
  Status Item();
  Status Group();
  Status Event();
  Status OfSymbol(std::string_view name, const SymbolEvent& symbol);
  Status OfPmu(std::string_view name);
  Status OfAlias(std::string_view name);
  Status Breakpoint();
  Status Tracepoints(std::string_view system);
  Status TracepointsOf(const std::string& folder, std::string_view system,
                       std::string_view pattern);
  // Terms, modifiers and the name, of all events from `first` on.
  Status Ending(size_t first, size_t begin);
  Status Terms(size_t first);
  Status Modifiers(size_t first, bool of_group);

  std::vector<const Pmu*> CorePmus() const;
  WantedEvent& Add(uint32_t type, uint64_t config, const Pmu* pmu);
  std::string PmuNames() const;

  const std::string_view text_;
  const std::vector<Pmu>& pmus_;
  const SystemKernel& kernel_;
  size_t at_ = 0;
  std::vector<WantedEvent> events_;
};

// ---- adding events ----

WantedEvent& Parser::Add(uint32_t type, uint64_t config, const Pmu* pmu) {
  WantedEvent& event = events_.emplace_back();
  event.attr.type = type;
  event.attr.config = config;
  event.attr.exclude_guest = 1;
  event.pmu = pmu;
  return event;
}

// On a hybrid machine its kinds of cores; else none, for the kernel knows which is meant.
std::vector<const Pmu*> Parser::CorePmus() const {
  std::vector<const Pmu*> cores;
  for (const Pmu& pmu : pmus_)
    if (pmu.name == "cpu_core" || pmu.name == "cpu_atom") cores.push_back(&pmu);
  return cores;
}

Status Parser::OfSymbol(std::string_view, const SymbolEvent& symbol) {
  const auto cores = symbol.pmu_specific() ? CorePmus() : std::vector<const Pmu*>();
  if (cores.empty()) {
    WantedEvent& event = Add(symbol.type, symbol.config, nullptr);
    if (event.is_bpf_output()) event.period = 1;
    return {};
  }
  for (const Pmu* core : cores) {
    const bool raw = symbol.type == PERF_TYPE_RAW;
    WantedEvent& event =
        Add(raw ? core->type : symbol.type,
            raw ? symbol.config : symbol.config | uint64_t{core->type} << kPmuTypeAt, core);
    event.pmu = core;
  }
  return {};
}

std::string Parser::PmuNames() const {
  std::string names;
  for (const Pmu& pmu : pmus_) names += (names.empty() ? "" : ", ") + pmu.name;
  return names.empty() ? "none" : names;
}

Status Parser::OfPmu(std::string_view name) {
  const std::string pattern(name);
  const size_t first = events_.size();
  for (const Pmu& pmu : pmus_) {
    const bool meant = pmu.name == name || IsNumbered(pmu.name, name) ||
                       fnmatch(pattern.c_str(), pmu.name.c_str(), 0) == 0;
    if (meant) SetDefaults(pmu, Add(pmu.type, 0, &pmu).attr);
  }
  if (events_.size() != first) return {};
  return Wrong(
      "this machine has no PMU '" + pattern + "': " + kPmuFolder + "/" + pattern + " is missing",
      "there are: " + PmuNames(), ErrorCode::kNoHardware);
}

// An event that a PMU has a name for, without its PMU.
Status Parser::OfAlias(std::string_view name) {
  const size_t first = events_.size();
  for (const Pmu& pmu : pmus_) {
    if (!pmu.events.contains(name)) continue;
    if (Status taken = InContext(ApplyTerms(name, Add(pmu.type, 0, &pmu))); !taken) return taken;
  }
  if (events_.size() != first) return {};
  const std::string near = NearEventNames(name);
  return Wrong("no event '" + std::string(name) + "'",
               near.empty() ? "cycles, page-faults, intel_pt//, cpu/event=0x3c/, sched:sched_switch"
                            : "similar: " + near);
}

// "mem:" stands before it.
Status Parser::Breakpoint() {
  const auto address = ParseTermNumber(TakeUpTo("/:,}"));
  if (!address) return Wrong("no address behind mem:", "mem:0x1000/8:rw");
  std::optional<uint64_t> size;
  if (Skip('/')) {
    size = ParseTermNumber(TakeUpTo(":,}"));
    if (!size) return Wrong("no size behind the address", "mem:0x1000/8:rw");
  }
  const size_t begin = at_;
  std::optional<uint32_t> access;
  if (Skip(':')) access = AccessOf(TakeUpTo(":,}"));
  if (!access) at_ = begin;  // nothing stands there, or modifiers
  WantedEvent& event = Add(PERF_TYPE_BREAKPOINT, 0, nullptr);
  event.attr.bp_type = access.value_or(kReads | kWrites);
  event.attr.bp_addr = *address;
  event.attr.bp_len = size.value_or(access == kExecutes ? sizeof(long) : kUsualSize);
  event.period = 1;
  return {};
}

Status Parser::TracepointsOf(const std::string& folder, std::string_view system,
                             std::string_view pattern) {
  const std::string wanted(pattern);
  for (const std::string& name : kernel_.List(folder + std::string(system))) {
    if (fnmatch(wanted.c_str(), name.c_str(), 0) != 0) continue;
    const auto id = ReadNumber(kernel_, folder + std::string(system) + "/" + name + "/id");
    if (!id) continue;
    WantedEvent& event = Add(PERF_TYPE_TRACEPOINT, static_cast<uint64_t>(*id), nullptr);
    event.name = std::string(system) + ":" + name;
    event.period = 1;
  }
  return {};
}

// "SYSTEM:" stands before it.
Status Parser::Tracepoints(std::string_view system) {
  const std::string_view pattern = TakeUpTo("/:,}");
  const size_t first = events_.size();
  bool readable = false;
  for (const char* folder : kTracefs) {
    if (events_.size() != first) break;
    const std::vector<std::string> systems = kernel_.List(folder);
    readable |= !systems.empty();
    for (const std::string& one : systems)
      if (fnmatch(std::string(system).c_str(), one.c_str(), 0) == 0)
        if (Status added = TracepointsOf(folder, one, pattern); !added) return added;
  }
  if (events_.size() != first) return {};
  const std::string name = std::string(system) + ":" + std::string(pattern);
  if (!readable)
    return Wrong(
        "tracepoints can't be read: " + std::string(kTracefs[0]) + " is not there, or closed",
        "sudo mount -t tracefs nodev /sys/kernel/tracing; as root, or with it readable",
        ErrorCode::kPermission);
  return Wrong("no tracepoint '" + name + "'",
               "ls " + std::string(kTracefs[0]) + std::string(system) + " shows those there are",
               ErrorCode::kNoHardware);
}

// ---- what ends an event ----

Status Parser::Terms(size_t first) {
  if (!Skip('/')) return {};
  const std::string_view terms = TakeUpTo("/");
  if (!Skip('/')) return Wrong("the terms have no end", "write a / behind them");
  for (size_t i = first; i < events_.size(); ++i)
    if (Status taken = InContext(ApplyTerms(terms, events_[i])); !taken) return taken;
  return {};
}

Status Parser::Modifiers(size_t first, bool of_group) {
  const bool colon = Skip(':');
  if (!colon && of_group) return {};
  const std::string_view letters = TakeUpTo(",}");
  for (size_t i = first; i < events_.size(); ++i)
    if (Status taken = InContext(ApplyModifiers(letters, of_group, events_[i])); !taken)
      return taken;
  return {};
}

Status Parser::Ending(size_t first, size_t begin) {
  if (Status taken = Terms(first); !taken) return taken;
  if (Status taken = Modifiers(first, false); !taken) return taken;
  const std::string_view written = text_.substr(begin, at_ - begin);
  for (size_t i = first; i < events_.size(); ++i) {
    WantedEvent& event = events_[i];
    if (event.name.empty()) event.name = written;
    if (Status fits = InContext(CheckAgainstCaps(event)); !fits) return fits;
  }
  return {};
}

Status Parser::Event() {
  const size_t first = events_.size();
  const size_t begin = at_;
  const std::string_view name = TakeUpTo("/:,{}");
  Status added;
  const auto symbol = FindSymbolEvent(name);
  if (name.empty()) return Wrong("an event's name is missing", "cycles, or intel_pt//");
  if (name == "mem" && Skip(':')) {
    added = Breakpoint();
  } else if (symbol) {
    added = OfSymbol(name, *symbol);
  } else if (Next() == '/') {
    added = OfPmu(name);
  } else if (Skip(':')) {
    added = Tracepoints(name);
  } else {
    added = OfAlias(name);
  }
  return added ? Ending(first, begin) : added;
}

// "{" stands before it; the first event leads the others.
Status Parser::Group() {
  const size_t first = events_.size();
  do {
    if (Next() == '{') return Wrong("a group in a group", "one level of braces");
    if (Status parsed = Event(); !parsed) return parsed;
  } while (Skip(','));
  if (!Skip('}')) return Wrong("a group has no end", "write a } behind its last event");
  for (size_t i = first; i < events_.size(); ++i) {
    events_[i].leader = first;
    if (i != first) events_[i].attr.pinned = events_[i].attr.exclusive = 0;
  }
  const size_t colon = at_;
  // Members are no leaders: D and e are the leader's.
  events_[first].leader.reset();
  if (Status taken = Modifiers(first, true); !taken) return taken;
  events_[first].leader = first;
  const std::string_view letters = text_.substr(colon, at_ - colon);
  for (size_t i = first; i < events_.size(); ++i) events_[i].name += letters;
  return {};
}

Status Parser::Item() {
  const size_t brace = text_.find_first_of("{,/:", at_);
  if (brace != std::string_view::npos && text_[brace] == '{') {
    at_ = brace + 1;  // what stands before it names the group
    return Group();
  }
  return Event();
}

Result<std::vector<WantedEvent>> Parser::Parse() {
  do {
    if (Status parsed = Item(); !parsed) return Fail(parsed.error());
  } while (Skip(','));
  if (!AtEnd())
    return Wrong("'" + std::string(text_.substr(at_)) + "' is not understood",
                 "events have commas between them");
  return std::move(events_);
}

}  // namespace

Result<std::vector<WantedEvent>> ParseEvents(std::string_view text, const std::vector<Pmu>& pmus,
                                             const SystemKernel& kernel) {
  return Parser(text, pmus, kernel).Parse();
}

}  // namespace flowback::kernel
