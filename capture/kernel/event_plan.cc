// SPDX-License-Identifier: MIT
// If several events have different sample types, a record's first words must name its event: all
// get IDENTIFIER then. If the types are equal, ID is enough. One event tracks what else happens
// (tasks, names, mappings): the first, or a dummy beside a trace.
#include "capture/kernel/event_plan.h"

#include <algorithm>
#include <string_view>

#include "capture/kernel/call_stacks.h"
#include "capture/kernel/event_default.h"

namespace flowback::kernel {
namespace {

constexpr uint64_t kFormatLost = 1 << 4;  // PERF_FORMAT_LOST

void SetRate(const WantedEvent& wanted, const SamplingChoice& choice, perf_event_attr& attr) {
  const bool names_rate = wanted.period || wanted.frequency;
  if (const std::optional<uint64_t> period = names_rate ? wanted.period : choice.period) {
    attr.sample_period = *period;
    return;
  }
  attr.freq = 1;
  attr.sample_freq = wanted.frequency.value_or(choice.frequency);
}

void Track(const SamplingChoice& choice, perf_event_attr& attr) {
  attr.task = attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = 1;
  attr.ksymbol = attr.bpf_event = 1;
  attr.build_id = choice.build_ids;
  attr.context_switch = choice.switches;
  attr.namespaces = choice.namespaces;
}

void SetSamples(const WantedEvent& wanted, const SamplingChoice& choice, perf_event_attr& attr) {
  attr.sample_regs_user = wanted.user_registers;
  if (wanted.is_probe) attr.wakeup_events = 1;
  attr.sample_type = wanted.sample_type;
  if (attr.sample_type != 0) return;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  if (wanted.time.value_or(choice.inherits || choice.of_cpus)) attr.sample_type |= PERF_SAMPLE_TIME;
  if (attr.freq) attr.sample_type |= PERF_SAMPLE_PERIOD;
  if (choice.of_cpus) attr.sample_type |= PERF_SAMPLE_CPU;
  if (wanted.is_tracepoint() || wanted.is_bpf_output())
    attr.sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
  if (wanted.reads_group) attr.sample_type |= PERF_SAMPLE_READ;
  const uint64_t branches = wanted.branches.value_or(choice.branches);
  if (branches != 0 && !wanted.is_dummy()) {
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = branches;
  }
  if (wanted.aux_sample_size.value_or(0) != 0) {
    attr.sample_type |= PERF_SAMPLE_AUX;
    attr.aux_sample_size = static_cast<uint32_t>(*wanted.aux_sample_size);
  }
}

bool Leads(const std::vector<PlannedEvent>& events, size_t i) {
  const auto leader = events[i].wanted.leader;
  return !leader || *leader == i;
}

size_t Members(const std::vector<PlannedEvent>& events, size_t leader) {
  return static_cast<size_t>(std::ranges::count_if(
      events, [&](const PlannedEvent& event) { return event.wanted.leader == leader; }));
}

// Sets the begin of an event by itself or a group's leader; members follow it.
void SetBegin(const std::vector<PlannedEvent>& events, size_t i, const SamplingChoice& choice,
              perf_event_attr& attr) {
  if (!Leads(events, i)) return;
  attr.disabled = 1;
  attr.enable_on_exec = choice.launches && !choice.delayed;
  if (events[i].wanted.is_probe) attr.enable_on_exec = choice.launches && choice.per_thread;
}

// S: the leader's samples have everybody's counts, and members aren't sampled.
void ReadAsGroup(std::vector<PlannedEvent>& events, size_t i) {
  const auto leader = events[i].wanted.leader;
  if (!leader || !events[i].wanted.reads_group || Members(events, *leader) < 2) return;
  perf_event_attr& attr = events[i].attr;
  attr.read_format |= PERF_FORMAT_GROUP;
  attr.inherit = 0;
  if (*leader == i) return;
  attr.freq = 0;
  attr.sample_period = 0;
}

void Plan(std::vector<PlannedEvent>& events, size_t i, const SamplingChoice& choice) {
  PlannedEvent& event = events[i];
  perf_event_attr& attr = event.attr;
  attr = event.wanted.attr;
  attr.size = PERF_ATTR_SIZE_VER7;
  attr.sample_id_all = 1;
  attr.inherit = event.wanted.inherit.value_or(choice.inherits) && !event.wanted.is_probe;
  attr.read_format = PERF_FORMAT_ID | kFormatLost;
  SetRate(event.wanted, choice, attr);
  SetSamples(event.wanted, choice, attr);
  SetBegin(events, i, choice, attr);
  ReadAsGroup(events, i);
  if (event.wanted.most_precise) attr.precise_ip = 3;
}

// A trace has no samples: its records are told apart by their last word. Whether guests are traced
// is the hypervisor's choice, not the event's; so perf excludes none on a machine that has Intel
// PT.
void PlanTrace(const SamplingChoice& choice, perf_event_attr& attr) {
  attr.exclude_guest = 0;
  attr.freq = 0;
  attr.sample_period = 1;
  attr.sample_type &= ~uint64_t{PERF_SAMPLE_PERIOD};
  attr.sample_type |= PERF_SAMPLE_TIME;
  if (!choice.per_thread) attr.sample_type |= PERF_SAMPLE_CPU;
}

void SetIds(std::vector<PlannedEvent>& events, bool tracked) {
  const uint64_t first = events.front().attr.sample_type;
  const bool alike = std::ranges::all_of(
      events, [&](const PlannedEvent& event) { return event.attr.sample_type == first; });
  for (PlannedEvent& event : events) {
    if (tracked || !alike)
      event.attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
    else if (events.size() > 1 || event.wanted.reads_group)
      event.attr.sample_type |= PERF_SAMPLE_ID;
  }
}

// A dummy counts nothing at any level; it gets the levels of `like`, which the user may open.
WantedEvent Tracker(const WantedEvent& like) {
  WantedEvent dummy;
  dummy.name = like.attr.exclude_kernel ? "dummy:u" : "dummy";
  dummy.attr.type = PERF_TYPE_SOFTWARE;
  dummy.attr.config = PERF_COUNT_SW_DUMMY;
  dummy.attr.exclude_kernel = like.attr.exclude_kernel;
  dummy.attr.exclude_hv = like.attr.exclude_hv;
  dummy.attr.exclude_guest = 1;
  dummy.period = 1;
  dummy.branches = 0;
  return dummy;
}

}  // namespace

bool HasAux(const WantedEvent& event) {
  return event.pmu != nullptr && event.pmu->name == kIntelPtName;
}

std::vector<PlannedEvent> PlanEvents(std::vector<WantedEvent> wanted,
                                     const SamplingChoice& choice) {
  if (wanted.empty()) return {};
  const bool has_trace = std::ranges::any_of(wanted, HasAux);
  const bool begins_apart = choice.delayed || choice.tracks_apart;
  const bool wants_tracker = has_trace || choice.of_cpus || choice.hybrid || begins_apart;
  auto tracking = std::ranges::find_if(wanted, &WantedEvent::is_dummy);
  if (!wants_tracker) tracking = wanted.begin();
  const size_t tracker = static_cast<size_t>(tracking - wanted.begin());
  if (tracker == wanted.size()) wanted.push_back(Tracker(wanted.front()));
  std::vector<PlannedEvent> events;
  for (WantedEvent& event : wanted) events.push_back({.wanted = std::move(event)});
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].has_aux = HasAux(events[i].wanted);
    Plan(events, i, choice);
    if (has_trace && (events[i].has_aux || i == tracker)) PlanTrace(choice, events[i].attr);
  }
  perf_event_attr& attr = events[tracker].attr;
  Track(choice, attr);
  // What the kernel changes of its own code, which a trace of it must be read with.
  attr.text_poke = std::ranges::any_of(events, [](const PlannedEvent& event) {
    return event.has_aux && !event.attr.exclude_kernel;
  });
  for (size_t i = 0; i < events.size(); ++i) {
    const WantedEvent& event = events[i].wanted;
    if (events[i].has_aux || event.is_dummy() || event.is_probe) continue;
    RecordStacks(event.stacks.value_or(choice.stacks), i == tracker, events[i].attr);
    events[i].attr.sample_type |= choice.accesses;
    if ((choice.accesses & PERF_SAMPLE_ADDR) != 0 && i == tracker) events[i].attr.mmap_data = 1;
  }
  if (choice.launches && begins_apart)
    attr.enable_on_exec = 1;
  else if (wants_tracker && !has_trace)
    attr.disabled = attr.enable_on_exec = 0;
  SetIds(events, has_trace || tracker > 0);
  return events;
}

}  // namespace flowback::kernel
