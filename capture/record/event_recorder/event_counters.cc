// SPDX-License-Identifier: MIT
// Two sources of counts:
//
//   read(2) of the command's event     all threads together, ended or not
//   READ records                       each thread that began later, when it ends
//
// So the command's first thread gets the difference, together with threads that have not ended yet.
// This file makes a READ record for it, so that every count has one.
#include "capture/record/event_recorder/event_counters.h"

#include <algorithm>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/event_recorder/event_preamble.h"
#include "capture/record/events/record_walk.h"
#include "capture/record/perf_data/perf_record_buffer.h"
#include "capture/record/target/process_maps.h"

namespace flowback::record {
namespace {

using namespace perf;

constexpr uint64_t kFinal = 1;  // STAT_ROUND's type; 0: one of several

CounterValue Difference(const CounterValue& whole, const CounterValue& part) {
  const auto less = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  return {less(whole.value, part.value), less(whole.enabled, part.enabled),
          less(whole.running, part.running)};
}

// AGGR_MODE, INTERVAL and SCALE, by number: all together, in milliseconds, yes.
RecordBuffer EncodeConfig(std::optional<std::chrono::nanoseconds> interval) {
  using std::chrono::milliseconds;
  const auto apart = std::chrono::duration_cast<milliseconds>(interval.value_or(milliseconds(0)));
  constexpr uint64_t kAllTogether = 1;
  const uint64_t values[] = {kAllTogether, static_cast<uint64_t>(apart.count()), 1};
  RecordBuffer record(kRecordStatConfig, 0);
  record.U64(std::size(values));
  for (uint64_t tag = 0; tag < std::size(values); ++tag) {
    record.U64(tag);
    record.U64(values[tag]);
  }
  return record;
}

// A thread's event on a CPU counts as enabled on whichever CPU the thread is. So the times of all
// its CPUs are each the whole: to have a sum that is right each gets its share of it.
void ShareTimes(std::vector<EventSet::Reading>& readings) {
  struct Whole {
    uint64_t enabled = 0, running = 0;
    bool given = false;
  };
  std::map<std::pair<size_t, pid_t>, Whole> wholes;
  for (const EventSet::Reading& reading : readings) {
    if (reading.thread < 0) continue;
    Whole& whole = wholes[{reading.event, reading.thread}];
    whole.enabled = std::max(whole.enabled, reading.value.enabled);
    whole.running += reading.value.running;
  }
  for (EventSet::Reading& reading : readings) {
    if (reading.thread < 0) continue;
    Whole& whole = wholes[{reading.event, reading.thread}];
    // Readings are one behind the other: they may have a little more running than enabled time.
    const uint64_t waited = whole.enabled - std::min(whole.enabled, whole.running);
    reading.value.enabled = reading.value.running + (whole.given ? 0 : waited);
    whole.given = true;
  }
}

RecordBuffer EncodeCpus(const std::vector<int>& cpus) {
  constexpr uint16_t kListed = 0;
  RecordBuffer record(kRecordCpuMap, 0);
  record.U16(kListed);
  record.U16(static_cast<uint16_t>(cpus.size()));
  for (const int cpu : cpus) record.U16(static_cast<uint16_t>(cpu));
  record.Zeros(-record.size() % kRecordUnit);
  return record;
}

}  // namespace

EventCounters::EventCounters(const EventSet& events,
                             std::optional<std::chrono::nanoseconds> interval)
    : events_(&events), interval_(interval) {
  if (interval_) due_ += *interval_;
  for (const EventSet::Reading& reading : events.ReadCounters()) {
    if (std::ranges::find(cpus_, reading.cpu) == cpus_.end()) cpus_.push_back(reading.cpu);
    if (std::ranges::find(threads_, reading.thread, &Thread::tid) != threads_.end()) continue;
    const pid_t tid = reading.thread;
    threads_.push_back({.tid = tid,
                        .pid = tid < 0 ? -1 : ReadThreadGroup(tid),
                        .comm = tid < 0 ? "" : ReadComm(tid, tid)});
  }
  for (const kernel::PlannedEvent& event : events.plan())
    if (event.counts)
      sums_.events.push_back({.name = event.wanted.name,
                              .precision = static_cast<unsigned>(event.attr.precise_ip),
                              .total = {}});
}

Status EventCounters::Begin(EventFile& file) const {
  constexpr size_t kName = 16;
  RecordBuffer threads(kRecordThreadMap, 0);
  threads.U64(threads_.size());
  for (const Thread& thread : threads_) {
    threads.U64(static_cast<uint64_t>(static_cast<int64_t>(thread.tid)));
    std::string name = thread.comm.substr(0, kName - 1);
    name.resize(kName);
    threads.Append({reinterpret_cast<const uint8_t*>(name.data()), kName});
  }
  if (Status written = file.Add(threads.Done()); !written) return written;
  RecordBuffer cpus = EncodeCpus(cpus_);
  if (Status written = file.Add(cpus.Done()); !written) return written;
  return file.Add(EncodeConfig(interval_).Done());
}

void EventCounters::Look(const RingPart& records) {
  constexpr size_t kValueAt = 8, kEnabledAt = 16, kRunningAt = 24, kIdAt = 32;
  VisitRecords(records, [&](const RingRecord& record) {
    if (record.type == kRecordRead)
      ended_[record.Word(kIdAt)] +=
          {record.Word(kValueAt), record.Word(kEnabledAt), record.Word(kRunningAt)};
  });
}

Status EventCounters::ReadIfDue(EventFile& file) {
  if (!interval_ || Clock::now() < due_) return {};
  // Rounds that were missed are not made up for.
  while (due_ <= Clock::now()) due_ += *interval_;
  return WriteRound(file, false);
}

void EventCounters::Sum(const std::vector<EventSet::Reading>& readings) {
  for (EventCounter& event : sums_.events) event.total = {};
  std::vector<size_t> place(events_->plan().size());
  size_t next = 0;
  for (size_t i = 0; i < place.size(); ++i)
    if (events_->plan()[i].counts) place[i] = next++;
  for (const EventSet::Reading& reading : readings)
    sums_.events[place[reading.event]].total += reading.value;
  ++sums_.readings;
}

size_t EventCounters::ThreadIndex(pid_t thread) const {
  return static_cast<size_t>(std::ranges::find(threads_, thread, &Thread::tid) - threads_.begin());
}

Status EventCounters::WriteRound(EventFile& file, bool last) {
  std::vector<EventSet::Reading> readings = events_->ReadCounters();
  if (last)
    for (const EventSet::Reading& reading : readings)
      if (Status written = WriteThread(reading, file); !written) return written;
  ShareTimes(readings);
  Sum(readings);
  for (const EventSet::Reading& reading : readings) {
    RecordBuffer record(kRecordStat, 0);
    record.U64(reading.id);
    record.U32(static_cast<uint32_t>(reading.cpu));
    record.U32(static_cast<uint32_t>(ThreadIndex(reading.thread)));
    record.U64(reading.value.value);
    record.U64(reading.value.enabled);
    record.U64(reading.value.running);
    if (Status written = file.Add(record.Done()); !written) return written;
  }
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_);
  RecordBuffer round(kRecordStatRound, 0);
  round.U64(last ? kFinal : 0);
  round.U64(static_cast<uint64_t>(since.count()));
  return file.Add(round.Done());
}

Status EventCounters::End(EventFile& file) { return WriteRound(file, true); }

// Writes one as the kernel does, with the trailer of its own layout. CPUs have no thread.
Status EventCounters::WriteThread(const EventSet::Reading& reading, EventFile& file) const {
  if (reading.thread < 0) return {};
  const perf_event_attr& attr = events_->plan()[reading.event].attr;
  const auto ended = ended_.find(reading.id);
  const CounterValue own =
      ended == ended_.end() ? reading.value : Difference(reading.value, ended->second);
  SidebandBase who;
  who.tid = reading.thread;
  who.pid = threads_[ThreadIndex(reading.thread)].pid;
  RecordBuffer record(kRecordRead, 0);
  record.Thread(who);
  record.U64(own.value);
  record.U64(own.enabled);
  record.U64(own.running);
  record.U64(reading.id);
  if ((attr.read_format & kReadLost) != 0) record.U64(0);
  AddSampleId(who, attr, reading.id, record);
  return file.Add(record.Done());
}

}  // namespace flowback::record
