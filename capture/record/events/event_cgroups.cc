// SPDX-License-Identifier: MIT
#include "capture/record/events/event_cgroups.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace flowback::record {
namespace {

Error Wrong(const std::string& groups, const std::string& why) {
  return Error(ErrorCode::kUsage, "-G " + groups + ": " + why).Remedy("-a -G system.slice");
}

// Empty: none.
std::string HierarchyOfEvents(const kernel::SystemKernel& kernel) {
  std::istringstream mounts(kernel.ReadFile("/proc/self/mounts").value_or(""));
  std::string second;
  for (std::string line; std::getline(mounts, line);) {
    std::string device, folder, type, options;
    std::istringstream(line) >> device >> folder >> type >> options;
    if (type == "cgroup" && ("," + options + ",").contains(",perf_event,")) return folder;
    if (type == "cgroup2" && second.empty()) second = folder;
  }
  return second;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

Status ApplyCgroups(const RecordOptions& options, const kernel::SystemKernel& kernel,
                    std::vector<kernel::WantedEvent>& wanted) {
  const std::string& groups = options.events.cgroups;
  if (groups.empty()) return {};
  if (!options.events.all_cpus && options.events.cpus.empty())
    return Fail(Wrong(groups, "groups are recorded on CPUs, whatever command runs beside them"));
  const std::string hierarchy = HierarchyOfEvents(kernel);
  if (hierarchy.empty())
    return Fail(Error(ErrorCode::kUnsupported,
                      "-G " + groups +
                          ": no hierarchy of control groups is mounted that events "
                          "know (/proc/self/mounts)")
                    .Remedy("sudo mount -t cgroup2 none /sys/fs/cgroup"));
  const std::vector<std::string> names = Split(groups);
  const size_t words = wanted.empty() ? 0 : wanted.back().word + 1;
  if (names.size() > words && names.size() != 1)
    return Fail(Wrong(groups, "more groups than events (-e)"));
  for (kernel::WantedEvent& event : wanted) {
    const size_t own = names.size() == 1 ? 0 : event.word;
    if (own >= names.size() || names[own].empty()) continue;
    event.cgroup = hierarchy + "/" + names[own];
    if (kernel.List(event.cgroup).empty())
      return Fail(Wrong(groups, "there is no '" + event.cgroup + "'"));
  }
  return {};
}

}  // namespace flowback::record
