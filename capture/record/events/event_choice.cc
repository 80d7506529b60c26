// SPDX-License-Identifier: MIT
#include "capture/record/events/event_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "capture/kernel/branch_filter.h"
#include "capture/kernel/call_stacks.h"
#include "capture/kernel/event_default.h"
#include "capture/kernel/event_words.h"
#include "capture/record/events/event_cgroups.h"
#include "capture/record/events/event_filters.h"

namespace flowback::record {
namespace {

using kernel::WantedEvent;

constexpr uint64_t kUsualFrequency = 4000;
constexpr const char* kMostSamples = "/proc/sys/kernel/perf_event_max_sample_rate";

Error NoUnit(const std::string& engine, const std::string& why) {
  return Error(ErrorCode::kNoHardware, "engine '" + engine + "': " + why)
      .Remedy("--engine emulate or step needs no hardware; flowback doctor shows what there is");
}

Result<std::vector<std::string>> BranchEvents(const std::string& engine,
                                              const std::vector<kernel::Pmu>& pmus) {
  for (const kernel::Pmu& pmu : pmus) {
    if (!pmu.of_core() || pmu.name.starts_with("arm") != (engine == "brbe")) continue;
    // AMD's first branch sampling takes its own event only, with a fixed period.
    if (pmu.events.contains("branch-brs"))
      return std::vector<std::string>{"cpu/branch-brs,period=1000037/u"};
    if (pmu.Cap("branches") != 0) return std::vector<std::string>{"cycles:u"};
  }
  return Fail(NoUnit(engine,
                     "this machine has no branch stacks: no caps/branches of its CPUs' "
                     "PMU under " +
                         std::string(kernel::kPmuFolder)));
}

bool SamplesBranches(const std::string& engine) { return engine == "lbr" || engine == "brbe"; }

Error TooOften(const std::string& what, uint64_t wanted, uint64_t most) {
  return Error(ErrorCode::kUnsupported, what + " asks for " + std::to_string(wanted) +
                                            " samples a second, and " + kMostSamples + " is " +
                                            std::to_string(most))
      .Remedy("-F " + std::to_string(most) +
              ", or sudo sysctl kernel.perf_event_max_sample_rate=" + std::to_string(wanted));
}

// Returns the frequency of events that name neither period nor frequency.
Result<uint64_t> FrequencyOf(const RecordOptions& options, const std::vector<WantedEvent>& wanted,
                             const kernel::SystemKernel& kernel, std::vector<std::string>& notes) {
  const uint64_t frequency = options.events.frequency.value_or(kUsualFrequency);
  const auto told = ReadNumber(kernel, kMostSamples);
  if (!told || *told <= 0) return frequency;
  const auto most = static_cast<uint64_t>(*told);
  for (const WantedEvent& event : wanted)
    if (!event.period && event.frequency.value_or(0) > most)
      return Fail(TooOften("the event '" + event.name + "'", *event.frequency, most));
  const bool any =
      !options.events.period && std::ranges::any_of(wanted, [](const WantedEvent& event) {
        return !event.period && !event.frequency && !kernel::HasAux(event);
      });
  if (!any || frequency <= most) return frequency;
  if (options.events.frequency) return Fail(TooOften("-F", frequency, most));
  notes.push_back("events are sampled " + std::to_string(most) + " times a second instead of " +
                  std::to_string(frequency) + ": " + kMostSamples + " allows no more");
  return most;
}

bool IsLedByTrace(const WantedEvent& event, const std::vector<WantedEvent>& wanted) {
  return event.leader && kernel::HasAux(wanted[*event.leader]) && !kernel::HasAux(event);
}

// Applies the size to events that name none of their own.
Status ApplyAuxSamples(const RecordOptions& options, std::vector<WantedEvent>& wanted) {
  constexpr uint64_t kMost = uint64_t{60} << 10;  // with all else, a record has 64 KiB at most
  const auto bytes = options.events.aux_sample_bytes;
  bool any = false;
  for (WantedEvent& event : wanted) {
    if (bytes && !event.aux_sample_size && IsLedByTrace(event, wanted))
      event.aux_sample_size = *bytes;
    const uint64_t size = event.aux_sample_size.value_or(0);
    any |= size != 0;
    if (size > kMost)
      return Fail(Error(ErrorCode::kUsage, "the event '" + event.name + "' asks for " +
                                               std::to_string(size) +
                                               " bytes of trace in each sample: more than " +
                                               std::to_string(kMost) + " find no room in a record")
                      .Remedy("--aux-sample=4096"));
    if (size != 0 && !IsLedByTrace(event, wanted))
      return Fail(Error(ErrorCode::kUsage, "the event '" + event.name +
                                               "' is in no group that a trace leads, of "
                                               "which its samples could have parts")
                      .Remedy("-e '{intel_pt//u,branch-misses:u}' --aux-sample"));
  }
  if (!bytes || any) return {};
  return Fail(Error(ErrorCode::kUsage, "--aux-sample: no event is in a group that a trace leads")
                  .Remedy("-e '{intel_pt//u,branch-misses:u}' --aux-sample"));
}

}  // namespace

Result<std::vector<std::string>> EventsOfEngine(const std::string& engine,
                                                const std::vector<kernel::Pmu>& pmus) {
  if (SamplesBranches(engine)) return BranchEvents(engine, pmus);
  if (engine == "events") return std::vector<std::string>{"cpu-clock"};
  if (kernel::FindPmu(pmus, kernel::kIntelPtName) != nullptr)
    return std::vector<std::string>{"intel_pt//u"};
  return Fail(NoUnit(engine, "this machine has no Intel PT: " + std::string(kernel::kPmuFolder) +
                                 "/intel_pt is missing"));
}

Result<std::vector<WantedEvent>> WantedEvents(const RecordOptions& options,
                                              const std::vector<kernel::Pmu>& pmus,
                                              const kernel::SystemKernel& kernel) {
  std::vector<std::string> words = options.events.words;
  if (words.empty()) {
    auto usual = EventsOfEngine(options.engine, pmus);
    if (!usual) return Fail(std::move(usual.error()));
    words = *std::move(usual);
  }
  std::vector<WantedEvent> wanted;
  size_t word = 0;
  for (const std::string& text : words) {
    auto events = kernel::ParseEvents(text, pmus, kernel);
    if (!events) return Fail(std::move(events.error()));
    const size_t before = wanted.size();
    for (WantedEvent& event : *events) {
      if (event.leader) *event.leader += before;
      event.word = word;
      wanted.push_back(std::move(event));
    }
    ++word;
  }
  for (const Status& status :
       {ApplyFilters(options, kernel, wanted), ApplyCgroups(options, kernel, wanted),
        ApplyAuxSamples(options, wanted)})
    if (!status) return Fail(status.error());
  return wanted;
}

uint64_t BitsOf(const RecordAccesses& accesses) {
  uint64_t bits = 0;
  if (accesses.data) bits |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
  if (accesses.weight) bits |= PERF_SAMPLE_WEIGHT_STRUCT;
  if (accesses.physical) bits |= PERF_SAMPLE_PHYS_ADDR;
  if (accesses.page_size) bits |= PERF_SAMPLE_DATA_PAGE_SIZE;
  return bits;
}

Result<kernel::SamplingChoice> ChooseSampling(const RecordOptions& options,
                                              const std::vector<WantedEvent>& wanted,
                                              const std::vector<kernel::Pmu>& pmus,
                                              const EventTarget& target,
                                              const kernel::SystemKernel& kernel,
                                              std::vector<std::string>& notes) {
  if (options.events.period == 0)
    return Fail(Error(ErrorCode::kUsage, "-c 0: a sample each 0 times there can't be")
                    .Remedy("-c 100000, or leave it out: -F 4000"));
  const auto frequency = FrequencyOf(options, wanted, kernel, notes);
  if (!frequency) return Fail(frequency.error());
  kernel::SamplingChoice choice{
      .frequency = *frequency,
      .period = options.events.period,
      .launches = !options.target.command.empty() && !target.of_cpus(),
      .of_cpus = target.of_cpus(),
      .hybrid = kernel::FindPmu(pmus, "cpu_atom") != nullptr,
      .per_thread = target.per_thread(),
      .inherits = !target.per_thread() && !target.of_cpus(),
      .build_ids = options.events.build_ids,
      .switches = options.events.switches || std::ranges::any_of(wanted, kernel::HasAux),
      .stacks = {},
      .accesses = BitsOf(options.events.accesses),
      .delayed = options.direction.delay.has_value(),
      .tracks_apart = !options.direction.control.empty()};
  if (!options.events.call_graph.empty()) {
    const auto stacks = kernel::ParseCallStacks(options.events.call_graph);
    if (!stacks) return Fail(stacks.error());
    choice.stacks = *stacks;
  }
  std::string filter = options.events.branch_filter;
  if (filter.empty() && SamplesBranches(options.engine)) filter = "any,u";
  if (filter.empty()) return choice;
  const auto bits = kernel::ParseBranchFilter(filter);
  if (!bits) return Fail(bits.error());
  choice.branches = *bits;
  return choice;
}

}  // namespace flowback::record
