// SPDX-License-Identifier: MIT
#include "cli/record_report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "cli/json.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "cli/process_ends.h"
#include "cli/record_output.h"
#include "cli/status.h"

namespace flowback::cli {
namespace {

constexpr int kRecorderFailed = 125;
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
  }
  return "";
}

size_t Processes(const RecordSummary& summary) {
  std::set<int32_t> pids;
  for (const RecordedThread& thread : summary.threads) pids.insert(thread.pid);
  return pids.size();
}

// How many times longer the processor worked than it would for the recorded instructions alone, at
// one a tick of its time-stamp counter. Empty where that says nothing: little was executed, or
// the program ran unrecorded for a time.
std::optional<double> SlowDown(const RecordSummary& summary, const RecordOptions& options) {
  if (!options.from.empty() || !options.until.empty()) return std::nullopt;
  // Of a short run most is the emulator's start.
  constexpr std::chrono::milliseconds kLeast(20);
  if (summary.stop_reason != StopReason::kProgramEnded || summary.one_tick_each < kLeast)
    return std::nullopt;
  return static_cast<double>(summary.cpu_time.count()) /
         static_cast<double>(summary.one_tick_each.count());
}

std::string Count(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : (what.ends_with("ss") ? "es" : "s"));
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

// Empty: whoever reads the pipe is what comes next.
std::string NextCommand(const RecordOptions& options) {
  if (options.output_pipe >= 0) return {};
  return "flowback info " + ShellWord(options.output);
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
    const bool own =
        !options.command.empty() && !summary.threads.empty() && end.pid == summary.threads[0].pid;
    Warn(own ? "record: " + text
             : fmt::format("record: process {} ({}) {}", end.pid, end.comm, text));
  }
  if (lines > kMostLines)
    Warn(fmt::format("record: {} more processes were killed: flowback info tells",
                     lines - kMostLines));
}

std::string EndsJson(const RecordSummary& summary) {
  const std::vector<EndPlace> places = FindPlaces(summary.process_ends);
  nlohmann::ordered_json ends = nlohmann::ordered_json::array();
  for (size_t i = 0; i < summary.process_ends.size(); ++i)
    ends.push_back(EndJson(summary.process_ends[i], places[i]));
  return ends.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

bool NothingLost(const RecordSummary& summary) {
  return summary.losses == 0 && summary.threads_left_out == 0;
}

std::string LossText(const RecordSummary& summary) {
  if (NothingLost(summary)) return "0 % lost";
  std::string text = Count(summary.losses, "loss");
  if (summary.threads_left_out != 0)
    text += ", " + Count(summary.threads_left_out, "thread") + " left out";
  return text;
}

double OverwrittenPercent(const RecordSummary& summary) {
  if (summary.bytes == 0) return 0;
  return 100 * static_cast<double>(summary.overwritten_bytes) / static_cast<double>(summary.bytes);
}

// On purpose, so it is not lost; but it is not in the file.
std::string OverwrittenText(const RecordSummary& summary, const RecordOptions& options) {
  if (!options.snapshot_bytes) return {};
  if (summary.overwritten_bytes == 0) return "; nothing overwritten";
  return fmt::format("; {} of {} overwritten ({:.1f} %)", summary.overwritten_bytes,
                     Count(summary.bytes, "trace byte"), OverwrittenPercent(summary));
}

std::string StopText(const RecordSummary& summary) {
  if (summary.stop_reason == StopReason::kProgramEnded) return {};
  if (summary.stop_reason == StopReason::kSignal) return "stopped by a signal; ";
  return fmt::format("stopped by --{}, the program ran on unrecorded; ", Name(summary.stop_reason));
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

void TellText(const RecordSummary& summary, const RecordOptions& options) {
  for (const std::string& note : summary.notes) Warn("record: " + note);
  if (options.snapshot_bytes)
    Warn(fmt::format("record: of each thread's trace the last {} were kept at most",
                     Count(*options.snapshot_bytes, "byte")));
  TellEnds(summary, options);
  const size_t processes = Processes(summary);
  Warn(fmt::format("record: {}{} of {}{} in {:.2f} s, {}{}", StopText(summary),
                   Count(summary.instructions, "instruction"),
                   Count(summary.threads.size(), "thread"),
                   processes > 1 ? " in " + Count(processes, "process") : "",
                   std::chrono::duration<double>(summary.elapsed).count(), LossText(summary),
                   OverwrittenText(summary, options)));
  Warn(fmt::format("record: {} (emulated) in {}, {}",
                   Count(summary.bytes - summary.overwritten_bytes, "trace byte"),
                   OutputName(options), Count(summary.file_bytes, "byte")));
  if (const auto slow_down = SlowDown(summary, options))
    Warn(
        fmt::format("record: some {:.{}f} times slower than native (estimate: native at one "
                    "instruction a cycle)",
                    *slow_down, *slow_down < 10 ? 1 : 0));
  if (const std::string next = NextCommand(options); !next.empty()) Warn("record: next: " + next);
}

void TellJson(const RecordSummary& summary, const RecordOptions& options, int exit_status) {
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
  const auto slow_down = SlowDown(summary, options);
  const std::string next = NextCommand(options);
  JsonLine(output.buffer())
      .Text("schema", "flowback.record/1")
      .Text("engine", options.engine)
      .Bool("emulated", true)
      .Text("clock", options.clock == RecordClock::kHost ? "host" : "instructions")
      .Text("output", options.output)
      .Number("instructions", summary.instructions)
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
      .Raw("slow_down_estimate", slow_down ? fmt::format("{:.2f}", *slow_down) : "null")
      .Raw("from", JsonArray(summary.from_places))
      .Raw("until", JsonArray(summary.until_places))
      .Raw("ends", EndsJson(summary))
      .Raw("notes", JsonArray(summary.notes))
      .Raw("next", next.empty() ? "null" : JsonText(next))
      .Number("status", exit_status)
      .End();
}

}  // namespace flowback::cli
