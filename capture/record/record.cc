// SPDX-License-Identifier: MIT
#include "flowback/capture/record.h"

#include <sys/resource.h>

#include <chrono>
#include <future>
#include <memory>

#include "capture/record/control/record_session.h"
#include "capture/record/control/recorder.h"
#include "capture/record/record_checks.h"
#include "capture/record/watch/watched_functions.h"

namespace flowback {
namespace {

using namespace record;

// Returns the CPU time of this process and its reaped children.
std::chrono::nanoseconds CpuTime() {
  std::chrono::nanoseconds sum{0};
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  }
  return sum;
}

Result<RecordSummary> RunToEnd(Recorder& recorder, RecordSession& session) {
  const auto pid = recorder.Start(session);
  if (!pid) return Fail(pid.error());
  session.Connect(*pid, recorder);
  auto summary = recorder.Run();
  session.Disconnect();
  return summary;
}

}  // namespace

Result<RecordSummary> Record(const RecordOptions& options) {
  const auto row = CheckOptions(options);
  if (!row) return Fail(row.error());
  const auto cpu_time = CpuTime();
  const RecorderSignals signals;
  RecordSession session(options, signals);
  // A thread of its own, so that waiting for any child means the traced ones only.
  auto result = std::async(std::launch::async, [&] {
    auto summary = RunToEnd(*(*row)->make(options), session);
    session.Done();
    return summary;
  });
  session.Supervise();
  auto summary = result.get();
  if (summary) {
    summary->elapsed = session.Elapsed();
    summary->cpu_time = CpuTime() - cpu_time;
    NoteWatch(*UnderstandWatch(options), *summary);
  }
  return summary;
}

}  // namespace flowback
