// SPDX-License-Identifier: MIT
#include "capture/record/events/event_filters.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <string>

#include "capture/record/events/address_filter.h"

namespace flowback::record {
namespace {

using kernel::WantedEvent;

constexpr size_t kLongest = 4095;  // a page of the kernel's, with the zero behind it

std::string OptionOf(const EventFilter& filter) {
  return filter.excludes_recorder ? "--exclude-perf" : "--filter '" + filter.text + "'";
}

// The last event that the words before the filter name.
WantedEvent* EventOf(const EventFilter& filter, std::vector<WantedEvent>& wanted) {
  for (WantedEvent& event : std::views::reverse(wanted))
    if (filter.words == 0 || event.word < filter.words) return &event;
  return nullptr;
}

// Excludes both of the recorder's active threads: this one, and the one that waits for it.
std::string NotTheRecorder() {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  std::string text = "common_pid != " + std::to_string(getpid());
  if (thread != getpid()) text += " && common_pid != " + std::to_string(thread);
  return text;
}

Status AddAddresses(const EventFilter& filter, const kernel::SystemKernel& kernel,
                    WantedEvent& event) {
  const uint64_t most = event.pmu->address_filters;
  size_t count = 0;
  auto text = ResolveAddressFilter(filter.text, kernel, count);
  if (!text) return Fail(std::move(text.error()));
  event.filter += (event.filter.empty() ? "" : ",") + *text;
  event.filters += count;
  if (event.filters <= most) return {};
  return Fail(Error(ErrorCode::kNoHardware,
                    OptionOf(filter) + ": " + std::to_string(event.filters) +
                        " address filters, and this CPU has " + std::to_string(most) + " (" +
                        kernel::kPmuFolder + "/" + event.pmu->name + "/nr_addr_filters)")
                  .Remedy("fewer of them, or one that spans several functions"));
}

Status Add(const EventFilter& filter, const kernel::SystemKernel& kernel, WantedEvent* event) {
  if (event != nullptr && event->is_tracepoint()) {
    const std::string text = filter.excludes_recorder ? NotTheRecorder() : filter.text;
    event->filter = event->filter.empty() ? text : "(" + event->filter + ") && (" + text + ")";
    return {};
  }
  if (event != nullptr && event->pmu != nullptr && !filter.excludes_recorder) {
    if (event->pmu->address_filters != 0) return AddAddresses(filter, kernel, *event);
    if (event->pmu->name == "intel_pt")
      return Fail(Error(ErrorCode::kNoHardware,
                        OptionOf(filter) + ": this CPU's Intel PT has no address filters (" +
                            kernel::kPmuFolder + "/intel_pt/nr_addr_filters)")
                      .Remedy("leave it out, and choose what is decoded afterwards"));
  }
  return Fail(Error(ErrorCode::kUsage,
                    OptionOf(filter) + ": " +
                        (event == nullptr ? "no event stands before it"
                                          : "'" + event->name + "' takes no such filter"))
                  .Remedy(filter.excludes_recorder
                              ? "-e sched:sched_switch --exclude-perf: behind a tracepoint"
                              : "behind a tracepoint or a trace: -e intel_pt//u --filter ..."));
}

}  // namespace

Status ApplyFilters(const RecordOptions& options, const kernel::SystemKernel& kernel,
                    std::vector<WantedEvent>& wanted) {
  for (const EventFilter& filter : options.events.filters) {
    WantedEvent* event = EventOf(filter, wanted);
    if (Status added = Add(filter, kernel, event); !added) return added;
    if (event->filter.size() > kLongest)
      return Fail(Error(ErrorCode::kUsage, "the filter of '" + event->name + "' has " +
                                               std::to_string(event->filter.size()) +
                                               " characters: the kernel takes " +
                                               std::to_string(kLongest))
                      .Remedy("shorter ones, or several events"));
  }
  return {};
}

Error CannotFilter(const WantedEvent& event, kernel::Errno error) {
  const std::string what = "the kernel refuses the filter '" + event.filter + "' of the event '" +
                           event.name + "': " + std::strerror(error);
  if (!event.is_tracepoint())
    return Error(error == EOPNOTSUPP ? ErrorCode::kNoHardware : ErrorCode::kUsage, what)
        .Remedy(
            "the range must lie in one mapping of the file; start and stop are no hardware's "
            "everywhere");
  const std::string path = event.name.substr(0, event.name.find(':', event.name.find(':') + 1));
  std::string folder = path;
  std::ranges::replace(folder, ':', '/');
  return Error(ErrorCode::kUsage, what)
      .Remedy("its fields are in /sys/kernel/tracing/events/" + folder +
              "/format; words are compared with quotes: comm == \"sh\"");
}

}  // namespace flowback::record
