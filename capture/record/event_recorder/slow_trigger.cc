// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/slow_trigger.h"

#include <asm/perf_regs.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/hex.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/program_file.h"

namespace flowback::record {
namespace {

using kernel::WantedEvent;

#if defined(__x86_64__) || defined(__i386__)
constexpr unsigned kStackPointer = PERF_REG_X86_SP;
#else
constexpr unsigned kStackPointer = PERF_REG_ARM64_SP;
#endif

Error NoProbes() {
  return Error(ErrorCode::kUnsupported, "--trigger: this kernel has no probes of user code: " +
                                            std::string(kernel::kPmuFolder) + "/uprobe is missing")
      .Remedy(
          "boot one with CONFIG_UPROBE_EVENTS=y; or -S SIZE, and SIGUSR2 to flowback when it "
          "happens");
}

// Files in which the function may be: those that run, or the one that is named.
std::set<std::string> FilesOf(const RecordOptions& options, const FunctionName& function) {
  if (function.file.contains('/')) return {function.file};
  std::set<std::string> files;
  const auto add = [&](const std::string& path) {
    if (function.MayBeIn(path)) files.insert(path);
  };
  if (!options.target.command.empty()) add(LookUpInPath(options.target.command[0]));
  std::vector<pid_t> pids(options.target.pids.begin(), options.target.pids.end());
  for (const int32_t tid : options.target.tids) pids.push_back(ReadThreadGroup(tid));
  for (const pid_t pid : pids)
    for (const ExecutableMapping& mapping : ReadExecutableMappings(pid))
      if (mapping.has_file && !mapping.deleted) add(mapping.path);
  return files;
}

Error NoFunction(const FunctionName& function, const std::set<std::string>& files) {
  std::string where;
  for (const std::string& file : files) where += (where.empty() ? "" : ", ") + file;
  return Error(ErrorCode::kUsage, "--trigger: there is no function '" + function.name + "' in " +
                                      (where.empty() ? "any file that is known" : where))
      .Remedy("name the file that has it: --trigger '" + function.name +
              "@/usr/lib/libx.so>5ms'; a stripped file has the names of exported functions only");
}

// In a sample of such an event; 8 bytes each.
struct SamplePlaces {
  size_t thread = 0, time = 0, registers = 0;
};

SamplePlaces PlacesIn(uint64_t type) {
  SamplePlaces places;
  size_t at = 0;
  const auto next = [&](uint64_t bit) {
    if ((type & bit) == 0) return at;
    at += 8;
    return at - 8;
  };
  next(PERF_SAMPLE_IDENTIFIER);
  next(PERF_SAMPLE_IP);
  places.thread = next(PERF_SAMPLE_TID);
  places.time = next(PERF_SAMPLE_TIME);
  next(PERF_SAMPLE_ADDR);
  next(PERF_SAMPLE_ID);
  next(PERF_SAMPLE_STREAM_ID);
  next(PERF_SAMPLE_CPU);
  next(PERF_SAMPLE_PERIOD);
  places.registers = next(PERF_SAMPLE_REGS_USER);
  return places;
}

// Returns how many words sample_id_all adds to a record; the first one is the thread.
size_t TrailerWords(uint64_t type) {
  return static_cast<size_t>(
      std::popcount(type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                            PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)));
}

pid_t TidOf(uint64_t thread) { return static_cast<pid_t>(thread >> 32); }

}  // namespace

