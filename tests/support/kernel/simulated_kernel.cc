// SPDX-License-Identifier: MIT
// The checks stand in the order in which the kernel makes them: the first that fails decides.
#include "tests/support/kernel/simulated_kernel.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "capture/kernel/wanted_event.h"

namespace flowback::test {
namespace {

using kernel::Called;
using kernel::Errno;

constexpr uint64_t kKnownSampleTypes = (uint64_t{1} << 25) - 1;
constexpr uint64_t kKnownFormats = (uint64_t{1} << 5) - 1;
constexpr int kBreakpoints = 4;
constexpr unsigned kPerfmon = 38;

void AppendWord(std::vector<uint8_t>& out, uint64_t value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// AMD's first branch sampling has one event, with a fixed period, and no filter but levels.
Errno RefusesBranches(const perf_event_attr& attr, const kernel::Pmu& unit) {
  constexpr uint64_t kTakenBranches = 0xc4;
  constexpr uint64_t kLevels =
      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
  if ((attr.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0 || !unit.events.contains("branch-brs"))
    return 0;
  const bool its_own =
      attr.config == kTakenBranches && !attr.freq && attr.sample_period > unit.Cap("branches");
  return its_own && (attr.branch_sample_type & ~kLevels) == PERF_SAMPLE_BRANCH_ANY ? 0 : EINVAL;
}

template <class T>
Called<T> Taken(std::deque<Errno>& errors) {
  const Errno error = errors.front();
  errors.pop_front();
  return std::unexpected(error);
}

}  // namespace

SimulatedKernel::SimulatedKernel(kernel::MachineTree tree) : TreeKernel(std::move(tree)) {}

void SimulatedKernel::AddProcess(pid_t pid) {
  const std::string number = std::to_string(pid);
  tree_.Add("/proc/" + number + "/task/" + number + "/comm", "simulated");
  processes_.insert(pid);
}

SimulatedKernel::Event* SimulatedKernel::FindEvent(uint32_t type) {
  for (auto& [descriptor, event] : events_)
    if (event.attr.type == type) return &event;
  return nullptr;
}

std::vector<SimulatedKernel::Event*> SimulatedKernel::EventsOf(uint32_t type) {
  std::vector<Event*> events;
  for (auto& [descriptor, event] : events_)
    if (event.attr.type == type) events.push_back(&event);
  return events;
}

SimulatedKernel::Event* SimulatedKernel::FindEvent(uint32_t type, uint64_t config, int cpu) {
  for (auto& [descriptor, event] : events_)
    if (event.attr.type == type && event.attr.config == config && event.cpu == cpu) return &event;
  return nullptr;
}

void SimulatedKernel::GiveAllRights() {
  tree_.Remove("/proc/self/status");
  tree_.Add("/proc/self/status", "CapEff:\t000001ffffffffff");
}

// ---- opening ----

Errno SimulatedKernel::ForbidsTo(const perf_event_attr& attr, pid_t pid) const {
  const auto paranoid = ReadNumber(*this, "/proc/sys/kernel/perf_event_paranoid");
  if (!paranoid) return ENOSYS;
  if (ReadFile("/sys/kernel/security/lockdown").value_or("").contains("[confidentiality]"))
    return EPERM;
  const std::string status = ReadFile("/proc/self/status").value_or("");
  if (status.contains("Seccomp:\t2")) return EPERM;
  const size_t at = status.find("CapEff:\t");
  const uint64_t mask =
      at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 8, nullptr, 16);
  if ((mask >> kPerfmon & 1) != 0) return 0;
  if (*paranoid > 2) return EACCES;
  if (pid < 0 && *paranoid > 0) return EACCES;
  if (!attr.exclude_kernel && *paranoid > 1) return EACCES;
  if (attr.type == PERF_TYPE_TRACEPOINT && *paranoid > -1) return EPERM;
  if (foreign_.contains(pid)) return EACCES;
  return 0;
}

// Whether there is a unit that counts it, in that way.
Errno SimulatedKernel::CannotCount(const perf_event_attr& attr) const {
  const std::vector<kernel::Pmu> pmus = kernel::ReadPmus(*this);
  const auto core = std::ranges::find_if(pmus, &kernel::Pmu::of_core);
  const bool hardware = attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE ||
                        attr.type == PERF_TYPE_RAW;
  if (hardware && (core == pmus.end() || has_no_counters)) return ENOENT;
  const auto pmu = std::ranges::find(pmus, attr.type, &kernel::Pmu::type);
  if (!hardware && pmu == pmus.end()) return ENOENT;
  const bool of_core = hardware || pmu->of_core();
  const kernel::Pmu& unit = hardware ? *core : *pmu;
  if ((attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0 && (!of_core || unit.Cap("branches") == 0))
    return EOPNOTSUPP;
  if (const Errno error = of_core ? RefusesBranches(attr, unit) : 0) return error;
  if (of_core && attr.precise_ip > unit.Cap("max_precise")) return EOPNOTSUPP;
  if (!hardware && pmu->name == "intel_pt" && trace_is_taken) return EBUSY;
  const auto breakpoints = std::ranges::count_if(
      events_, [](const auto& one) { return one.second.attr.type == PERF_TYPE_BREAKPOINT; });
  if (attr.type == PERF_TYPE_BREAKPOINT && breakpoints >= kBreakpoints) return ENOSPC;
  return 0;
}

Errno SimulatedKernel::Refuses(const perf_event_attr& attr, pid_t pid, int cpu, int group) {
  if (pid < 0 && cpu < 0) return EINVAL;
  const auto members = std::ranges::count_if(events_, [group](const auto& one) {
    return one.first == group || one.second.group == group;
  });
  if (group >= 0 && static_cast<size_t>(members) >= most_in_group) return EINVAL;
  if (kernel::AuxActionOf(attr) != 0 && !knows_aux_actions) return EINVAL;
  if ((attr.sample_type & ~kKnownSampleTypes) != 0 || (attr.read_format & ~kKnownFormats) != 0)
    return EINVAL;
  const auto rate = ReadNumber(*this, "/proc/sys/kernel/perf_event_max_sample_rate");
  if (attr.freq && rate && attr.sample_freq > static_cast<uint64_t>(*rate)) return EINVAL;
  if (const Errno forbids = ForbidsTo(attr, pid)) return forbids;
  if (events_.size() >= most_descriptors) return EMFILE;
  if (group >= 0 && !events_.contains(group)) return EBADF;
  if (pid > 0 && !any_process_ && !processes_.contains(pid)) return ESRCH;
  const auto online =
      kernel::ParseCpuList(ReadLine(*this, "/sys/devices/system/cpu/online").value_or("0"));
  if (cpu >= 0 && std::ranges::find(*online, cpu) == online->end()) return ENODEV;
  return CannotCount(attr);
}

Called<int> SimulatedKernel::OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                       unsigned long flags) {
  if (before_open) before_open(opens_++);
  const bool of_cgroup = (flags & PERF_FLAG_PID_CGROUP) != 0;
  if (of_cgroup && cpu < 0) return std::unexpected(EINVAL);
  if (of_cgroup) pid = -1;
  if (!open_errors_.empty()) return Taken<int>(open_errors_);
  if (attr.size > known_attr_size) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&attr);
    const bool zero = std::all_of(bytes + known_attr_size, bytes + attr.size,
                                  [](uint8_t byte) { return byte == 0; });
    attr.size = known_attr_size;
    if (!zero) return std::unexpected(E2BIG);
  }
  if (const Errno error = Refuses(attr, pid, cpu, group)) return std::unexpected(error);
  events_[next_descriptor_] = {
      .attr = attr, .pid = pid, .cpu = cpu, .group = group, .id = next_id_++, .ring = nullptr};
  events_[next_descriptor_].enabled = !attr.disabled;
  events_[next_descriptor_].of_cgroup = of_cgroup;
  return next_descriptor_++;
}

