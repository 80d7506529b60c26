// SPDX-License-Identifier: MIT
#include "cli/record/record_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/record/record_output.h"
#include "cli/text/counters.h"
#include "cli/text/output.h"
#include "cli/text/process_ends.h"
#include "cli/text/status.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

constexpr int kCommandNotRunnable = 126;
constexpr int kCommandNotFound = 127;

std::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kProgramEnded:
      return "program-ended";
    case StopReason::kMaxInstructions:
      return "max-instructions";
    case StopReason::kDuration:
      return "duration";
    case StopReason::kFileSize:
      return "max-size";
    case StopReason::kSignal:
      return "signal";
    case StopReason::kOutputFailed:
      return "output-failed";
    case StopReason::kControl:
      return "control";
  }
  return "";
}

size_t Processes(const RecordSummary& summary) {
  std::set<int32_t> pids;
  for (const RecordedThread& thread : summary.threads) pids.insert(thread.pid);
  return pids.size();
}

// How many times longer `recorded` is. Empty where `native` is too short to divide by.
std::optional<double> Ratio(std::chrono::nanoseconds recorded, std::chrono::nanoseconds native) {
  constexpr std::chrono::milliseconds kLeast(1);
  if (native < kLeast) return std::nullopt;
  return static_cast<double>(recorded.count()) / static_cast<double>(native.count());
}

