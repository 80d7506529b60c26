// SPDX-License-Identifier: MIT
#include "capture/record/events/event_set.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/events/event_errors.h"
#include "capture/record/events/event_filters.h"

namespace flowback::record {
namespace {

using kernel::PlannedEvent;

constexpr uint64_t kLeastBuffer = uint64_t{8} << 10;

struct MissingFeature {
  void (*leave_out)(perf_event_attr& attr);
  const char* what;  // "": its absence does not matter
};
constexpr MissingFeature kMissingFeatures[] = {
#define FLOWBACK_MISSING_FEATURE(change, what) {[](perf_event_attr& attr) { change; }, what},
#include "capture/record/events/missing_features.def"
#undef FLOWBACK_MISSING_FEATURE
};

bool Differs(const perf_event_attr& one, const perf_event_attr& other) {
  return std::memcmp(&one, &other, sizeof one) != 0;
}

void NoteOnce(std::vector<std::string>& notes, const std::string& note) {
  if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

}  // namespace

Result<EventSet> EventSet::Open(kernel::SystemKernel& kernel, std::vector<PlannedEvent> plan,
                                const EventTarget& target, std::vector<std::string>& notes) {
  EventSet set(kernel, std::move(plan));
  set.per_thread_ = target.per_thread();
  set.of_cpus_ = target.of_cpus();
  if (Status opened = set.OpenAll(target, notes); !opened) return Fail(std::move(opened.error()));
  return set;
}

EventSet::~EventSet() {
  buffers_.clear();
  CloseAll();
  for (const int anchor : anchors_) kernel_->CloseEvent(anchor);
  for (const auto& [cgroup, folder] : folders_) kernel_->CloseFolder(folder);
}

bool EventSet::IsElsewhere(size_t event, int cpu) const {
  const kernel::Pmu* pmu = plan_[event].wanted.pmu;
  return cpu >= 0 && pmu != nullptr && !pmu->cpus.empty() &&
         std::ranges::find(pmu->cpus, cpu) == pmu->cpus.end();
}

// If one event must do without a feature, all do: the others are opened again.
Status EventSet::OpenAll(const EventTarget& wanted, std::vector<std::string>& notes) {
  EventTarget target = wanted;
  AnchorCounts(target, notes);
  while (true) {
    const auto refused = TryOpen(target);
    if (!refused) break;
    if (LeavesCpuOut(*refused, target, notes) || BreaksWeakGroup(*refused) ||
        LeavesOut(refused->error, notes) || GoesWithoutKernel(refused->error, notes) ||
        LowersPrecision(*refused) || GoesWithoutCounter(*refused, notes)) {
      CloseAll();
      continue;
    }
    return Fail(CannotOpen(plan_[refused->event], {.cpu = refused->cpu, .of_cpus = of_cpus_},
                           refused->error, *kernel_));
  }
  if (!opened_.empty()) return SetFilters();
  return Fail(Error(ErrorCode::kSystem, "all that was to be recorded has ended")
                  .Remedy("attach to what runs longer, or record a command: -- CMD"));
}

std::optional<EventSet::Refused> EventSet::TryOpen(const EventTarget& target) {
  for (const int cpu : target.cpus)
    for (const pid_t thread : target.threads)
      for (size_t event = 0; event < plan_.size(); ++event) {
        if (IsElsewhere(event, cpu)) continue;
        const bool of_whoever = OfWhoever(event);
        if (of_whoever && thread != target.threads.front()) continue;
        const kernel::Errno error = OpenOne(event, of_whoever ? -1 : thread, cpu);
        // A thread that ended since it was listed.
        if (error == ESRCH && thread > 0) break;
        if (error != 0) return Refused{.event = event, .cpu = cpu, .error = error};
      }
  return std::nullopt;
}

// Where a thread follows another one on a CPU that has the same events, all inherited, the kernel
// lets the two exchange events and counts instead of switching them. One that ends with its maker's
// events then has no record; and counts are exchanged in the order of two lists, which are in
// different orders where events are of several units (Linux 6.2 and later): nanoseconds become page
// faults. An event that is not inherited keeps the maker's events its own.
void EventSet::AnchorCounts(const EventTarget& target, std::vector<std::string>& notes) {
  const auto by_thread =
      std::ranges::find_if(plan_, [](const PlannedEvent& e) { return e.attr.inherit_stat != 0; });
  if (by_thread == plan_.end()) return;
  for (const pid_t thread : target.threads)
    for (const bool software : {true, false})  // older kernels keep the two apart
      for (const PlannedEvent& event : plan_) {
        if (!event.attr.inherit_stat || (event.attr.type == PERF_TYPE_SOFTWARE) != software)
          continue;
        perf_event_attr attr{};
        attr.size = PERF_ATTR_SIZE_VER7;
        attr.type = event.attr.type;
        attr.config = event.attr.config;
        attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
        const auto anchor = kernel_->OpenEvent(attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (anchor) anchors_.push_back(*anchor);
        if (anchor) break;
      }
  if (!anchors_.empty()) return;
  // A wrong count is worse than none.
  for (PlannedEvent& event : plan_) event.attr.inherit_stat = 0;
  NoteOnce(notes,
           "counters are of all threads together only: perf_event_open refused to separate them");
}

// Whether the event records all threads, even if the others do not.
bool EventSet::OfWhoever(size_t event) const {
  return plan_[event].wanted.is_probe && !per_thread_;
}

void EventSet::CloseAll() {
  for (const Opened& event : opened_) kernel_->CloseEvent(event.descriptor);
  opened_.clear();
}

int EventSet::LeaderOf(size_t event, pid_t thread, int cpu) const {
  const auto leader = plan_[event].wanted.leader;
  if (!leader || *leader == event) return -1;
  const auto opened = std::ranges::find_if(opened_, [&](const Opened& one) {
    return one.event == *leader && one.thread == thread && one.cpu == cpu;
  });
  return opened == opened_.end() ? -1 : opened->descriptor;
}

// A kernel that does not know a bit of the attributes says EINVAL, or E2BIG where they are longer
// than its own and not zero there.
bool EventSet::LeavesOut(kernel::Errno error, std::vector<std::string>& notes) {
  if (error != EINVAL && error != E2BIG) return false;
  for (const MissingFeature& feature : kMissingFeatures) {
    bool changed = false;
    for (PlannedEvent& event : plan_) {
      const perf_event_attr before = event.attr;
      feature.leave_out(event.attr);
      changed |= Differs(before, event.attr);
    }
    if (!changed) continue;
    if (feature.what[0] != '\0')
      NoteOnce(notes, std::string("this kernel does not report ") + feature.what);
    return true;
  }
  return false;
}

// It was switched off since the CPUs were listed.
bool EventSet::LeavesCpuOut(const Refused& refused, EventTarget& target,
                            std::vector<std::string>& notes) {
  if (refused.error != ENODEV || refused.cpu < 0 || target.cpus.size() < 2) return false;
  if (IsOnline(*kernel_, refused.cpu)) return false;
  std::erase(target.cpus, refused.cpu);
  NoteOnce(notes, "CPU " + std::to_string(refused.cpu) +
                      " was switched off meanwhile: what runs there later is not recorded");
  return true;
}

bool EventSet::GoesWithoutKernel(kernel::Errno error, std::vector<std::string>& notes) {
  if (error != EACCES && error != EPERM) return false;
  bool changed = false;
  for (PlannedEvent& one : plan_) {
    if (one.wanted.levels_named || one.attr.exclude_kernel) continue;
    one.attr.exclude_kernel = 1;
    changed = true;
  }
  if (changed)
    NoteOnce(notes,
             "only user code is recorded: this user may not record the kernel's part "
             "(perf_event_paranoid; CAP_PERFMON is missing)");
  return changed;
}

// P is as precise as the hardware can, which only trying shows.
bool EventSet::LowersPrecision(const Refused& refused) {
  PlannedEvent& event = plan_[refused.event];
  if (refused.error != EOPNOTSUPP || !event.wanted.most_precise || event.attr.precise_ip == 0)
    return false;
  event.attr.precise_ip = event.attr.precise_ip - 1U;
  return true;
}

// A virtual machine may have a processor's unit without its counters.
bool EventSet::GoesWithoutCounter(const Refused& refused, std::vector<std::string>& notes) {
  const PlannedEvent& event = plan_[refused.event];
  if (!event.may_be_refused) return false;
  NoteOnce(notes, "'" + event.wanted.name +
                      "' is not counted: perf_event_open: " + std::strerror(refused.error));
  plan_.erase(plan_.begin() + static_cast<ptrdiff_t>(refused.event));
  return true;
}

// W: where the hardware can't count a group at once, its events are by themselves.
bool EventSet::BreaksWeakGroup(const Refused& refused) {
  const kernel::WantedEvent& wanted = plan_[refused.event].wanted;
  if ((refused.error != EINVAL && refused.error != EBADF) || !wanted.weak || !wanted.leader ||
      *wanted.leader == refused.event)
    return false;
  const size_t leader = *wanted.leader;
  for (PlannedEvent& event : plan_) {
    if (event.wanted.leader != leader) continue;
    event.wanted.leader.reset();
    event.attr.disabled = plan_[leader].attr.disabled;
    event.attr.enable_on_exec = plan_[leader].attr.enable_on_exec;
  }
  return true;
}

Status EventSet::SetFilters() {
  for (const Opened& event : opened_) {
    const kernel::WantedEvent& wanted = plan_[event.event].wanted;
    if (wanted.filter.empty()) continue;
    const auto set = kernel_->Control(event.descriptor, PERF_EVENT_IOC_SET_FILTER,
                                      reinterpret_cast<uint64_t>(wanted.filter.c_str()));
    if (!set) return Fail(CannotFilter(wanted, set.error()));
  }
  return {};
}

kernel::Called<int> EventSet::FolderOf(const std::string& cgroup) {
  const auto known = folders_.find(cgroup);
  if (known != folders_.end()) return known->second;
  const auto folder = kernel_->OpenFolder(cgroup);
  if (folder) folders_.emplace(cgroup, *folder);
  return folder;
}

kernel::Errno EventSet::OpenOne(size_t event, pid_t thread, int cpu) {
  const std::string& cgroup = plan_[event].wanted.cgroup;
  unsigned long flags = PERF_FLAG_FD_CLOEXEC;
  pid_t task = thread;
  if (!cgroup.empty()) {
    const auto folder = FolderOf(cgroup);
    if (!folder) return folder.error();
    task = *folder;
    flags |= PERF_FLAG_PID_CGROUP;
  }
  const auto opened =
      kernel_->OpenEvent(plan_[event].attr, task, cpu, LeaderOf(event, thread, cpu), flags);
  if (!opened) return opened.error();
  opened_.push_back({.event = event, .cpu = cpu, .thread = thread, .descriptor = *opened});
  uint64_t id = 0;
  if (kernel_->Control(*opened, PERF_EVENT_IOC_ID, reinterpret_cast<uint64_t>(&id)))
    opened_.back().id = id;
  return 0;
}

// ---- buffers ----

std::vector<const EventSet::Opened*> EventSet::OfBuffer(const Opened& first) const {
  std::vector<const Opened*> events;
  for (const Opened& event : opened_)
    if (per_thread_ ? event.thread == first.thread : event.cpu == first.cpu)
      events.push_back(&event);
  return events;
}

// Only the event that a trace is of may map the area for it.
const EventSet::Opened& EventSet::OwnerOf(const Opened& first) const {
  for (const Opened* event : OfBuffer(first))
    if (plan_[event->event].has_aux) return *event;
  return first;
}

bool EventSet::HasTrace() const {
  return std::ranges::any_of(opened_,
                             [this](const Opened& event) { return plan_[event.event].has_aux; });
}

size_t EventSet::WantedBuffers() const {
  std::set<int> owners;
  for (const Opened& event : opened_) owners.insert(per_thread_ ? event.thread : event.cpu);
  return owners.size();
}

void EventSet::WatchAll() {
  waiting_.clear();
  for (const Opened& event : opened_) waiting_.push_back({event.descriptor, POLLIN, 0});
}

Status EventSet::Map(BufferSizes sizes, bool overwrite_trace, std::vector<std::string>& notes) {
  if (!HasTrace()) sizes.trace = 0;
  sizes_ = sizes;
  while (true) {
    const auto mapped = TryMap(overwrite_trace);
    if (mapped) break;
    buffers_.clear();
    const bool too_much = mapped.error() == EPERM || mapped.error() == ENOMEM;
    const bool smaller = sizes_.records > kLeastBuffer || sizes_.trace > kLeastBuffer;
    if (!too_much || !smaller)
      return Fail(
          CannotMap(mapped.error(), sizes_.records + sizes_.trace, WantedBuffers(), *kernel_));
    // The trace first: it is the larger one.
    uint64_t& larger = sizes_.trace >= sizes_.records ? sizes_.trace : sizes_.records;
    larger /= 2;
  }
  WatchAll();
  if (sizes_.records != sizes.records || sizes_.trace != sizes.trace)
    notes.push_back("the buffers are smaller than wanted, " +
                    std::to_string((sizes_.records + sizes_.trace) >> 10) + " instead of " +
                    std::to_string((sizes.records + sizes.trace) >> 10) + " KiB for each of " +
                    std::to_string(buffers_.size()) +
                    ": locked memory is limited (perf_event_mlock_kb, ulimit -l)");
  return {};
}

kernel::Called<int> EventSet::TryMap(bool overwrite_trace) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Opened& first : opened_) {
    const bool there = std::ranges::any_of(buffers_, [&](const Buffer& buffer) {
      return per_thread_ ? buffer.thread == first.thread : buffer.cpu == first.cpu;
    });
    if (there) continue;
    const Opened& owner = OwnerOf(first);
    const auto pages = kernel_->Map(owner.descriptor, page + sizes_.records, 0, true);
    if (!pages) return std::unexpected(pages.error());
    buffers_.push_back({first.cpu, first.thread, EventRing(*kernel_, *pages)});
    EventRing& ring = buffers_.back().ring;
    if (plan_[owner.event].has_aux && sizes_.trace != 0) {
      ring.PlaceAux(sizes_.trace);
      const auto area =
          kernel_->Map(owner.descriptor, sizes_.trace, page + sizes_.records, !overwrite_trace);
      if (!area) return std::unexpected(area.error());
      ring.SetAux(*area, !overwrite_trace);
    }
    for (const Opened* other : OfBuffer(first)) {
      if (other->descriptor == owner.descriptor) continue;
      const auto redirected = kernel_->Control(other->descriptor, PERF_EVENT_IOC_SET_OUTPUT,
                                               static_cast<uint64_t>(owner.descriptor));
      if (!redirected) return std::unexpected(redirected.error());
    }
  }
  return 0;
}

// ---- what happens to them ----

Status EventSet::Enable(bool delayed) {
  for (const Opened& event : opened_) {
    const perf_event_attr& attr = plan_[event.event].attr;
    const bool waits = delayed && !attr.mmap;
    if (waits) off_.insert(event.event);
    if (!attr.disabled || attr.enable_on_exec || waits) continue;
    const auto enabled = kernel_->Control(event.descriptor, PERF_EVENT_IOC_ENABLE, 0);
    if (!enabled)
      return Fail(CannotOpen(plan_[event.event], {.cpu = event.cpu, .of_cpus = of_cpus_},
                             enabled.error(), *kernel_)
                      .While("switching it on"));
  }
  return {};
}

void EventSet::Disable() {
  for (const Opened& event : opened_)
    static_cast<void>(kernel_->Control(event.descriptor, PERF_EVENT_IOC_DISABLE, 0));
}

size_t EventSet::Switch(bool on, std::string_view name) {
  std::set<size_t> switched;
  for (const Opened& event : opened_) {
    const PlannedEvent& planned = plan_[event.event];
    if (planned.attr.mmap || (!name.empty() && planned.wanted.name != name)) continue;
    switched.insert(event.event);
    static_cast<void>(
        kernel_->Control(event.descriptor, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0));
  }
  for (const size_t event : switched)
    if (on)
      off_.erase(event);
    else
      off_.insert(event);
  return switched.size();
}

void EventSet::ControlTraces(unsigned long request) {
  for (const Opened& event : opened_)
    if (plan_[event.event].has_aux && !off_.contains(event.event))
      static_cast<void>(kernel_->Control(event.descriptor, request, 0));
}

bool EventSet::Wait(int milliseconds, int other) {
  waiting_.push_back({other, POLLIN, 0});
  static_cast<void>(kernel_->Wait(waiting_, milliseconds));
  waiting_.pop_back();
  bool any = false;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    pollfd& one = waiting_[i];
    // It has ended: nothing more comes of it, and asking again would not wait.
    if ((one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) one.fd = -1;
    any |= one.fd >= 0 && (of_cpus_ || !OfWhoever(opened_[i].event));
    one.revents = 0;
  }
  return any;
}

// value, then what the format asks for: times, number, lost.
std::vector<EventSet::Reading> EventSet::ReadCounters() const {
  std::vector<Reading> readings;
  for (const Opened& event : opened_) {
    const PlannedEvent& planned = plan_[event.event];
    uint64_t words[5] = {};
    if (!planned.counts) continue;
    const auto got =
        kernel_->Read(event.descriptor, {reinterpret_cast<uint8_t*>(words), sizeof words});
    if (!got || *got < 3 * sizeof words[0]) continue;
    readings.push_back({.event = event.event,
                        .cpu = event.cpu,
                        .thread = event.thread,
                        .id = event.id,
                        .value = {words[0], words[1], words[2]}});
  }
  return readings;
}

// The number stands last; for a group's leader, last in its own part.
uint64_t EventSet::ReadLost() const {
  constexpr size_t kMostMembers = 128;
  uint64_t lost = 0;
  for (const Opened& event : opened_) {
    const uint64_t format = plan_[event.event].attr.read_format;
    uint64_t words[3 + 3 * kMostMembers] = {};
    if ((format & perf::kReadLost) == 0) continue;
    const auto got =
        kernel_->Read(event.descriptor, {reinterpret_cast<uint8_t*>(words), sizeof words});
    size_t at = (format & PERF_FORMAT_GROUP) != 0 ? 2 : 1;  // behind the value
    for (const uint64_t bit :
         {PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_FORMAT_ID})
      at += (format & bit) != 0;
    if (got && *got >= (at + 1) * sizeof words[0]) lost += words[at];
  }
  return lost;
}

RecordedEvents EventSet::Recorded() const {
  RecordedEvents events;
  for (size_t i = 0; i < plan_.size(); ++i) {
    RecordedEvent& event = events.emplace_back();
    event.attr = plan_[i].attr;
    // An address in the recorder is of no use in the file.
    if (plan_[i].wanted.is_probe) event.attr.config1 = 0;
    event.name = plan_[i].wanted.name;
    for (const Opened& opened : opened_)
      if (opened.event == i) event.ids.push_back(opened.id);
  }
  return events;
}

}  // namespace flowback::record
