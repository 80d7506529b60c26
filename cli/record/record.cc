// SPDX-License-Identifier: MIT
// `flowback record -- CMD`: runs a program and records its execution. It ends with the program's
// own status, as env and timeout do: 125 when flowback failed, 126 and 127 when CMD can't be run.
// `flowback record -p PID`: the same for a program that runs already; the statuses are flowback's.
#include "flowback/capture/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "capture/record/target/program_file.h"
#include "capture/record/watch/region_log.h"
#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/help/function_hint.h"
#include "cli/options/arguments.h"
#include "cli/reading/cache_folder.h"
#include "cli/record/counter_options.h"
#include "cli/record/engine_choice.h"
#include "cli/record/event_options.h"
#include "cli/record/hardware_options.h"
#include "cli/record/native_run.h"
#include "cli/record/program_words.h"
#include "cli/record/pt_event.h"
#include "cli/record/record_output.h"
#include "cli/record/record_progress.h"
#include "cli/record/record_report.h"
#include "cli/text/quantity.h"
#include "cli/text/status.h"
#include "cli/text/terminal_session.h"

namespace flowback::cli {
namespace {

constexpr uint32_t kUsualBranchDepth = 32;  // the depth of most processors

struct RecordWords {
  std::string engine = "auto", clock, snapshot, buffers, cyc_threshold, psb_period, mtc_period,
              duration, max_size, max_instructions;
  CounterWords counters;
  EventWords events;
  const CLI::Option* cyc = nullptr;
  const CLI::Option* snapshots = nullptr;
  bool no_return_compression = false;
  bool no_timestamps = false;
  bool all_cpus = false;
  bool any_branch = false;
  bool per_thread = false;  // which is the default
  bool compare = false;
  bool json = false;
  bool force = false;
  bool regions = false;  // only regions are recorded
};

Status UnderstandClockOptions(const RecordWords& words, RecordOptions& options) {
  if (words.clock == "instructions")
    options.streams.clock = RecordClock::kInstructions;
  else if (!words.clock.empty() && words.clock != "host")
    return Fail(Error(ErrorCode::kUsage, "--clock: no clock '" + words.clock + "'")
                    .Remedy("--clock host or --clock instructions"));
  if (words.mtc_period == "none") {
    options.packets.mtc_shift.reset();
  } else if (!words.mtc_period.empty()) {
    const auto shift = ParseNumber(words.mtc_period);
    if (!shift || *shift > 15)
      return Fail(Error(ErrorCode::kUsage, "--mtc-period: not 0 to 15").Remedy("--mtc-period 3"));
    options.packets.mtc_shift = static_cast<uint8_t>(*shift);
  }
  if (words.cyc->count() != 0) {
    const auto threshold = words.cyc_threshold.empty() ? 0 : ParseNumber(words.cyc_threshold);
    if (!threshold || *threshold > 12)
      return Fail(Error(ErrorCode::kUsage, "--cyc: not a threshold from 0 to 12")
                      .Remedy("--cyc, or --cyc N: at least 2^(N-1) cycles apart"));
    options.packets.cyc_threshold = static_cast<uint8_t>(*threshold);
  }
  if (words.no_timestamps) options.packets.timestamps = false;
  if (!options.packets.timestamps) options.packets.mtc_shift.reset();
  return {};
}

// perf's terms first: options of our own say more.
Status UnderstandPacketOptions(const RecordWords& words, RecordOptions& options) {
  for (const std::string& event : options.events.words)
    if (Status status = ApplyPtEvent(event, options); !status) return status;
  if (!words.psb_period.empty()) {
    const Result<uint64_t> bytes = ParseSize(words.psb_period, "--psb-period");
    if (!bytes) return Fail(bytes.error());
    if (*bytes > UINT32_MAX)
      return Fail(Error(ErrorCode::kUsage, "--psb-period: too large").Remedy("2K to 64M"));
    options.packets.psb_period_bytes = static_cast<uint32_t>(*bytes);
  }
  if (words.no_return_compression) options.packets.return_compression = false;
  return UnderstandClockOptions(words, options);
}

// perf's way to say how large a buffer is: a number of pages, or a size with its unit.
Result<uint64_t> ParsePages(const std::string& text) {
  constexpr uint64_t kPage = 4096;
  const auto pages = ParseNumber(text);
  const Result<uint64_t> bytes = pages ? Result<uint64_t>(*pages * kPage) : ParseSize(text, "-m");
  if (bytes && std::has_single_bit(*bytes) && *bytes >= kPage) return bytes;
  return Fail(Error(ErrorCode::kUsage, "-m: '" + text + "' is no power of two of pages")
                  .Remedy("-m 128,1024, or -m 512K,4M"));
}

// PAGES, for the kernel's records, is of no meaning here.
Status UnderstandBuffers(const RecordWords& words, RecordOptions& options) {
  constexpr uint64_t kUsualSnapshot = uint64_t{4} << 20;
  const size_t comma = words.buffers.find(',');
  const std::string pages = words.buffers.substr(0, comma);
  if (!pages.empty())
    if (const auto bytes = ParsePages(pages); !bytes) return Fail(bytes.error());
  std::optional<uint64_t> buffer;
  if (comma != std::string::npos) {
    const auto bytes = ParsePages(words.buffers.substr(comma + 1));
    if (!bytes) return Fail(bytes.error());
    buffer = *bytes;
  }
  if (words.snapshots->count() == 0 && !words.events.keeps_latest(options)) return {};
  options.streams.snapshot_bytes = buffer.value_or(kUsualSnapshot);
  // perf's e: one more when it ends, which is so here every time.
  const std::string text = words.snapshot.substr(words.snapshot.starts_with('e') ? 1 : 0);
  if (text.empty()) return {};
  const Result<uint64_t> size = ParseSize(text, "-S");
  if (!size) return Fail(size.error());
  if (buffer && *size > *buffer)
    return Fail(Error(ErrorCode::kUsage, fmt::format("-S {}: more than the buffer of -m {} holds",
                                                     words.snapshot, words.buffers))
                    .Remedy("make AUXPAGES larger, or leave -m out"));
  options.streams.snapshot_bytes = *size;
  return {};
}

Status UnderstandLimits(const RecordWords& words, RecordOptions& options) {
  if (!words.duration.empty()) {
    const Result<uint64_t> nanoseconds = ParseDuration(words.duration, "--duration");
    if (!nanoseconds) return Fail(nanoseconds.error());
    if (*nanoseconds == 0)
      return Fail(Error(ErrorCode::kUsage, "--duration: no time at all: nothing would be recorded")
                      .Remedy("--duration 10s"));
    options.limits.duration = std::chrono::nanoseconds(*nanoseconds);
  }
  if (!words.max_size.empty()) {
    const Result<uint64_t> bytes = ParseSize(words.max_size, "--max-size");
    if (!bytes) return Fail(bytes.error());
    if (*bytes == 0)
      return Fail(Error(ErrorCode::kUsage, "--max-size: no bytes at all: nothing would be recorded")
                      .Remedy("--max-size 100M"));
    options.limits.file_bytes = *bytes;
  }
  if (!words.max_instructions.empty()) {
    const auto count = ParseNumber(words.max_instructions);
    if (!count || *count == 0)
      return Fail(Error(ErrorCode::kUsage, "--max-instructions: not a positive number")
                      .Remedy("--max-instructions 1000000"));
    options.limits.instructions = *count;
  }
  return {};
}

// The first of the options given that engines of the kernel's events don't follow; "": none.
std::string_view FirstOfSoftware(const RecordWords& words, const RecordOptions& options) {
  const std::pair<bool, std::string_view> given[] = {
      {!words.psb_period.empty(), "--psb-period"},
      {!words.mtc_period.empty(), "--mtc-period"},
      {words.cyc->count() != 0, "--cyc"},
      {words.no_return_compression, "--noretcomp"},
      {words.no_timestamps, "--no-tsc"},
      {!words.clock.empty(), "--clock"},
      {!words.max_instructions.empty(), "--max-instructions"},
      {options.emulate.exact, "--exact"},
      {options.emulate.locks, "--locks"},
      {words.regions, "--regions"},
      {!options.watched.from.empty(), "--from"},
      {!options.watched.until.empty(), "--until"},
      {options.files.kill_on_failure, "--kill"},
      {!options.files.raw_directory.empty(), "--raw-dir"}};
  for (const auto& [is_given, name] : given)
    if (is_given) return name;
  return "";
}

// Only the emulator knows what an instruction accesses, and only packets have a place for it.
Status CheckLocks(const RecordOptions& options) {
  if (!options.emulate.locks) return {};
  if (options.engine != "emulate")
    return Fail(
        Error(ErrorCode::kUnsupported,
              fmt::format("record: --locks: the engine '{}' does not know which addresses atomic "
                          "operations access: no branch trace has them",
                          options.engine))
            .Remedy("--engine emulate; or leave --locks out: `flowback locks` then reports waits "
                    "by place, not by lock"));
  if (options.streams.branch_depth)
    return Fail(
        Error(ErrorCode::kUnsupported,
              "record: --locks: branch stacks, as -b and programs for AArch64 are recorded, "
              "have no place for the addresses of data")
            .Remedy("leave --locks out"));
  return {};
}

Status RefuseSoftwareOptions(const RecordWords& words, const RecordOptions& options) {
  if (const Status status = CheckLocks(options); !status) return status;
  const std::string_view name = FirstOfSoftware(words, options);
  if (name.empty()) return {};
  return Fail(
      Error(ErrorCode::kUnsupported,
            fmt::format("record: the engine '{}' does not follow {}", options.engine, name))
          .Remedy("terms say what a trace holds: -e "
                  "intel_pt/cyc,mtc_period=3,psb_period=3,noretcomp/u; or --engine emulate"));
}

// -m PAGES[,AUXPAGES], which the kernel's buffers have.
Status UnderstandEventBuffers(const RecordWords& words, RecordOptions& options) {
  const size_t comma = words.buffers.find(',');
  const std::pair<std::string, std::optional<uint64_t>*> parts[] = {
      {words.buffers.substr(0, comma), &options.events.record_buffer_bytes},
      {comma == std::string::npos ? "" : words.buffers.substr(comma + 1),
       &options.events.trace_buffer_bytes}};
  for (const auto& [text, size] : parts) {
    if (text.empty()) continue;
    const auto bytes = ParsePages(text);
    if (!bytes) return Fail(bytes.error());
    *size = *bytes;
  }
  return {};
}

Status UnderstandEvents(const RecordWords& words, RecordOptions& options, const CLI::App& app) {
  options.events.per_thread = words.per_thread;
  for (const Status& status :
       {RefuseSoftwareOptions(words, options), UnderstandEventOptions(words.events, app, options),
        UnderstandCounters(words.counters, options), UnderstandBuffers(words, options),
        UnderstandEventBuffers(words, options)})
    if (!status) return Fail(status.error());
  return {};
}

// Intel PT is no trace of a program for AArch64.
bool IsForeignProgram(const RecordOptions& options) {
  if (options.target.command.empty()) return false;
  const auto program = record::FindProgram(record::LookUpInPath(options.target.command[0]),
                                           record::ForeignRoot(options.emulate.root));
  return program && program->mode == CodeMode::kAArch64;
}

Status UnderstandSoftware(const RecordWords& words, RecordOptions& options, const CLI::App& app) {
  for (const Status& status :
       {RefuseEventOptions(app), CheckCrash(options), UnderstandPacketOptions(words, options),
        UnderstandBuffers(words, options)})
    if (!status) return Fail(status.error());
  if (std::error_code ignored; !options.emulate.root.empty() &&
                               !std::filesystem::is_directory(options.emulate.root, ignored))
    return Fail(Error(ErrorCode::kUsage, fmt::format("record: --foreign-root {}: there is no such "
                                                     "folder",
                                                     options.emulate.root))
                    .Remedy("the folder that holds the program's lib/, such as "
                            "/usr/aarch64-linux-gnu"));
  const bool foreign = options.engine == "emulate" && IsForeignProgram(options);
  if (!words.any_branch && !foreign) return {};
  if (!FindRecorder(options.engine)->branch_stacks)
    return Fail(Error(ErrorCode::kNoHardware,
                      "record: -b samples branch stacks, which takes hardware that has them (LBR, "
                      "BRBE) or the emulator")
                    .Remedy("--engine emulate; or perf record -b"));
  options.streams.branch_depth = kUsualBranchDepth;
  return {};
}

Status Understand(const RecordWords& words, RecordOptions& options, const CLI::App& app) {
  if (words.any_branch && options.events.branch_filter.empty())
    options.events.branch_filter = "any";
  if (Status status = UnderstandLimits(words, options); !status) return status;
  const Result<std::string> engine =
      ChooseEngine(words.engine, options, FirstOfSoftware(words, options).empty());
  if (!engine) return Fail(engine.error());
  options.engine = *engine;
  if (FindRecorder(*engine)->hardware) return UnderstandEvents(words, options, app);
  const Status status = UnderstandSoftware(words, options, app);
  return status ? CheckLocks(options) : status;
}

// Programs find out by the environment that they need no recorder of their own (flowback/self.h).
Status UnderstandRegions(const RecordWords& words, RecordOptions& options) {
  if (!words.regions) return {};
  if (!options.watched.from.empty() || !options.watched.until.empty())
    return Fail(Error(ErrorCode::kUsage,
                      "--regions: --from and --until say otherwise what is "
                      "recorded")
                    .Remedy("leave them out"));
  options.watched = {.from = record::kRegionEntered, .until = record::kRegionLeft};
  setenv("FLOWBACK_SELF", "regions", 1);
  return {};
}

// The program once more by itself, if its recorded run was whole.
std::optional<NativeRun> Compare(const RecordSummary& summary, const RecordOptions& options,
                                 const RepeatableInput& input) {
  if (summary.stop_reason != StopReason::kProgramEnded) {
    Warn("record: --compare: the recording ended before the program did: nothing to compare");
    return std::nullopt;
  }
  const auto native = RunNatively(options.target.command, input, summary.elapsed);
  if (!native) {
    Report(native.error());
    return std::nullopt;
  }
  TellComparison(summary, *native);
  return *native;
}

// The notes say that no file has the function.
void TellNearFunctions(const RecordSummary& summary, const RecordOptions& options) {
  const auto tell = [&](const char* option, const std::string& function,
                        const std::vector<std::string>& places) {
    if (function.empty() || !places.empty() || options.files.pipe >= 0) return;
    const std::string name = function.substr(0, function.find('@'));
    const std::string hint = DidYouMeanFunction(options.files.output, name);
    if (!hint.empty()) Warn(fmt::format("record: {} {}{}", option, function, hint));
  };
  tell("--from", options.watched.from, summary.from_places);
  tell("--until", options.watched.until, summary.until_places);
}

int Execute(const RecordWords& words, RecordOptions& options, const CLI::App& app) {
  const bool has_command = !options.target.command.empty();
  if (Status status = Understand(words, options, app); !status)
    return RecordFailure(status.error(), has_command, words.json);
  if (Status status = UnderstandRegions(words, options); !status)
    return RecordFailure(status.error(), has_command, words.json);
  if (Status status = FindImageStore(options); !status)
    return RecordFailure(status.error(), has_command, words.json);
  if (Status status = OpenOutputPipe(options, words.json); !status)
    return RecordFailure(status.error(), has_command, words.json);
  if (Status status = CheckOlderFile(options, words.force); !status)
    return RecordFailure(status.error(), has_command, words.json);
  const RepeatableInput input;
  const Result<RecordSummary> summary = RecordWithProgress(options);
  if (!summary) return RecordFailure(summary.error(), has_command, words.json);
  int status = has_command ? CommandStatus(summary->command_status) : kDone;
  // A watched function was not found: the status is not the program's.
  const auto& watched = options.watched;
  if ((!watched.from.empty() && summary->from_places.empty()) ||
      (!watched.until.empty() && summary->until_places.empty()))
    status = kRecorderFailed;
  if (summary->failure) status = has_command ? kRecorderFailed : StatusOf(summary->failure->code());
  TellText(*summary, options);
  TellNearFunctions(*summary, options);
  const std::optional<DecodedCheck> decoded = CheckDecoded(*summary, options);
  if (decoded) TellDecoded(*summary, *decoded);
  std::optional<NativeRun> native;
  if (words.compare) native = Compare(*summary, options, input);
  if (words.json) TellJson(*summary, options, {.native = native, .decoded = decoded}, status);
  return status;
}

void AddOptions(CLI::App& app, RecordWords& words, RecordOptions& options) {
  app.add_option("-p,--pid", options.target.pids,
                 "Record running processes until Ctrl-C or SIGTERM, e.g. 100,102. Never end "
                 "--engine step by SIGKILL: the recorded processes would die of SIGTRAP")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("-t,--tid", options.target.tids, "Record running threads, e.g. 100,102")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--engine", words.engine, EngineHelp());
  app.add_option(
      "-L,--foreign-root", options.emulate.root,
      "Folder where AArch64 programs find their libraries (default /usr/aarch64-linux-gnu)");
  app.add_flag(
      "--locks", options.emulate.locks,
      "Record the addresses of locks, so that `flowback locks` reports each lock by itself");
  app.add_flag("--exact", options.emulate.exact, "Run one instruction per block (slower)");
  app.add_option("-o,--output", options.files.output,
                 "Write to FILE, a file or FIFO (default perf.data); -: standard output");
  app.add_flag("--force", words.force,
               "Let -o replace a file that is no recording (it is kept as OUTPUT.old)");
  app.add_option("--raw-dir", options.files.raw_directory,
                 "Also write raw streams and code images to FOLDER");
  app.add_flag("--no-images{false}", options.files.keep_images,
               "Do not copy the files that run to OUTPUT.images");
  app.add_option(
      "--clock", words.clock,
      "Clock for times: host (default), or instructions, which counts executed instructions");
  app.add_option("--psb-period", words.psb_period, "Bytes between sync points, 2K to 64M");
  app.add_option("-e,--event", options.events.words,
                 "Record this event, as perf spells it: intel_pt/cyc=1,mtc_period=3/u, cycles:u, "
                 "sched:sched_switch, {a,b}")
      ->allow_extra_args(false);
  app.add_flag("-a,--all", options.events.all_cpus, "Record everything that runs on the CPUs");
  app.add_option("-C,--cpu", options.events.cpus, "Record only on these CPUs, e.g. 0-3,8");
  app.add_flag("-b,--branch-any", words.any_branch,
               "Record branch stacks (LBR, BRBE); with emulate of all branches");
  app.add_option("-j,--branch-filter", options.events.branch_filter,
                 "Record branch stacks of some branches, e.g. any,u");
  auto* frequency =
      app.add_option("-F,--freq", options.events.frequency,
                     "Samples per second, for events without a period (default 4000)");
  app.add_option("-c,--count", options.events.period, "Sample every N occurrences, in place of -F")
      ->excludes(frequency);
  app.add_flag("--switch-events", options.events.switches, "Record thread switches");
  AddCounterOptions(app, words.counters, options);
  words.cyc = app.add_option("--cyc", words.cyc_threshold,
                             "Write CYC packets, at least 2^(N-1) cycles apart (default 0: all)")
                  ->expected(0, 1);
  app.add_option("--mtc-period", words.mtc_period,
                 "Write an MTC packet every 2^N crystal ticks, or none");
  app.add_flag("--noretcomp", words.no_return_compression,
               "Disable return compression: record the target of every return");
  app.add_flag("--no-tsc", words.no_timestamps, "Record no times");
  app.add_flag("--all-cpus", words.all_cpus, "Let the program use every CPU (slower)");
  words.snapshots = app.add_option("-S,--snapshot", words.snapshot,
                                   "Keep only the last SIZE bytes of each thread (default 4M), "
                                   "saved at its end and at SIGUSR2")
                        ->expected(0, 1);
  auto* per_cpu = app.add_flag("--per-cpu", options.streams.per_cpu,
                               "Write one stream per virtual CPU, with thread switches");
  app.add_flag("--per-thread", words.per_thread, "Write one stream per thread (default)")
      ->excludes(per_cpu);
  app.add_option("-m,--mmap-pages", words.buffers,
                 "Buffer sizes, as perf has them: PAGES[,AUXPAGES] or bytes. AUXPAGES is the part "
                 "that -S keeps");
  app.add_option("--duration", words.duration,
                 "Stop recording after this time, e.g. 10s; the program runs on (see --kill)");
  app.add_option("--max-size", words.max_size, "Stop recording at this file size, e.g. 100M");
  app.add_option("--from", options.watched.from,
                 "Start recording at this function: a name, a pattern (str*) or /an expression/");
  app.add_option("--until", options.watched.until,
                 "Stop recording at this function's first instruction");
  app.add_flag("--regions", words.regions,
               "Record only the regions that the program marks (`flowback help self`)");
  app.add_flag("--kill", options.files.kill_on_failure,
               "End CMD when recording ends (--duration, --max-size, --max-instructions) or fails");
  app.add_option("--max-instructions", words.max_instructions,
                 "Stop recording after N instructions");
  app.add_flag("--compare", words.compare,
               "Run CMD once more unrecorded, and print how much slower recording was");
  AddEventOptions(app, words.events, options);
  AddHardwareOptions(app);
  app.footer(RefusedOptions());
  app.add_flag("--json", words.json,
               "Print the result as JSON lines on standard output, after CMD's own output");
}

std::string Joined(const Arguments& arguments) {
  std::string text = "flowback record";
  for (const std::string& word : arguments) text += ' ' + word;
  return text;
}

Error NoProgram() {
  return Error(ErrorCode::kUsage, "record: no program to run")
      .Remedy("flowback record [options] -- CMD, or -p PID for one that runs");
}

}  // namespace

int RunRecord(const Arguments& arguments) {
  CLI::App app("Runs a program and records its execution.", "flowback record");
  RecordWords words;
  RecordOptions options;
  AddOptions(app, words, options);
  if (const auto query = AsksToComplete(arguments)) {
    ProgramWords line = SplitAtProgram(app, query->words);
    if (!ParseQuietly(app, line.options)) return kDone;
    options.target.command = std::move(line.command);
    return CompleteOfProgram(query->prefix, options);
  }
  ProgramWords split = SplitAtProgram(app, arguments);
  options.target.command = std::move(split.command);
  if (const auto status = Parse(app, split.options))
    return *status == kWrongUsage && !options.target.command.empty() ? kRecorderFailed : *status;
  if (const Status status = RefuseHardwareOptions(app); !status)
    return RecordFailure(status.error(), !options.target.command.empty(), words.json);
  const bool has_target =
      options.target.runs_already() || options.events.all_cpus || !options.events.cpus.empty();
  if (options.target.command.empty() && !has_target) return Report(NoProgram());
  if (words.compare && options.target.command.empty())
    return Report(
        Error(ErrorCode::kUsage, "record: --compare needs a program that can be run again")
            .Remedy("flowback record --compare -- CMD"));
  KeepStandardStreams();
  options.files.command_line = Joined(arguments);
  options.step.one_cpu = !words.all_cpus;
  return Execute(words, options, app);
}

}  // namespace flowback::cli
