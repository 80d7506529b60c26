// SPDX-License-Identifier: MIT
#include "cli/text/terminal_session.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "cli/text/terminal.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kNoPager[] = {"", "cat"};

struct TerminalState {
  std::mutex mutex;
  TerminalOptions options;
  bool has_output = false;  // text went to standard output
  bool drawn = false;       // the progress line is there
  bool may_draw = true;
  pid_t pager = 0;
};

TerminalState& TheSession() {
  static TerminalState session;
  return session;
}

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// git's and perf's order; less shows what fits the screen and ends.
std::string PagerCommand() {
  for (const char* name : {"FLOWBACK_PAGER", "PAGER"})
    if (std::getenv(name) != nullptr) return std::string(Environment(name));
  return access("/usr/bin/less", X_OK) == 0 || access("/bin/less", X_OK) == 0 ? "less" : "";
}

[[noreturn]] void BecomePager(const std::string& command, int input) {
  dup2(input, STDIN_FILENO);
  setenv("LESS", "FRX", 0);
  setenv("LV", "-c", 0);
  signal(SIGPIPE, SIG_DFL);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

// Standard output, and error where that is the terminal, go through the pager from now on. Ctrl-C
// is the pager's then: it ends by its user's word, and its end ends the writing.
pid_t StartPager(const std::string& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  const Descriptor read_end(ends[0]), write_end(ends[1]);
  std::fflush(nullptr);
  const pid_t pager = fork();
  if (pager == 0) BecomePager(command, *read_end);
  if (pager < 0) return 0;
  if (IsTerminal(STDERR_FILENO)) dup2(*write_end, STDERR_FILENO);
  dup2(*write_end, STDOUT_FILENO);
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  return pager;
}

void EraseLine(TerminalState& session) {
  if (std::exchange(session.drawn, false)) std::fputs("\r\033[K", stderr);
}

void DrawLine(TerminalState& session, const std::string& text) {
  const std::scoped_lock lock(session.mutex);
  if (!session.may_draw) return;
  session.drawn = true;
  const std::string line = text.substr(0, TerminalWidth(STDERR_FILENO) - 1);
  std::fputs(("\r" + line + "\033[K").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Status BeginTerminalSession(const TerminalOptions& options) {
  if (options.color != "auto" && options.color != "always" && options.color != "never")
    return Fail(Error(ErrorCode::kUsage, "--color: not '" + options.color + "'")
                    .Remedy("--color auto, always or never"));
  TheSession().options = options;
  return {};
}

void EndTerminalSession() {
  TerminalState& session = TheSession();
  const std::scoped_lock lock(session.mutex);
  EraseLine(session);
  if (session.pager == 0) return;
  std::fflush(nullptr);
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  while (waitpid(session.pager, nullptr, 0) < 0 && errno == EINTR) {
  }
  session.pager = 0;
}

bool IsQuiet() { return TheSession().options.quiet; }
bool IsVerbose() { return TheSession().options.verbose; }

bool HasColor(int descriptor) {
  const TerminalState& session = TheSession();
  if (session.options.color != "auto") return session.options.color == "always";
  if (!Environment("NO_COLOR").empty() || Environment("TERM") == "dumb") return false;
  return session.pager != 0 || IsTerminal(descriptor);
}

void BeforeOutput() {
  TerminalState& session = TheSession();
  const std::scoped_lock lock(session.mutex);
  if (std::exchange(session.has_output, true) || !IsTerminal(STDOUT_FILENO)) return;
  EraseLine(session);
  session.may_draw = false;
  if (!session.options.pages) return;
  const std::string command = PagerCommand();
  if (std::ranges::find(kNoPager, command) == std::end(kNoPager))
    session.pager = StartPager(command);
}

void BeforeMessage() {
  TerminalState& session = TheSession();
  const std::scoped_lock lock(session.mutex);
  EraseLine(session);
}

std::string WorkProgressText(const std::string& work, uint64_t total, uint64_t done,
                             double seconds) {
  // libipt does not report its progress.
  if (done == 0 || seconds <= 0) return fmt::format("{}: {:.0f} s", work, seconds);
  const double share =
      std::min(static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1)), 1.0);
  std::string text = fmt::format("{}: {:.0f} %, {:.1f} MB/s", work, 100 * share,
                                 static_cast<double>(done) / seconds / 1e6);
  // The first per cent says little of the others.
  constexpr double kTelling = 0.01;
  if (share >= kTelling) text += fmt::format(", {:.0f} s left", seconds * (1 - share) / share);
  return text;
}

WorkProgress::WorkProgress(std::string work, uint64_t total, const std::atomic<uint64_t>& done) {
  if (!IsTerminal(STDERR_FILENO) || IsQuiet()) return;
  drawer_ = std::jthread([work = std::move(work), total, &done](const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kFirst(1);
    constexpr std::chrono::milliseconds kNext(200);
    const auto begin = Clock::now();
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    const auto stopped = [&] { return stop.stop_requested(); };
    for (auto next = begin + kFirst; !wake.wait_until(lock, stop, next, stopped); next += kNext) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      DrawLine(TheSession(), WorkProgressText(work, total, done.load(), seconds));
    }
  });
}

WorkProgress::~WorkProgress() {
  if (!drawer_.joinable()) return;
  drawer_.request_stop();
  drawer_.join();
  BeforeMessage();
}

}  // namespace flowback::cli
