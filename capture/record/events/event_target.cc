// SPDX-License-Identifier: MIT
#include "capture/record/events/event_target.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/proc_path.h"
#include "capture/kernel/pmu.h"
#include "capture/record/target/process_maps.h"

namespace flowback::record {
namespace {

constexpr const char* kOnlineCpus = "/sys/devices/system/cpu/online";

std::vector<int> OnlineCpus(const kernel::SystemKernel& kernel) {
  const auto list = ReadLine(kernel, kOnlineCpus);
  auto cpus = list ? kernel::ParseCpuList(*list) : std::nullopt;
  return cpus ? *std::move(cpus) : std::vector<int>{0};
}

// Named twice, it is recorded once.
template <class Number>
void KeepOneOfEach(std::vector<Number>& numbers) {
  std::ranges::sort(numbers);
  const auto again = std::ranges::unique(numbers);
  numbers.erase(again.begin(), again.end());
}

Result<std::vector<int>> CpusOf(const RecordOptions& options, const kernel::SystemKernel& kernel) {
  std::vector<int> online = OnlineCpus(kernel);
  if (options.events.cpus.empty()) return online;
  auto wanted = kernel::ParseCpuList(options.events.cpus);
  if (!wanted)
    return Fail(Error(ErrorCode::kUsage, "'" + options.events.cpus + "' is no list of CPUs")
                    .Remedy("-C 0-3,8"));
  for (const int cpu : *wanted)
    if (std::ranges::find(online, cpu) == online.end())
      return Fail(Error(ErrorCode::kNoHardware,
                        "CPU " + std::to_string(cpu) +
                            " is not there or switched off: " + kOnlineCpus + " says so")
                      .Remedy("-C with those that it lists"));
  return *wanted;
}

// Ignores threads that end meanwhile; fails if none is left to record.
Status AddThreadsOf(pid_t pid, const kernel::SystemKernel& kernel, std::vector<pid_t>& threads) {
  const std::vector<std::string> names = kernel.List(ProcPath(pid, "task"));
  for (const std::string& name : names) {
    pid_t tid = -1;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid > 0) threads.push_back(tid);
  }
  if (!names.empty()) return {};
  return Fail(Error(ErrorCode::kUsage, "there is no process " + std::to_string(pid))
                  .Remedy("pgrep NAME lists those that run"));
}

Result<std::vector<pid_t>> ThreadsOf(const RecordOptions& options, pid_t command,
                                     const kernel::SystemKernel& kernel) {
  if (options.events.all_cpus ||
      (!options.events.cpus.empty() && command < 0 && !options.target.runs_already()))
    return std::vector<pid_t>{-1};
  if (command >= 0) return std::vector<pid_t>{command};
  std::vector<pid_t> threads(options.target.tids.begin(), options.target.tids.end());
  for (const int32_t pid : options.target.pids)
    if (Status added = AddThreadsOf(pid, kernel, threads); !added)
      return Fail(std::move(added.error()));
  return threads;
}

}  // namespace

Result<EventTarget> FindTarget(const RecordOptions& options, pid_t command,
                               const kernel::SystemKernel& kernel) {
  auto threads = ThreadsOf(options, command, kernel);
  if (!threads) return Fail(std::move(threads.error()));
  KeepOneOfEach(*threads);
  EventTarget target{.threads = *std::move(threads), .cpus = {-1}};
  if (options.events.per_thread && !target.of_cpus()) return target;
  auto cpus = CpusOf(options, kernel);
  if (!cpus) return Fail(std::move(cpus.error()));
  KeepOneOfEach(*cpus);
  target.cpus = *std::move(cpus);
  return target;
}

bool IsOnline(const kernel::SystemKernel& kernel, int cpu) {
  const std::vector<int> online = OnlineCpus(kernel);
  return std::ranges::find(online, cpu) != online.end();
}

}  // namespace flowback::record