// ---- buffers ----

Called<std::span<uint8_t>> SimulatedKernel::Map(int event, size_t size, uint64_t offset,
                                                bool writable) {
  if (!map_errors_.empty()) return Taken<std::span<uint8_t>>(map_errors_);
  if (!events_.contains(event)) return std::unexpected(EBADF);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Event& owner = events_[event];
  const size_t data = offset == 0 ? size - page : size;
  if (size < page || !std::has_single_bit(data)) return std::unexpected(EINVAL);
  if (locked_ + size > lockable_bytes) return std::unexpected(EPERM);
  locked_ += size;
  if (offset == 0) {
    owner.ring = std::make_shared<SimulatedRing>(size);
    if (owner.attr.watermark && owner.attr.wakeup_watermark != 0)
      owner.ring->SetWatermark(owner.attr.wakeup_watermark);
    return owner.ring->pages();
  }
  if (!owner.ring || owner.ring->page().aux_offset != offset || owner.ring->page().aux_size != size)
    return std::unexpected(EINVAL);
  owner.overwrites = !writable;
  return owner.ring->MapAux(size);
}

void SimulatedKernel::Unmap(std::span<uint8_t> pages) { locked_ -= pages.size(); }

Called<int> SimulatedKernel::Control(int event, unsigned long request, uint64_t argument) {
  if (!events_.contains(event)) return std::unexpected(EBADF);
  Event& own = events_[event];
  const int other = static_cast<int>(argument);
  switch (request) {
    case PERF_EVENT_IOC_ID:
      *reinterpret_cast<uint64_t*>(argument) = own.id;
      return 0;
    case PERF_EVENT_IOC_SET_OUTPUT:
      if (!events_.contains(other)) return std::unexpected(EBADF);
      if (events_[other].cpu != own.cpu) return std::unexpected(EINVAL);
      own.ring = events_[other].ring;
      return 0;
    case PERF_EVENT_IOC_ENABLE:
      own.enabled = true;
      return 0;
    case PERF_EVENT_IOC_DISABLE:
      if (own.enabled && own.overwrites) own.ring->EndOverwriting(EndOf(own));
      own.enabled = false;
      return 0;
    case PERF_EVENT_IOC_SET_FILTER:
      if (filter_error != 0) return std::unexpected(filter_error);
      own.filter = reinterpret_cast<const char*>(argument);
      return 0;
    default:
      return std::unexpected(ENOTTY);
  }
}

