// SPDX-License-Identifier: MIT
// Writes the kernel's records into the file, unchanged. Drains each buffer when the kernel signals
// it, and at least ten times a second. A FINISHED_ROUND record follows each round: later records
// are not older than those of the round before, so that readers can sort.
#include "capture/record/event_recorder/event_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/kernel/counter_plan.h"
#include "capture/kernel/linux_kernel.h"
#include "capture/record/control/record_session.h"
#include "capture/record/event_recorder/event_preamble.h"
#include "capture/record/event_recorder/slow_traces.h"
#include "capture/record/events/event_account.h"
#include "capture/record/events/event_target.h"
#include "capture/record/events/record_walk.h"
#include "capture/record/output/snapshot_sink.h"
#include "capture/record/perf_data/perf_record_buffer.h"
#include "capture/record/target/found_core.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/watch/region_log.h"

namespace flowback::record {
namespace {

constexpr int kRoundMilliseconds = 100;
constexpr uint64_t kUsualRecords = uint64_t{512} << 10;
constexpr uint64_t kUsualTrace = uint64_t{4} << 20;

uint64_t PageMultiple(uint64_t bytes) {
  return std::bit_ceil(std::max(bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
}

}  // namespace

Status EventRecorder::OpenEvents() {
  pmus_ = kernel::ReadPmus(kernel_);
  auto wanted = WantedEvents(options_, pmus_, kernel_);
  if (!wanted) return Fail(std::move(wanted.error()));
  const auto target = FindTarget(options_, command_ ? command_->pid() : -1, kernel_);
  if (!target) return Fail(target.error());
  const auto choice = ChooseSampling(options_, *wanted, pmus_, *target, kernel_, notes_);
  if (!choice) return Fail(choice.error());
  if (!options_.direction.slow_function.empty()) {
    auto trigger = SlowTrigger::Find(options_, pmus_);
    if (!trigger) return Fail(std::move(trigger.error()));
    trigger_.emplace(std::move(*trigger));
    trigger_->AddEvents(*wanted);
  }
  // Only the samples use a trace that goes into them: the kernel overwrites it.
  samples_trace_ = std::ranges::any_of(*wanted, [](const kernel::WantedEvent& event) {
    return event.aux_sample_size.value_or(0) != 0;
  });
  std::vector<kernel::PlannedEvent> plan = kernel::PlanEvents(*std::move(wanted), *choice);
  if (options_.events.counters)
    if (Status added = kernel::AddCounters(plan, *choice, pmus_, kernel_); !added) return added;
  auto opened = EventSet::Open(kernel_, std::move(plan), *target, notes_);
  if (!opened) return Fail(std::move(opened.error()));
  events_.emplace(std::move(*opened));
  if (trigger_) trigger_->Opened(*events_);
  const RecordEvents& sizes = options_.events;
  return events_->Map(
      {.records = PageMultiple(sizes.record_buffer_bytes.value_or(kUsualRecords)),
       .trace = std::max(PageMultiple(sizes.trace_buffer_bytes.value_or(kUsualTrace)),
                         PageMultiple(options_.streams.snapshot_bytes.value_or(0)))},
      keeps_latest() || samples_trace_, notes_);
}

Status EventRecorder::Begin() {
  const pid_t command = command_ ? command_->pid() : -1;
  if (Status opened = output_.Open(*events_, pmus_, command, notes_); !opened) return opened;
  if (options_.events.counters) {
    counters_.emplace(*events_, options_.events.counter_interval);
    if (Status begun = counters_->Begin(output_.file()); !begun) return begun;
  }
  for (const pid_t pid : ProcessesToRecord(options_)) live_.Add(pid);
  if (command >= 0) live_.Add(command);
  if (Status enabled = events_->Enable(IsDelayed()); !enabled) return enabled;
  if (Status released = command_ ? command_->Release() : Status(); !released) return released;
  output_.Began();
  if (IsDelayed() && options_.direction.delay->count() >= 0)
    begins_ = std::chrono::steady_clock::now() + *options_.direction.delay;
  return {};
}

Result<pid_t> EventRecorder::Start(RecordSession& session) {
  session_ = &session;
  if (!options_.direction.control.empty()) {
    auto control = ControlChannel::Open(options_.direction.control);
    if (!control) return Fail(std::move(control.error()));
    control_.emplace(std::move(*control));
  }
  if (!options_.target.command.empty()) {
    auto command = PausedCommand::Start(options_.target.command, session.signals());
    if (!command) return Fail(std::move(command.error()));
    command_.emplace(std::move(*command));
  }
  if (Status opened = OpenEvents(); !opened) return Fail(std::move(opened.error()));
  if (Status begun = Begin(); !begun) {
    output_.GiveBack();
    return Fail(std::move(begun.error()));
  }
  return command_ ? command_->pid() : -1;
}

bool EventRecorder::IsDelayed() const { return options_.direction.delay.has_value(); }

// ---- while it runs ----

Status EventRecorder::TakeTrace(const EventSet::Buffer& buffer, uint32_t index) {
  if (!buffer.ring.has_aux() || keeps_latest() || samples_trace_) return {};
  const RingPart trace = buffer.ring.Trace();
  if (trace.size() == 0) return {};
  const RecordedStream stream{.index = index, .tid = buffer.thread, .cpu = buffer.cpu};
  const Status written = output_.file().AddTrace(stream, trace, buffer.ring.trace_begin());
  trace_bytes_ += trace.size();
  buffer.ring.TraceTaken(trace);
  return written;
}

// Inspects the records, if something needs more than their number.
void EventRecorder::Look(const RingPart& records, size_t buffer) {
  if (!trigger_ && !options_.rotation.wanted()) return;
  VisitRecords(records, [&](const RingRecord& record) {
    live_.Note(record);
    if (trigger_) trigger_->Note(record, buffer);
  });
}

// Records of a buffer before its trace: the kernel reports AUX data once it is there.
Status EventRecorder::Drain() {
  bool any = false;
  uint32_t index = 0;
  for (const EventSet::Buffer& buffer : events_->buffers()) {
    const RingPart records = buffer.ring.Records();
    any |= records.size() != 0;
    CountRecords(records, counts_);
    if (counters_) counters_->Look(records);
    Look(records, index);
    if (Status written = output_.file().AddRecords(records); !written) return written;
    buffer.ring.RecordsTaken(records);
    if (Status written = TakeTrace(buffer, index++); !written) return written;
  }
  Meter& meter = session_->meter();
  meter.trace_bytes = trace_bytes_;
  meter.file_bytes = output_.size();
  meter.losses = counts_.lost_records + counts_.lost_samples + counts_.trace_gaps;
  if (options_.limits.file_bytes && output_.size() >= *options_.limits.file_bytes)
    session_->Stop(StopReason::kFileSize);
  return any ? output_.file().EndRound() : Status();
}

// While the traces stand still: the kernel's records come before the trace that they describe.
Status EventRecorder::TakeSnapshot() {
  events_->StopTraces();
  Status written = Drain();
  uint32_t index = 0;
  for (const EventSet::Buffer& buffer : events_->buffers()) {
    const uint32_t stream = index++;
    if (!written || !buffer.ring.has_aux()) continue;
    const EventRing::Latest latest = buffer.ring.LatestTrace(*options_.streams.snapshot_bytes);
    if (latest.part.size() == 0) continue;
    written = output_.file().AddTrace({.index = stream, .tid = buffer.thread, .cpu = buffer.cpu},
                                      latest.part, latest.offset);
    trace_bytes_ += latest.part.size();
  }
  return written ? output_.file().EndRound() : written;
}

// Takes slow calls as soon as their ends are seen: later trace overwrites the trace to keep.
Status EventRecorder::TakeSlowCalls() {
  if (!trigger_) {
    live_.EndRound();
    return {};
  }
  const LiveProcesses* live = events_->of_cpus() ? nullptr : &live_;
  std::vector<SlowCall> slow = trigger_->EndRound(live);
  live_.EndRound();
  if (slow.empty() || !keeps_latest()) return {};
  events_->StopTraces();
  Status written = Drain();
  std::ranges::move(trigger_->EndRound(live), std::back_inserter(slow));
  if (written)
    written =
        KeepSlowTraces(*events_, slow, output_.file(), trigger_->calls().counts(), trace_bytes_);
  events_->StartTraces();
  return written;
}

// A snapshot is asked for by the same signal as another file is: it is the last in this one.
Status EventRecorder::OnSignal() {
  Status written;
  if (keeps_latest()) {
    written = TakeSnapshot();
    events_->StartTraces();
  }
  return written && options_.rotation.on_signal ? SwitchFiles() : written;
}

// As they are now, for the file that ends.
void EventRecorder::KeepRegions() {
  if (*region_table_ < 0) return;
  if (auto regions = ReadRegionTable(*region_table_)) regions_ = *std::move(regions);
  output_.file().SetRegions(regions_);
}

// Counters are read once more for the file that ends.
Status EventRecorder::SwitchFiles() {
  if (counters_)
    if (Status read = counters_->Read(output_.file()); !read) return read;
  KeepRegions();
  const Status switched = output_.Switch(*events_, pmus_, live_.All());
  return switched && counters_ ? counters_->Begin(output_.file()) : switched;
}

bool EventRecorder::CommandEnded() {
  if (!command_ || command_status_) return command_status_.has_value();
  siginfo_t ended{};
  constexpr int kLook = WEXITED | WNOHANG | WNOWAIT;
  if (waitid(P_PID, static_cast<id_t>(command_->pid()), &ended, kLook) != 0 || ended.si_pid == 0)
    return false;
  // What /proc has of it is there until it is waited for.
  command_end_.comm = ReadComm(command_->pid(), command_->pid());
  std::error_code unknown;
  if (ended.si_code == CLD_DUMPED)
    command_end_.core = FindCore(command_->pid(), command_->pid(), ended.si_status,
                                 std::filesystem::current_path(unknown));
  command_end_.tid = DumpedThread(command_end_.core);
  int status = 0;
  if (waitpid(command_->pid(), &status, 0) == command_->pid()) command_status_ = status;
  return command_status_.has_value();
}

std::vector<ProcessEnd> EventRecorder::Ends() {
  if (!command_status_) return {};
  command_end_.pid = command_->pid();
  command_end_.wait_status = *command_status_;
  return {command_end_};
}

int EventRecorder::WaitMilliseconds() const {
  if (trigger_ && trigger_->waits()) return 0;
  if (!begins_) return kRoundMilliseconds;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*begins_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kRoundMilliseconds));
}

// Does the work of a round once the buffers are empty.
Status EventRecorder::Round() {
  if (Status drained = Drain(); !drained) return drained;
  if (Status taken = TakeSlowCalls(); !taken) return taken;
  if (begins_ && std::chrono::steady_clock::now() >= *begins_) {
    begins_.reset();
    events_->Switch(true, "");
  }
  if (counters_)
    if (Status read = counters_->ReadIfDue(output_.file()); !read) return read;
  if (control_)
    for (const ControlRequest& request : control_->Take())
      if (Status heeded = Heed(request); !heeded) return heeded;
  if (snapshot_.exchange(false))
    if (Status taken = OnSignal(); !taken) return taken;
  return output_.IsDue() ? SwitchFiles() : Status();
}

// Saves the part of the latest trace that is kept in the end.
Status EventRecorder::TakeLast() {
  if (trigger_ || !keeps_latest()) return {};
  const bool crashed = command_status_ && WIFSIGNALED(*command_status_);
  if (!options_.direction.on_crash || crashed) return TakeSnapshot();
  notes_.emplace_back(kNoCrash);
  return {};
}

Result<RecordSummary> EventRecorder::Run() {
  const bool of_cpus = events_->of_cpus();
  Status written;
  while (written && !stop_) {
    const bool more = events_->Wait(WaitMilliseconds(), control_ ? control_->descriptor() : -1);
    const bool ended = CommandEnded();
    written = Round();
    // What runs on CPUs has no end but the command's.
    if (of_cpus ? ended || !more : !more && (!command_ || ended)) break;
  }
  if (written) written = TakeLast();
  events_->Disable();
  // An end whose beginning is in another buffer is reported a round later.
  for (int round = 0; round < 3 && written; ++round) {
    written = Drain();
    if (written) written = TakeSlowCalls();
  }
  if (written) written = TellLost();
  if (written && counters_) written = counters_->End(output_.file());
  return Summary(std::move(written));
}

// ---- what others ask for ----

struct ControlRow {
  std::string_view command;
  Status (EventRecorder::*heed)(const std::string& argument);

