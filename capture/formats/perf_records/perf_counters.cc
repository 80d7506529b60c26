// SPDX-License-Identifier: MIT
// A thread's READ records of the CPUs that it was on are added up. So are those of its successor
// with the same numbers: nothing in such a record tells them apart.
#include "capture/formats/perf_records/perf_counters.h"

#include <algorithm>

namespace flowback::perf {
namespace {

constexpr unsigned kPreciseShift = 15;  // of perf_event_attr's bit field
constexpr uint64_t kPreciseMask = 3;

}  // namespace

CounterCollector::CounterCollector(const std::vector<EventAttr>& attrs) : attrs_(attrs) {
  for (size_t i = 0; i < attrs.size(); ++i)
    for (const uint64_t id : attrs[i].ids) event_by_id_.emplace(id, i);
}

bool CounterCollector::AddRead(const Record& record, const EventAttr* attr) {
  if (attr == nullptr || (attr->read_format & kReadGroup) != 0) return true;
  FieldReader fields = record.Fields();
  const int32_t pid = fields.I32();
  const int32_t tid = fields.I32();
  CounterValue value;
  value.value = fields.U64();
  if ((attr->read_format & kReadTimeEnabled) != 0) value.enabled = fields.U64();
  if ((attr->read_format & kReadTimeRunning) != 0) value.running = fields.U64();
  if (!fields.ok()) return false;
  const size_t place = place_.emplace(std::pair{pid, tid}, place_.size()).first->second;
  const auto event = static_cast<size_t>(attr - attrs_.data());
  ThreadCount& count = threads_[{place, event}];
  count.pid = pid;
  count.tid = tid;
  // An event on one of several CPUs counts as enabled on whichever the thread is.
  const uint64_t enabled = std::max(count.value.enabled, value.enabled);
  count.value += value;
  count.value.enabled = std::max(enabled, count.value.running);
  return true;
}

bool CounterCollector::AddStat(const Record& record) {
  FieldReader fields = record.Fields();
  const uint64_t id = fields.U64();
  fields.Skip(4);  // the CPU: an id is of one
  const uint32_t thread = fields.U32();
  CounterValue value;
  value.value = fields.U64();
  value.enabled = fields.U64();
  value.running = fields.U64();
  if (!fields.ok()) return false;
  if (event_by_id_.contains(id)) latest_[{id, thread}] = value;
  return true;
}

CountedEvents CounterCollector::Take() && {
  std::map<size_t, CounterValue> totals;  // of attrs_
  for (const auto& [key, value] : latest_) totals[event_by_id_[key.first]] += value;
  // perf's -s has no sum.
  for (const auto& [key, count] : threads_)
    if (CounterValue& total = totals[key.second]; latest_.empty()) total += count.value;
  CountedEvents counters;
  counters.readings = readings_;
  std::map<size_t, size_t> number;  // among the counted events
  for (const auto& [event, total] : totals) {
    number.emplace(event, number.size());
    counters.events.push_back(
        {.name = attrs_[event].name,
         .precision = static_cast<unsigned>(attrs_[event].flags >> kPreciseShift & kPreciseMask),
         .total = total});
  }
  for (auto& [key, count] : threads_) {
    count.event = number[key.second];
    counters.threads.push_back(count);
  }
  return counters;
}

}  // namespace flowback::perf