std::string RatioText(std::optional<double> ratio) {
  if (!ratio) return "the program alone is too short to compare";
  return fmt::format("{:.{}f} times", *ratio, *ratio < 10 ? 1 : 0);
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// As one word of a shell's command line.
std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@%,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  const bool reaches_terminal = PrintableProse(word) == word;
  std::string quoted = reaches_terminal ? "'" : "$'";
  for (const char c : word) {
    const auto byte = static_cast<uint8_t>(c);
    if (reaches_terminal)
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    else if (byte < 0x20 || byte >= 0x7f)  // bash reads two digits
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return quoted + "'";
}

// With --on-crash, a command that no signal killed leaves no trace.
bool IsDiscarded(const RecordSummary& summary, const RecordOptions& options) {
  return options.direction.on_crash && !WIFSIGNALED(summary.command_status);
}

// Empty: whoever reads the pipe is what comes next, or nothing was kept.
// A program that a signal killed is asked about its crash.
std::string NextCommand(const RecordSummary& summary, const RecordOptions& options) {
  if (options.files.pipe >= 0 || IsDiscarded(summary, options)) return {};
  const bool crashed = !options.target.command.empty() && !summary.process_ends.empty() &&
                       WasKilled(summary.process_ends.front());
  return (crashed && !summary.events ? "flowback crash " : "flowback info ") +
         ShellWord(options.files.output);
}

// The command's own end, and of other processes those that a signal ended.
void TellEnds(const RecordSummary& summary, const RecordOptions& options) {
  constexpr size_t kMostLines = 32;
  const std::vector<EndPlace> places = FindPlaces(summary.process_ends);
  size_t lines = 0;
  for (size_t i = 0; i < summary.process_ends.size(); ++i) {
    const ProcessEnd& end = summary.process_ends[i];
    if (!WasKilled(end) || ++lines > kMostLines) continue;
    const std::string text = EndText(end, places[i]);
    // A recording of events has only the command's.
    const bool is_first =
        summary.events || (!summary.threads.empty() && end.pid == summary.threads[0].pid);
    const bool own = is_first && !options.target.command.empty();
    Warn(own ? "record: " + text
             : fmt::format("record: process {} ({}) {}", end.pid, end.comm, text));
  }
  if (lines > kMostLines)
    Warn(fmt::format("record: {} {} killed: see flowback info",
                     Counted(lines - kMostLines, "further process"),
                     ByCount(lines - kMostLines, "was", "were")));
}

std::string EndsJson(const RecordSummary& summary) {
  const std::vector<EndPlace> places = FindPlaces(summary.process_ends);
  nlohmann::ordered_json ends = nlohmann::ordered_json::array();
  for (size_t i = 0; i < summary.process_ends.size(); ++i)
    ends.push_back(EndJson(summary.process_ends[i], places[i]));
  return ends.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

bool NothingLost(const RecordSummary& summary) {
  return summary.losses == 0 && summary.threads_left_out == 0 && !summary.failure;
}

std::string LossText(const RecordSummary& summary) {
  if (NothingLost(summary)) return "0 % lost";
  std::string text = Counted(summary.losses, "loss");
  if (summary.threads_left_out != 0)
    text += ", " + Counted(summary.threads_left_out, "thread") + " left out";
  if (summary.failure)
    text += fmt::format(", {} not written",
                        Counted(summary.bytes - summary.written_bytes, "trace byte"));
  return text;
}

double OverwrittenPercent(const RecordSummary& summary) {
  if (summary.bytes == 0) return 0;
  return 100 * static_cast<double>(summary.overwritten_bytes) / static_cast<double>(summary.bytes);
}

// On purpose, so it is not lost; but it is not in the file.
std::string OverwrittenText(const RecordSummary& summary, const RecordOptions& options) {
  if (!options.streams.snapshot_bytes) return {};
  if (IsDiscarded(summary, options)) return "; no crash: the trace was discarded";
  if (summary.overwritten_bytes == 0) return "; nothing overwritten";
  return fmt::format("; {} of {} overwritten ({:.1f} %)", GroupedDigits(summary.overwritten_bytes),
                     Counted(summary.bytes, "trace byte"), OverwrittenPercent(summary));
}

std::string StopText(const RecordSummary& summary, const RecordOptions& options) {
  if (summary.stop_reason == StopReason::kProgramEnded) return {};
  if (summary.stop_reason == StopReason::kOutputFailed) return "until tracing stopped: ";
  if (summary.stop_reason == StopReason::kSignal) return "stopped by a signal; ";
  if (summary.stop_reason == StopReason::kControl) return "stopped through --control; ";
  const bool of_cpus = options.target.command.empty() && !options.target.runs_already();
  const char* after = options.files.kill_on_failure ? ", the program was asked to end"
                                                    : ", the program ran on unrecorded";
  return fmt::format("stopped by --{}{}; ", Name(summary.stop_reason), of_cpus ? "" : after);
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Returns the text about kept files, which remain when the program's files change.
std::string ImagesText(const RecordSummary& summary, const RecordOptions& options) {
  if (!options.files.keep_images) return {};
  if (options.files.pipe >= 0)
    return "images: none, for nothing stands beside a pipe: decode before the programs change";
  if (!summary.images) return {};
  const KeptImagesSummary& images = *summary.images;
  if (!images.why_none.empty()) return "images: none: " + images.why_none;
  std::string text =
      fmt::format("images: {}, {}", Counted(images.files, "file"), SizeText(images.bytes));
  if (images.shared_bytes != 0)
    text += fmt::format(", {} of it shared with earlier recordings", SizeText(images.shared_bytes));
  return text;
}

std::string JsonText(std::string_view text) {
  std::string json;
  AppendJsonString(json, text);
  return json;
}

std::string JsonArray(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    if (json.size() > 1) json += ',';
    AppendJsonString(json, text);
  }
  return json + "]";
}

// Null: none were to be kept.
std::string ImagesJson(const RecordSummary& summary) {
  if (!summary.images) return "null";
  const KeptImagesSummary& images = *summary.images;
  return fmt::format(R"({{"files":{},"bytes":{},"shared_bytes":{},"why_none":{}}})", images.files,
                     images.bytes, images.shared_bytes,
                     images.why_none.empty() ? "null" : JsonText(images.why_none));
}

// The flow is what executed; but natively it might have been another.
void TellUnlikeNative(const RecordSummary& summary) {
  for (const UnlikeNative& call : summary.unlike_native)
    Warn(
        fmt::format("record: not as natively: '{}' ({}) asked for {}, {}: under emulation it is {}",
                    PrintableProse(call.comm), call.pid, call.call, Counted(call.times, "time"),
                    call.difference),
        {call.remedy + "; flowback help emulation"});
}

std::string UnlikeNativeJson(const RecordSummary& summary) {
  std::string json = "[";
  for (const UnlikeNative& call : summary.unlike_native) {
    if (json.size() > 1) json += ',';
    json +=
        fmt::format(R"({{"call":{},"pid":{},"comm":{},"times":{},"difference":{},"remedy":{}}})",
                    JsonText(call.call), call.pid, JsonText(call.comm), call.times,
                    JsonText(call.difference), JsonText(call.remedy));
  }
  return json + "]";
}

// A message reported the failure at once; this one reports its consequences.
void TellFailure(const RecordSummary& summary, const RecordOptions& options) {
  std::string program;
  if (!options.target.command.empty())
    program =
        fmt::format("; the program {}, status {}",
                    options.files.kill_on_failure ? "was to be killed then" : "ran on untraced",
                    CommandStatus(summary.command_status));
  Warn(fmt::format("record: the recording is not whole: {}: {} of {} {} written, and can be read{}",
                   summary.failure->message(), summary.written_bytes,
                   Counted(summary.bytes, "trace byte"),
                   ByCount(summary.written_bytes, "was", "were"), program),
       {summary.failure->remedy()});
}

std::string EventLossText(const EventCounts& counts) {
  std::string text;
  const auto add = [&](uint64_t count, std::string_view what) {
    if (count != 0) text += (text.empty() ? "" : ", ") + Counted(count, what);
  };
  add(counts.lost_records, "lost record");
  add(counts.lost_samples, "lost sample");
  add(counts.trace_gaps, "gap in the trace");
  return text.empty() ? "0 % lost" : text + ": larger buffers help: -m 1024,16384";
}

void TellCounters(const CountedEvents& counters) {
  std::istringstream lines(CounterLines(counters));
  Warn("record: counters, all threads");
  for (std::string line; std::getline(lines, line);) Warn("record: " + line);
}

void TellSlowCalls(const SlowCallCounts& counts, const RecordOptions& options) {
  const double slow_ms = std::chrono::duration<double, std::milli>(options.direction.slow).count();
  std::string text =
      fmt::format("record: {} of {}, {} of them longer than {:g} ms", Counted(counts.calls, "call"),
                  PrintableProse(options.direction.slow_function), counts.slow, slow_ms);
  if (counts.cut != 0)
    text += fmt::format(
        "; of {} the beginning is not in the trace any more: a larger buffer "
        "helps: -m ,16384",
        counts.cut);
  if (counts.halves != 0)
    text += fmt::format("; {} that began before, or whose beginning was lost", counts.halves);
  Warn(text);
}

void TellEventsText(const RecordSummary& summary, const RecordOptions& options) {
  if (summary.failure) TellFailure(summary, options);
  TellEnds(summary, options);
  const EventCounts& counts = *summary.events;
  Warn(fmt::format("record: {}{}, {} of them, in {:.2f} s, {}", StopText(summary, options),
                   Counted(counts.records, "record"), Counted(counts.samples, "sample"),
                   std::chrono::duration<double>(summary.elapsed).count(), EventLossText(counts)));
  if (summary.slow_calls) TellSlowCalls(*summary.slow_calls, options);
  const std::string files =
      summary.files > 1 ? fmt::format(" and {} before it", Counted(summary.files - 1, "file")) : "";
  Warn(fmt::format("record: {} in {}{}, {}", Counted(summary.bytes, "trace byte"),
                   OutputName(options), files, Counted(summary.file_bytes, "byte")));
  if (!summary.counters.empty()) TellCounters(summary.counters);
  if (const std::string next = NextCommand(summary, options); !next.empty())
    Warn("record: next: " + next);
}

std::string SlowCallsJson(const RecordSummary& summary) {
  if (!summary.slow_calls) return "null";
  const SlowCallCounts& counts = *summary.slow_calls;
  return fmt::format(R"({{"calls":{},"slow":{},"cut":{},"halves":{}}})", counts.calls, counts.slow,
                     counts.cut, counts.halves);
}

std::string EventsJson(const RecordSummary& summary) {
  if (!summary.events) return "null";
  const EventCounts& counts = *summary.events;
  return fmt::format(
      R"({{"records":{},"samples":{},"lost_records":{},"lost_samples":{},"trace_gaps":{}}})",
      counts.records, counts.samples, counts.lost_records, counts.lost_samples, counts.trace_gaps);
}

}  // namespace

int CommandStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : kRecorderFailed;
}

