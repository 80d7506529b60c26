// SPDX-License-Identifier: MIT
#include <sys/wait.h>

#include <memory>
#include <utility>

#include "cli/crash/crash_options.h"
#include "cli/crash/crash_text.h"
#include "cli/crash/stored_core.h"
#include "cli/reading/reading_job.h"
#include "cli/replay/opened_replay.h"
#include "cli/text/status.h"
#include "replay/crash/crash_report.h"
#include "replay/session/noted_core.h"

namespace flowback::cli {
namespace {

const ProcessEnd* FirstKilled(const Recording& recording) {
  for (const ProcessEnd& end : recording.process_ends)
    if (WIFSIGNALED(end.wait_status)) return &end;
  return nullptr;
}

const ProcessEnd* EndOf(const Recording& recording, int32_t pid) {
  for (const ProcessEnd& end : recording.process_ends)
    if (end.pid == pid) return &end;
  return nullptr;
}

// Chooses the process and, if the user names no core dump, its dump: the one that the recorder
// noted if it is still there, else the one that systemd keeps, in `stored`.
ReplayOptions OptionsFor(const CrashWords& words, const Recording& recording,
                         std::unique_ptr<StoredCore>& stored) {
  ReplayOptions options;
  options.reader = words.reader;
  options.pid = words.pid;
  const ProcessEnd* end = words.pid ? EndOf(recording, *words.pid) : FirstKilled(recording);
  if (end == nullptr) return options;
  options.pid = end->pid;
  std::vector<std::string>& cores = options.reader.search.cores;
  if (!cores.empty()) return options;
  if (HasNotedCore(*end)) {
    cores.push_back(end->core);
  } else if (WIFSIGNALED(end->wait_status) && words.reader.bundle == nullptr) {
    stored = StoredCore::Of(*end);
    if (stored != nullptr && IsCoreOf(stored->path(), *end)) cores.push_back(stored->path());
  }
  return options;
}

Status Tell(const CrashWords& words, OpenedReplay& replay, Output& output) {
  const gdb::ServerInput input = replay.Input();
  const CrashInput of{input.session, input.machine, input.stacks,
                      input.images,  input.core,    replay.living()};
  const Result<CrashReport> report = MakeCrashReport(of, {.last = words.last, .why = words.why});
  if (!report) return Fail(report.error());
  output.Write(words.reader.json ? CrashJson(*report, input.session)
                                 : CrashText(*report, input.session));
  return output.Finish();
}

int CrashOf(const CrashWords& words, Recording recording) {
  std::unique_ptr<StoredCore> stored;
  const ReplayOptions options = OptionsFor(words, recording, stored);
  OpenedReplay replay(options, std::move(recording));
  if (Status status = replay.Prepare(OpenedReplay::Samples::kRefused); !status)
    return Report(status.error());
  if (Status status = replay.OpenMachine(); !status) return replay.EndWithout(status.error());
  Result<Output> output = replay.OpenOutput();
  if (!output) return replay.EndWithout(output.error());
  if (Status status = Tell(words, replay, *output); !status)
    return replay.EndWithout(status.error());
  return replay.End();
}

}  // namespace

int Crash(const CrashWords& words) {
  return WithInput(words.reader,
                   [&](Recording recording) { return CrashOf(words, std::move(recording)); });
}

}  // namespace flowback::cli