Result<SlowTrigger> SlowTrigger::Find(const RecordOptions& options,
                                      const std::vector<kernel::Pmu>& pmus) {
  const kernel::Pmu* pmu = kernel::FindPmu(pmus, "uprobe");
  if (pmu == nullptr || !pmu->format.contains("retprobe")) return Fail(NoProbes());
  const auto function = ParseFunctionName(options.direction.slow_function);
  if (!function)
    return Fail(Error(ErrorCode::kUsage,
                      "--trigger: '" + options.direction.slow_function + "' is no function's name")
                    .Remedy("--trigger 'NAME>5ms' or 'NAME@FILE>5ms'"));
  SlowTrigger trigger(*pmu, *function, static_cast<uint64_t>(options.direction.slow.count()));
  const std::set<std::string> files = FilesOf(options, *function);
  for (const std::string& file : files)
    for (const uint64_t offset : FindFunction(file, function->name).offsets)
      trigger.places_.push_back({file, offset});
  if (trigger.places_.empty()) return Fail(NoFunction(*function, files));
  return trigger;
}

// The kernel reads the path, whose address config1 is, and the offset in config2.
WantedEvent SlowTrigger::EventAt(const Place& place, bool returns) const {
  WantedEvent event;
  event.name = "uprobe:" + function_.name + (returns ? ":return" : "");
  event.pmu = pmu_;
  event.attr.type = pmu_->type;
  pmu_->format.find("retprobe")->second.Set(event.attr, returns);
  event.attr.config1 = reinterpret_cast<uint64_t>(place.path.c_str());
  event.attr.config2 = place.offset;
  event.period = 1;
  event.branches = 0;
  event.sample_type = kProbeSampleType;
  event.user_registers = uint64_t{1} << kStackPointer;
  event.is_probe = true;
  event.levels_named = true;
  return event;
}

void SlowTrigger::AddEvents(std::vector<WantedEvent>& wanted) const {
  for (const Place& place : places_)
    for (const bool returns : {false, true}) wanted.push_back(EventAt(place, returns));
}

void SlowTrigger::Opened(const EventSet& events) {
  const RecordedEvents recorded = events.Recorded();
  for (size_t i = 0; i < recorded.size(); ++i) {
    const kernel::PlannedEvent& planned = events.plan()[i];
    Probe probe{.sample_type = planned.attr.sample_type};
    probe.is_probe = planned.wanted.is_probe;
    perf_event_attr returns{};
    pmu_->format.find("retprobe")->second.Set(returns, 1);
    probe.returns = (planned.attr.config & returns.config) != 0;
    for (const uint64_t id : recorded[i].ids) events_[id] = probe;
  }
}

void SlowTrigger::Note(const RingRecord& record, size_t buffer) {
  const bool sample = record.type == PERF_RECORD_SAMPLE;
  const auto event = events_.find(sample ? record.Word(0) : record.WordFromEnd(1));
  if (event == events_.end()) return;
  const Probe& probe = event->second;
  if (!sample) {
    const pid_t tid = TidOf(record.WordFromEnd(TrailerWords(probe.sample_type)));
    calls_.NoteThread(tid, buffer);
    if (record.type == PERF_RECORD_EXIT) calls_.EndThread(static_cast<pid_t>(record.Word(8)));
    return;
  }
  if (!probe.is_probe) return;
  const SamplePlaces places = PlacesIn(probe.sample_type);
  const uint64_t thread = record.Word(places.thread);
  unknown_.push_back(
      {.hit = {.time = record.Word(places.time),
               .tid = TidOf(thread),
               .stack = record.Word(places.registers + 8),  // behind how wide registers are
               .returns = probe.returns,
               .buffer = buffer},
       .pid = static_cast<pid_t>(thread)});
}

std::vector<SlowCall> SlowTrigger::EndRound(const LiveProcesses* live) {
  std::vector<Hit> wait;
  for (Hit& hit : std::exchange(unknown_, {})) {
    if (live == nullptr || live->Has(hit.pid))
      calls_.Add(hit.hit);
    else if (!std::exchange(hit.waited, true))
      wait.push_back(hit);
  }
  unknown_ = std::move(wait);
  return calls_.EndRound();
}

std::vector<std::string> SlowTrigger::Places() const {
  std::vector<std::string> texts;
  for (const Place& place : places_)
    texts.push_back(function_.name + " in " + place.path + " at " + Hex(place.offset));
  return texts;
}

}  // namespace flowback::record