int RecordFailure(const Error& error, bool has_command, bool json) {
  const int reason = Report(error);
  int status = has_command ? kRecorderFailed : reason;
  if (error.code() == ErrorCode::kCommandMissing) status = kCommandNotFound;
  if (error.code() == ErrorCode::kCommandRefused) status = kCommandNotRunnable;
  if (json) {
    Output output;
    JsonLine(output.buffer())
        .Text("schema", "flowback.record/1")
        .Text("error", error.message())
        .Text("remedy", error.remedy())
        .Number("reason", reason)
        .Number("status", status)
        .End();
  }
  return status;
}

void TellRun(const RecordSummary& summary, const RecordOptions& options) {
  if (options.streams.snapshot_bytes)
    Warn(fmt::format("record: of each thread's trace the last {} were kept at most",
                     Counted(*options.streams.snapshot_bytes, "byte")));
  TellUnlikeNative(summary);
  if (summary.failure) TellFailure(summary, options);
  TellEnds(summary, options);
  const size_t processes = Processes(summary);
  Warn(fmt::format("record: {}{} of {}{} in {:.2f} s, {}{}", StopText(summary, options),
                   Counted(summary.instructions, "instruction"),
                   Counted(summary.threads.size(), "thread"),
                   processes > 1 ? " in " + Counted(processes, "process") : "",
                   std::chrono::duration<double>(summary.elapsed).count(), LossText(summary),
                   OverwrittenText(summary, options)));
}

