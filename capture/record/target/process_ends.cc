// SPDX-License-Identifier: MIT
#include "capture/record/target/process_ends.h"

#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "capture/formats/perf_records/process_end.h"

namespace flowback::record {
namespace {

// The kernel knows best: a signal may have killed the process while it exited.
void CorrectStatus(ProcessEnd& end, int status) {
  const int told = end.wait_status & ~WCOREFLAG;
  if (told == (status & ~WCOREFLAG)) return;
  end.wait_status = status;
  end.tid = -1;
  end.ip.reset();
  end.fault_address.reset();
  end.file.clear();
  end.file_offset = 0;
}

}  // namespace

std::optional<ProcessEnd> DecodeProcessEnd(const std::string& text) {
  FieldReader fields({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ProcessEnd end;
  return ReadProcessEnd(fields, end) ? std::optional(std::move(end)) : std::nullopt;
}

void CompleteProcessEnds(RecordSummary& summary, pid_t command, std::optional<int> status,
                         uint64_t time) {
  std::map<int32_t, ProcessEnd> by_pid;  // several threads may have said it: the last one did it
  for (ProcessEnd& end : summary.process_ends) by_pid[end.pid] = std::move(end);
  if (status) {
    const auto [end, added] = by_pid.try_emplace(command);
    if (added) {
      end->second.pid = command;
      end->second.time = time;
      end->second.wait_status = *status;
    }
    CorrectStatus(end->second, *status);
  }
  summary.process_ends.clear();
  for (auto& [pid, end] : by_pid) summary.process_ends.push_back(std::move(end));
  std::ranges::stable_sort(summary.process_ends, {}, &ProcessEnd::time);
}

}  // namespace flowback::record
