// SPDX-License-Identifier: MIT
#include "cli/record/record_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "cli/text/status.h"

namespace flowback::cli {
namespace {

constexpr std::chrono::seconds kFirst(1);

std::string_view LimitName(StopReason reason) {
  if (reason == StopReason::kDuration) return "duration";
  return reason == StopReason::kFileSize ? "max-size" : "max-instructions";
}

// Line by line, as most programs use a terminal: they do not place text on the screen themselves.
bool TerminalIsPlain() {
  termios settings{};
  return tcgetattr(STDERR_FILENO, &settings) == 0 && (settings.c_lflag & ICANON) != 0;
}

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void Write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string ProgressText(const RecordProgress& progress, double bytes_per_second) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(progress.elapsed).count();
  if (!progress.failure.empty())
    return fmt::format("recording failed; the program still runs: {} s", seconds);
  if (progress.complete)
    return fmt::format("recording complete, {:.1f} MB; the program still runs: {} s",
                       static_cast<double>(progress.file_bytes) / 1e6, seconds);
  return fmt::format("recording: {} s, {:.1f} MB/s, {:.1f} million instructions, {} lost{}",
                     seconds, bytes_per_second / 1e6,
                     static_cast<double>(progress.instructions) / 1e6, progress.losses,
                     progress.left_running != 0 ? "; ^C ends it"
                     : progress.interrupted     ? "; ^C again ends it"
                                                : "");
}

std::string RecordAnnouncements::AfterLimit() const {
  if (kills_) return "is asked to end";
  return attached_ ? "runs on unrecorded"
                   : "runs on unrecorded: Ctrl-C ends it, --kill would end it now";
}

std::vector<std::string> RecordAnnouncements::About(const RecordProgress& progress) {
  std::vector<std::string> news;
  if (progress.left_running != 0 && !std::exchange(left_running_, true))
    news.push_back(fmt::format(
        "record: the program has ended; {} still run{}: recording until {} end{}; "
        "Ctrl-C ends the recording",
        progress.left_running == 1 ? "1 process"
                                   : fmt::format("{} processes", progress.left_running),
        progress.left_running == 1 ? "s" : "", progress.left_running == 1 ? "it" : "they",
        progress.left_running == 1 ? "s" : ""));
  if (progress.complete && IsLimit(progress.stop_reason) && !std::exchange(at_limit_, true))
    news.push_back(fmt::format("record: stopped after {:.1f} s by --{}; the program {}",
                               std::chrono::duration<double>(progress.elapsed).count(),
                               LimitName(progress.stop_reason), AfterLimit()));
  if (!progress.failure.empty() && !std::exchange(failed_, true))
    news.push_back(fmt::format("record: {}: tracing has stopped, the program runs on untraced",
                               progress.failure));
  return news;
}

RecordProgressLine::RecordProgressLine()
    : on_(isatty(STDERR_FILENO) == 1), below_(isatty(STDOUT_FILENO) == 1) {}

void RecordProgressLine::Update(const RecordProgress& progress) {
  if (!on_ || progress.elapsed < kFirst) return;
  const double seconds = std::chrono::duration<double>(progress.elapsed - last_time_).count();
  const double rate =
      seconds > 0 ? static_cast<double>(progress.file_bytes - last_bytes_) / seconds : 0;
  last_time_ = progress.elapsed;
  last_bytes_ = progress.file_bytes;
  if (TerminalIsPlain()) Draw(ProgressText(progress, rate));
}

void RecordProgressLine::Draw(const std::string& text) {
  const std::string line = text.substr(0, TerminalWidth() - 1);
  drawn_ = true;
  // Below: down a line and up again, which makes room at the bottom; then draw there and come back.
  if (below_)
    Write("\033D\033M\0337\r\033[1B" + line + "\033[K\0338");
  else
    Write("\r" + line + "\033[K");
}

void RecordProgressLine::Erase() {
  if (!std::exchange(drawn_, false)) return;
  Write(below_ ? "\033D\033M\0337\r\033[1B\033[K\0338" : "\r\033[K");
}

Result<RecordSummary> RecordWithProgress(RecordOptions& options) {
  RecordProgressLine line;
  RecordAnnouncements announcements(options);
  options.on_progress = [&](const RecordProgress& progress) {
    const std::vector<std::string> news = announcements.About(progress);
    if (!news.empty()) line.Erase();
    for (const std::string& text : news) Warn(text);
    line.Update(progress);
  };
  return Record(options);
}

}  // namespace flowback::cli