void TellText(const RecordSummary& summary, const RecordOptions& options) {
  for (const std::string& note : summary.notes) Warn("record: " + note);
  if (summary.events) return TellEventsText(summary, options);
  TellRun(summary, options);
  if (IsDiscarded(summary, options)) return;
  const uint64_t kept = summary.failure ? summary.written_bytes : summary.bytes;
  Warn(fmt::format("record: {} (emulated) in {}, {}",
                   Counted(kept - std::min(kept, summary.overwritten_bytes), "trace byte"),
                   OutputName(options), Counted(summary.file_bytes, "byte")));
  if (const std::string images = ImagesText(summary, options); !images.empty())
    Warn("record: " + images);
  if (const std::string next = NextCommand(summary, options); !next.empty())
    Warn("record: next: " + next);
}

void TellComparison(const RecordSummary& summary, const NativeRun& native) {
  Warn(
      fmt::format("record: alone the program takes {:.3f} s ({:.3f} s of processor time), recorded "
                  "{:.3f} s ({:.3f} s): {}",
                  Seconds(native.elapsed), Seconds(native.cpu_time), Seconds(summary.elapsed),
                  Seconds(summary.cpu_time), RatioText(Ratio(summary.elapsed, native.elapsed))));
  if (native.command_status != summary.command_status)
    Warn(fmt::format("record: alone it ended with status {}, recorded with {}: the two runs differ",
                     CommandStatus(native.command_status), CommandStatus(summary.command_status)));
}

