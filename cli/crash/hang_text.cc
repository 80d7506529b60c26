// SPDX-License-Identifier: MIT
// Describes a process that hung, and its dump that a debugger made.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/hex.h"
#include "base/linux/linux_call_names.h"
#include "cli/crash/crash_text.h"
#include "cli/text/process_ends.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

const DumpedThread* DumpedOf(const CrashReport& report, int32_t tid) {
  if (!report.living) return nullptr;
  const auto found = std::ranges::find(report.living->threads, tid, &DumpedThread::tid);
  return found == report.living->threads.end() ? nullptr : &*found;
}

// Whether the thread executed nothing behind the dump.
bool StandsStill(const CrashReport& report, int32_t tid) {
  const DumpedThread* const dumped = DumpedOf(report, tid);
  return dumped != nullptr && dumped->fit == DumpFit::kProven && dumped->is_end;
}

// " It was killed by SIGTERM afterwards."
std::string AfterwardsWords(const CrashReport& report) {
  if (!report.end)
    return report.kind == CrashKind::kEnded
               ? " It ended afterwards; the recording does not show how."
               : "";
  if (!WasKilled(*report.end))
    return fmt::format(" It exited with {} afterwards.", WEXITSTATUS(report.end->wait_status));
  return fmt::format(" It was killed by {} afterwards.",
                     SignalName(WTERMSIG(report.end->wait_status)));
}

std::string CallName(const DumpedThread& thread) {
  const std::string name =
      thread.call
          ? std::string(LinuxCallName(static_cast<uint32_t>(*thread.call), LinuxAbi::kX86_64))
          : "";
  return name.empty() ? "a system call" : name;
}

// "in Spin (srv.cc:7)", "waiting in the system call pause, in __libc_pause (pause.c:29)".
std::string WhereWords(const DumpedThread& thread, Session& session) {
  const std::string in = "in " + PlaceWords(PlaceOf(session, thread.space, thread.counter, false));
  return thread.call ? "waiting in the system call " + CallName(thread) + ", " + in : in;
}

std::string FitWords(const DumpedThread& thread) {
  switch (thread.fit) {
    case DumpFit::kProven:
      return thread.is_end ? "It executed nothing afterwards."
                           : fmt::format("That is before its instruction #{}.", thread.number);
    case DumpFit::kOnce:
      return fmt::format(
          "{} fits, but the recording does not show that it has all that the thread executed.",
          thread.is_end ? "The end of its flow"
                        : fmt::format("The place before its instruction #{}", thread.number));
    case DumpFit::kSeveral:
      return "Its flow came there several times, so that it is not known when that was.";
    case DumpFit::kNowhere:
      return "No place of its flow fits.";
    case DumpFit::kNotRecorded:
      break;
  }
  return "It was not recorded.";
}

}  // namespace

std::string StayWords(const CrashReport& report, Session& session) {
  if (!report.stay) return "";
  const CrashStay& stay = *report.stay;
  const RecordingClock& clock = session.clock();
  const uint64_t end = report.threads.front().tsc;
  std::string time;
  if (stay.tsc != 0 && stay.tsc < end && clock.has_nanoseconds()) {
    constexpr double kMillisecond = 1e6;
    const auto ns = static_cast<double>(clock.Value(end) - clock.Value(stay.tsc));
    time = fmt::format(" ({:.1f} ms)", ns / kMillisecond);
  }
  return fmt::format(", and did not leave {} during its last {} instructions{}",
                     PlaceWords(stay.place), stay.instructions, time);
}

std::string HangSentence(const CrashReport& report, Session& session) {
  const CrashThread& first = report.threads.front();
  const std::string afterwards = AfterwardsWords(report);
  if (!report.deadlock.empty()) {
    const bool lasted = std::ranges::all_of(report.deadlock, [&](size_t number) {
      return StandsStill(report, report.threads[number].tid);
    });
    return fmt::format("{} hung {} in a deadlock: {}.{}",
                       first.name.empty() ? "The process" : Printable(first.name),
                       lasted ? "to its end" : "when the core dump was made,", RoundWords(report),
                       afterwards);
  }
  const DumpedThread* const dumped = DumpedOf(report, first.tid);
  return fmt::format(
      "{} was {} when the core dump was made{}.{}", ThreadWords(first),
      dumped == nullptr ? "in " + PlaceWords(first.place) : WhereWords(*dumped, session),
      StayWords(report, session), afterwards);
}

std::string LivingText(const CrashReport& report, Session& session) {
  if (!report.living) return "";
  std::string text = "\nWhen a debugger made the core dump, the process ran:\n";
  for (const DumpedThread& thread : report.living->threads)
    text += fmt::format("  thread {} was {}. {}\n", thread.tid, WhereWords(thread, session),
                        FitWords(thread));
  return text;
}

}  // namespace flowback::cli
