// SPDX-License-Identifier: MIT
// The kernel's records go from its buffers into the file as they are. A buffer is emptied when the
// kernel says that it fills, and a few times a second; after each round a record says that what
// comes later is not older than what the round before had, by which readers sort.
#include "capture/record/event_recorder.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "capture/kernel/branch_filter.h"
#include "capture/kernel/counter_plan.h"
#include "capture/kernel/event_default.h"
#include "capture/kernel/event_words.h"
#include "capture/kernel/linux_kernel.h"
#include "capture/record/event_account.h"
#include "capture/record/event_preamble.h"
#include "capture/record/event_target.h"
#include "capture/record/record_session.h"
#include "capture/record/tracing_data.h"

namespace flowback::record {
namespace {

using kernel::PlannedEvent;
using kernel::WantedEvent;

constexpr int kRoundMilliseconds = 100;
constexpr uint64_t kUsualFrequency = 4000;
constexpr const char* kMostSamples = "/proc/sys/kernel/perf_event_max_sample_rate";
constexpr uint64_t kUsualRecords = uint64_t{512} << 10;
constexpr uint64_t kUsualTrace = uint64_t{4} << 20;

Error NoUnit(const std::string& engine, const std::string& why) {
  return Error(ErrorCode::kNoHardware, "engine '" + engine + "': " + why)
      .Remedy("--engine emulate or step needs no hardware; flowback doctor tells what there is");
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

Result<std::vector<WantedEvent>> Wanted(const RecordOptions& options,
                                        const std::vector<kernel::Pmu>& pmus,
                                        const kernel::SystemKernel& kernel) {
  std::vector<std::string> words = options.events.words;
  if (words.empty()) {
    auto usual = EventsOfEngine(options.engine, pmus);
    if (!usual) return Fail(std::move(usual.error()));
    words = *std::move(usual);
  }
  std::vector<WantedEvent> wanted;
  for (const std::string& text : words) {
    auto events = kernel::ParseEvents(text, pmus, kernel);
    if (!events) return Fail(std::move(events.error()));
    const size_t before = wanted.size();
    for (WantedEvent& event : *events) {
      if (event.leader) *event.leader += before;
      wanted.push_back(std::move(event));
    }
  }
  return wanted;
}

Error TooOften(const std::string& what, uint64_t wanted, uint64_t most) {
  return Error(ErrorCode::kUnsupported, what + " asks for " + std::to_string(wanted) +
                                            " samples a second, and " + kMostSamples + " is " +
                                            std::to_string(most))
      .Remedy("-F " + std::to_string(most) +
              ", or sudo sysctl kernel.perf_event_max_sample_rate=" + std::to_string(wanted));
}

// Of the events that name neither period nor frequency.
Result<uint64_t> FrequencyOf(const RecordOptions& options, const std::vector<WantedEvent>& wanted,
                             const kernel::SystemKernel& kernel, std::vector<std::string>& notes) {
  const uint64_t frequency = options.events.frequency.value_or(kUsualFrequency);
  const auto told = ReadNumber(kernel, kMostSamples);
  if (!told || *told <= 0) return frequency;
  const auto most = static_cast<uint64_t>(*told);
  for (const WantedEvent& event : wanted)
    if (!event.period && event.frequency.value_or(0) > most)
      return Fail(TooOften("the event '" + event.name + "'", *event.frequency, most));
  const bool any = std::ranges::any_of(wanted, [](const WantedEvent& event) {
    return !event.period && !event.frequency && !kernel::HasAux(event);
  });
  if (!any || frequency <= most) return frequency;
  if (options.events.frequency) return Fail(TooOften("-F", frequency, most));
  notes.push_back("events are sampled " + std::to_string(most) + " times a second instead of " +
                  std::to_string(frequency) + ": " + kMostSamples + " allows no more");
  return most;
}

uint64_t PageMultiple(uint64_t bytes) {
  return std::bit_ceil(std::max(bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
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

Status EventRecorder::OpenEvents() {
  pmus_ = kernel::ReadPmus(kernel_);
  auto wanted = Wanted(options_, pmus_, kernel_);
  if (!wanted) return Fail(std::move(wanted.error()));
  const auto target = FindTarget(options_, command_ ? command_->pid() : -1, kernel_);
  if (!target) return Fail(target.error());
  const auto frequency = FrequencyOf(options_, *wanted, kernel_, notes_);
  if (!frequency) return Fail(frequency.error());
  kernel::SamplingChoice choice{
      .frequency = *frequency,
      .launches = command_ && !target->of_cpus(),
      .of_cpus = target->of_cpus(),
      .hybrid = kernel::FindPmu(pmus_, "cpu_atom") != nullptr,
      .per_thread = target->per_thread(),
      .inherits = !target->per_thread() && !target->of_cpus(),
      .build_ids = options_.events.build_ids,
      .switches = options_.events.switches || std::ranges::any_of(*wanted, kernel::HasAux)};
  std::string filter = options_.events.branch_filter;
  if (filter.empty() && SamplesBranches(options_.engine)) filter = "any,u";
  if (!filter.empty()) {
    const auto bits = kernel::ParseBranchFilter(filter);
    if (!bits) return Fail(bits.error());
    choice.branches = *bits;
  }
  std::vector<PlannedEvent> plan = kernel::PlanEvents(*std::move(wanted), choice);
  if (options_.events.counters)
    if (Status added = kernel::AddCounters(plan, choice, pmus_, kernel_); !added) return added;
  auto opened = EventSet::Open(kernel_, std::move(plan), *target, notes_);
  if (!opened) return Fail(std::move(opened.error()));
  events_.emplace(std::move(*opened));
  const RecordEvents& sizes = options_.events;
  return events_->Map(
      {.records = PageMultiple(sizes.record_buffer_bytes.value_or(kUsualRecords)),
       .trace = std::max(PageMultiple(sizes.trace_buffer_bytes.value_or(kUsualTrace)),
                         PageMultiple(options_.streams.snapshot_bytes.value_or(0)))},
      options_.streams.snapshot_bytes.has_value(), notes_);
}

Status EventRecorder::OpenFile() {
  const auto kept =
      options_.files.pipe < 0 ? KeepOlderFile(options_.files.output) : Result<std::string>("");
  if (!kept) return Fail(kept.error());
  kept_older_ = !kept->empty();
  if (kept_older_) notes_.push_back(*kept);
  EventFileFacts facts = FactsForFile(options_, pmus_, kernel_);
  if (auto layouts = TracingDataFeature(events_->plan(), kernel_))
    facts.more.push_back(*std::move(layouts));
  auto file = EventFile::Create(options_, events_->Recorded(), std::move(facts));
  if (!file) return Fail(std::move(file.error()));
  file_.emplace(std::move(*file));
  const pid_t command = command_ ? command_->pid() : -1;
  Status written = WritePreamble(*events_, options_, command, kernel_, *file_);
  if (options_.events.counters) {
    counters_.emplace(*events_, options_.events.counter_interval);
    if (written) written = counters_->Begin(*file_);
  }
  // From here on a recorder that is killed leaves a file that perf reads, too.
  return written ? file_->EndRound() : written;
}

// A recording that does not begin costs no older one.
void EventRecorder::GiveFileBack() {
  const bool made = file_.has_value();
  file_.reset();
  if (options_.files.pipe < 0 && (made || kept_older_))
    BringOlderFileBack(options_.files.output, kept_older_);
}

Status EventRecorder::Begin() {
  if (Status opened = OpenFile(); !opened) return opened;
  if (Status enabled = events_->Enable(); !enabled) return enabled;
  return command_ ? command_->Release() : Status();
}

Result<pid_t> EventRecorder::Start(RecordSession& session) {
  session_ = &session;
  if (!options_.target.command.empty()) {
    auto command = PausedCommand::Start(options_.target.command, session.signals());
    if (!command) return Fail(std::move(command.error()));
    command_.emplace(std::move(*command));
  }
  if (Status opened = OpenEvents(); !opened) return Fail(std::move(opened.error()));
  if (Status begun = Begin(); !begun) {
    GiveFileBack();
    return Fail(std::move(begun.error()));
  }
  return command_ ? command_->pid() : -1;
}

// ---- while it runs ----

Status EventRecorder::TakeTrace(const EventSet::Buffer& buffer, uint32_t index) {
  if (!buffer.ring.has_aux() || options_.streams.snapshot_bytes) return {};
  const RingPart trace = buffer.ring.Trace();
  if (trace.size() == 0) return {};
  const RecordedStream stream{.index = index, .tid = buffer.thread, .cpu = buffer.cpu};
  const Status written = file_->AddTrace(stream, trace, buffer.ring.trace_begin());
  trace_bytes_ += trace.size();
  buffer.ring.TraceTaken(trace);
  return written;
}

// Records of a buffer before its trace: the kernel tells of AUX data once it is there.
Status EventRecorder::Drain() {
  bool any = false;
  uint32_t index = 0;
  for (const EventSet::Buffer& buffer : events_->buffers()) {
    const RingPart records = buffer.ring.Records();
    any |= records.size() != 0;
    CountRecords(records, counts_);
    if (counters_) counters_->Look(records);
    if (Status written = file_->AddRecords(records); !written) return written;
    buffer.ring.RecordsTaken(records);
    if (Status written = TakeTrace(buffer, index++); !written) return written;
  }
  Meter& meter = session_->meter();
  meter.trace_bytes = trace_bytes_;
  meter.file_bytes = file_->size();
  meter.losses = counts_.lost_records + counts_.lost_samples + counts_.trace_gaps;
  if (options_.limits.file_bytes && file_->size() >= *options_.limits.file_bytes)
    session_->Stop(StopReason::kFileSize);
  return any ? file_->EndRound() : Status();
}

// While the traces stand still: the kernel's records of them come before what they tell of.
Status EventRecorder::TakeSnapshot() {
  events_->StopTraces();
  Status written = Drain();
  uint32_t index = 0;
  for (const EventSet::Buffer& buffer : events_->buffers()) {
    const uint32_t stream = index++;
    if (!written || !buffer.ring.has_aux()) continue;
    const EventRing::Latest latest = buffer.ring.LatestTrace(*options_.streams.snapshot_bytes);
    if (latest.part.size() == 0) continue;
    written = file_->AddTrace({.index = stream, .tid = buffer.thread, .cpu = buffer.cpu},
                              latest.part, latest.offset);
    trace_bytes_ += latest.part.size();
  }
  return written ? file_->EndRound() : written;
}

bool EventRecorder::CommandEnded() {
  if (!command_ || command_status_) return command_status_.has_value();
  int status = 0;
  if (waitpid(command_->pid(), &status, WNOHANG) == command_->pid()) command_status_ = status;
  return command_status_.has_value();
}

Result<RecordSummary> EventRecorder::Run() {
  const bool of_cpus = events_->of_cpus();
  Status written;
  while (written && !stop_) {
    const bool more = events_->Wait(kRoundMilliseconds);
    const bool ended = CommandEnded();
    written = Drain();
    if (written && counters_) written = counters_->ReadIfDue(*file_);
    if (written && options_.streams.snapshot_bytes && snapshot_.exchange(false)) {
      written = TakeSnapshot();
      events_->StartTraces();
    }
    // What runs on CPUs has no end but the command's.
    if (of_cpus ? ended || !more : !more && (!command_ || ended)) break;
  }
  if (written && options_.streams.snapshot_bytes) written = TakeSnapshot();
  events_->Disable();
  if (written) written = Drain();
  if (written && counters_) written = counters_->End(*file_);
  return Summary(std::move(written));
}

Result<RecordSummary> EventRecorder::Summary(Status written) {
  if (written) written = file_->Finish();
  session_->meter().complete = true;
  // The program goes on to its end unrecorded.
  while (command_ && !command_status_) {
    int status = 0;
    const pid_t ended = waitpid(command_->pid(), &status, 0);
    if (ended == command_->pid() || errno != EINTR) command_status_ = status;
  }
  RecordSummary summary;
  summary.command_status = command_status_.value_or(0);
  summary.stop_reason = session_->stop_reason();
  summary.bytes = summary.written_bytes = trace_bytes_;
  summary.file_bytes = file_->size();
  summary.losses = counts_.lost_records + counts_.lost_samples + counts_.trace_gaps;
  summary.events = counts_;
  summary.notes = notes_;
  if (counters_) summary.counters = counters_->sums();
  if (!written) {
    summary.failure = written.error();
    summary.stop_reason = StopReason::kOutputFailed;
  }
  return summary;
}

// ---- the rows ----

namespace {

// With the kernel that it records by.
class HostEventRecorder : public kernel::LinuxKernel, public EventRecorder {
 public:
  explicit HostEventRecorder(const RecordOptions& options) : EventRecorder(options, *this) {}
};

}  // namespace

Status CheckEvents(const RecordOptions& options) {
  const kernel::LinuxKernel host;
  if (!options.events.words.empty()) return {};
  const auto events = EventsOfEngine(options.engine, kernel::ReadPmus(host));
  return events ? Status() : Fail(events.error());
}

std::unique_ptr<Recorder> MakeEventRecorder(const RecordOptions& options) {
  return std::make_unique<HostEventRecorder>(options);
}

}  // namespace flowback::record