  static const ControlRow* Find(std::string_view command);
};

const ControlRow* ControlRow::Find(std::string_view command) {
  static constexpr ControlRow kRows[] = {
      {"disable", &EventRecorder::OnDisable},  {"enable", &EventRecorder::OnEnable},
      {"evlist", &EventRecorder::OnEventList}, {"ping", &EventRecorder::OnPing},
      {"regions", &EventRecorder::OnRegions},  {"snapshot", &EventRecorder::OnSnapshot},
      {"stat", &EventRecorder::OnStat},        {"stop", &EventRecorder::OnStop}};
  const auto* row = std::ranges::find(kRows, command, &ControlRow::command);
  return row == std::end(kRows) ? nullptr : row;
}

Status EventRecorder::Heed(const ControlRequest& request) {
  if (const ControlRow* row = ControlRow::Find(request.command))
    return (this->*row->heed)(request.argument);
  control_->Answer("error: no command '" + request.command +
                   "': disable, enable, evlist, ping, regions, snapshot, stat and stop are there");
  return {};
}

Status EventRecorder::OnSwitch(bool on, const std::string& event) {
  if (event.empty()) begins_.reset();
  if (events_->Switch(on, event) != 0)
    control_->Acknowledge();
  else
    control_->Answer("error: no event '" + event + "': evlist tells them");
  return {};
}

Status EventRecorder::OnSnapshot(const std::string&) {
  if (!keeps_latest()) {
    control_->Answer("error: no snapshots are kept: record with -S");
    return {};
  }
  const Status taken = TakeSnapshot();
  events_->StartTraces();
  control_->Acknowledge();
  return taken;
}

Status EventRecorder::OnEventList(const std::string&) {
  for (const kernel::PlannedEvent& event : events_->plan()) control_->Answer(event.wanted.name);
  control_->Acknowledge();
  return {};
}

// A line for each counter, "COUNT EVENT"; into the file as well.
Status EventRecorder::OnStat(const std::string&) {
  if (!counters_) {
    control_->Answer("error: nothing is counted: record with --stat");
    return {};
  }
  const Status read = counters_->Read(output_.file());
  for (const EventCounter& event : counters_->sums().events)
    control_->Answer(std::to_string(event.total.scaled()) + " " + event.name);
  control_->Acknowledge();
  return read;
}

Status EventRecorder::OnPing(const std::string&) {
  control_->Acknowledge();
  return {};
}

// A program that counts its regions says where (flowback/self.h). They are read at the end.
Status EventRecorder::OnRegions(const std::string& path) {
  Descriptor table(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto regions = ReadRegionTable(*table);
  if (regions) region_table_ = std::move(table);
  control_->Answer(regions ? "ack" : "error: '" + path + "': " + regions.error().message());
  return {};
}

Status EventRecorder::OnStop(const std::string&) {
  control_->Acknowledge();
  session_->Stop(StopReason::kControl);
  stop_ = true;
  return {};
}

// ---- in the end ----

// A LOST record comes with the next record that fits: the last losses have none.
Status EventRecorder::TellLost() {
  const uint64_t lost = events_->ReadLost();
  const uint64_t told = counts_.lost_records;
  if (lost <= told) return {};
  counts_.lost_samples += lost - told;
  const perf_event_attr& attr = events_->plan().front().attr;
  RecordBuffer record(perf::kRecordLostSamples, 0);
  record.U64(lost - told);
  AddSampleId({}, attr, events_->Recorded().front().ids.front(), record);
  return output_.file().Add(record.Done());
}

void EventRecorder::TellSlowCalls(RecordSummary& summary) {
  summary.slow_calls = trigger_->calls().counts();
  for (const std::string& place : trigger_->Places())
    summary.notes.push_back("timed were calls of " + place);
  if (summary.slow_calls->calls == 0)
    summary.notes.push_back("no call of '" + options_.direction.slow_function +
                            "' began and ended while it was recorded");
}

Result<RecordSummary> EventRecorder::Summary(Status written) {
  KeepRegions();
  const std::vector<ProcessEnd> ends = Ends();
  output_.file().SetEnds(ends);
  if (written) written = output_.Finish();
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
  summary.file_bytes = output_.size();
  summary.files = output_.switched() + 1;
  summary.losses = counts_.lost_records + counts_.lost_samples + counts_.trace_gaps;
  summary.events = counts_;
  summary.notes = notes_;
  summary.regions = regions_;
  summary.process_ends = ends;
  if (counters_) summary.counters = counters_->sums();
  if (trigger_) TellSlowCalls(summary);
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