Called<size_t> SimulatedKernel::Read(int event, std::span<uint8_t> into) {
  const auto found = events_.find(event);
  if (found == events_.end()) return std::unexpected(EBADF);
  const Event& own = found->second;
  std::vector<uint8_t> values;
  const auto add = [&](uint64_t bit, uint64_t value) {
    if (bit == 0 || (own.attr.read_format & bit) != 0) AppendWord(values, value);
  };
  add(0, own.count);
  add(PERF_FORMAT_TOTAL_TIME_ENABLED, own.time_enabled);
  add(PERF_FORMAT_TOTAL_TIME_RUNNING, own.time_running);
  add(PERF_FORMAT_ID, own.id);
  if (into.size() < values.size()) return std::unexpected(ENOSPC);
  std::ranges::copy(values, into.begin());
  return values.size();
}

// A reader sleeps until a buffer has passed its watermark, or its time is over.
Called<int> SimulatedKernel::Wait(std::span<pollfd> events, int) {
  bool more = true;
  bool woken = false;
  for (size_t turn = 0; more && !woken && turn < turns_of_wait; ++turn) {
    more = meanwhile && meanwhile();
    woken = WakesAny(events);
  }
  wake_ups_ += woken;
  for (size_t turn = 0; more && turn < turns_too_late; ++turn) more = meanwhile();
  int with_news = 0;
  for (pollfd& one : events) {
    if (events_.contains(one.fd) && (!more || ended_.contains(events_[one.fd].pid)))
      one.revents = static_cast<short>(one.revents | POLLHUP);
    with_news += one.revents != 0;
  }
  return with_news;
}

bool SimulatedKernel::WakesAny(std::span<pollfd> events) {
  std::set<const SimulatedRing*> woken;
  for (const auto& [descriptor, event] : events_)
    if (event.ring && event.ring->TakeWakeUp()) woken.insert(event.ring.get());
  for (pollfd& one : events)
    if (events_.contains(one.fd) && woken.contains(events_[one.fd].ring.get()))
      one.revents = POLLIN;
  return !woken.empty();
}

// ---- records ----

std::vector<uint8_t> SimulatedKernel::EndOf(const Event& event) const {
  std::vector<uint8_t> end;
  const uint64_t type = event.attr.sample_type;
  const auto thread = static_cast<uint64_t>(static_cast<uint32_t>(event.pid));
  if ((type & PERF_SAMPLE_TID) != 0) AppendWord(end, thread | thread << 32);
  if ((type & PERF_SAMPLE_TIME) != 0) AppendWord(end, time_);
  if ((type & PERF_SAMPLE_ID) != 0) AppendWord(end, event.id);
  if ((type & PERF_SAMPLE_CPU) != 0)
    AppendWord(end, static_cast<uint64_t>(static_cast<uint32_t>(std::max(event.cpu, 0))));
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) AppendWord(end, event.id);
  return end;
}

void SimulatedKernel::Write(Event& event, uint32_t type, uint16_t misc, Bytes body) {
  ++time_;
  event.ring->Write(type, misc, body, EndOf(event));
}

void SimulatedKernel::WriteSample(Event& event, const SampleContent& content) {
  const SampleOrigin origin{.id = event.id,
                            .time = time_,
                            .thread = static_cast<uint32_t>(event.pid),
                            .cpu = static_cast<uint32_t>(std::max(event.cpu, 0))};
  event.ring->Write(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                    EncodeSample(event.attr, origin, content), {});
}

size_t SimulatedKernel::WriteAux(Event& event, Bytes data) {
  ++time_;
  if (!event.overwrites) return event.ring->WriteAux(data, EndOf(event));
  event.ring->OverwriteAux(data);
  return data.size();
}

size_t SimulatedKernel::RepeatAux(Event& event, size_t size) {
  ++time_;
  return event.ring->RepeatAux(size, EndOf(event));
}

void SimulatedKernel::NoteAux(Event& event, uint64_t flags) {
  ++time_;
  event.ring->NoteAux(flags, EndOf(event));
}

}  // namespace flowback::test