void TellDecoded(const RecordSummary& summary, const DecodedCheck& decoded) {
  if (decoded.instructions == summary.instructions) return;
  const std::string why = decoded.first_loss.empty() ? "" : ": " + decoded.first_loss;
  Warn(fmt::format("record: the recording decodes to {} of the {} that the recorder counted{}",
                   decoded.instructions, Counted(summary.instructions, "instruction"), why),
       {"flowback decode --as summary shows what is missing"});
}

void TellJson(const RecordSummary& summary, const RecordOptions& options,
              const RecordComparisons& comparisons, int exit_status) {
  const std::optional<NativeRun>& native = comparisons.native;
  Output output;
  for (const RecordedThread& thread : summary.threads)
    JsonLine(output.buffer())
        .Text("schema", "flowback.record.thread/1")
        .Number("pid", thread.pid)
        .Number("tid", thread.tid)
        .Number("bytes", thread.bytes)
        .Number("count", thread.digest.count)
        .Text("digest", fmt::format("{:016x}", thread.digest.hash))
        .End();
  const auto nanoseconds = [&](std::chrono::nanoseconds NativeRun::* time) {
    return native ? fmt::format("{}", ((*native).*time).count()) : std::string("null");
  };
  const auto slow_down = native ? Ratio(summary.elapsed, native->elapsed) : std::optional<double>();
  const std::string next = NextCommand(summary, options);
  JsonLine(output.buffer())
      .Text("schema", "flowback.record/1")
      .Text("engine", options.engine)
      .Bool("emulated", !summary.events)
      .Text("clock", options.streams.clock == RecordClock::kHost ? "host" : "instructions")
      .Text("output", options.files.output)
      .Number("instructions", summary.instructions)
      .Raw("decoded_instructions",
           comparisons.decoded ? fmt::format("{}", comparisons.decoded->instructions) : "null")
      .Number("bytes", summary.bytes)
      .Number("file_bytes", summary.file_bytes)
      .Number("overwritten_bytes", summary.overwritten_bytes)
      .Raw("overwritten_percent", fmt::format("{:.3f}", OverwrittenPercent(summary)))
      .Number("threads", summary.threads.size())
      .Number("processes", Processes(summary))
      .Number("losses", summary.losses)
      .Number("threads_left_out", summary.threads_left_out)
      .Raw("lost_percent", NothingLost(summary) ? "0" : "null")
      .Text("ended_by", Name(summary.stop_reason))
      .Number("elapsed_ns", summary.elapsed.count())
      .Number("cpu_ns", summary.cpu_time.count())
      .Raw("native_elapsed_ns", nanoseconds(&NativeRun::elapsed))
      .Raw("native_cpu_ns", nanoseconds(&NativeRun::cpu_time))
      .Raw("slow_down", slow_down ? fmt::format("{:.2f}", *slow_down) : "null")
      .Raw("events", EventsJson(summary))
      .Raw("counters", summary.counters.empty() ? "null" : CountersJson(summary.counters).dump())
      .Raw("slow_calls", SlowCallsJson(summary))
      .Number("files", summary.files)
      .Raw("images", ImagesJson(summary))
      .Raw("from", JsonArray(summary.from_places))
      .Raw("until", JsonArray(summary.until_places))
      .Raw("ends", EndsJson(summary))
      .Raw("notes", JsonArray(summary.notes))
      .Raw("unlike_native", UnlikeNativeJson(summary))
      .Number("written_bytes", summary.written_bytes)
      .Raw("error", summary.failure ? JsonText(summary.failure->message()) : "null")
      .Raw("remedy", summary.failure ? JsonText(summary.failure->remedy()) : "null")
      .Raw("reason",
           summary.failure ? std::to_string(StatusOf(summary.failure->code())) : std::string("0"))
      .Raw("next", next.empty() ? "null" : JsonText(next))
      .Number("status", exit_status)
      .End();
}

}  // namespace flowback::cli
