// SPDX-License-Identifier: MIT
#include "capture/self/recorder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>

namespace flowback::self {
namespace {

using Clock = std::chrono::steady_clock;

// An answer takes the recorder a round of its buffers; its start, which answers as well, a moment
// for each thread; its end a disk's time.
constexpr int kPatienceMilliseconds = 60'000;
constexpr int kSocket = 3;  // in the recorder

struct Program {
  const char* path;
  char* const* arguments;
  char* const* environment;
  int socket, messages;
};

// Nothing here may allocate or lock: other threads may have held what they held.
[[noreturn]] void BecomeRecorder(const Program& program) {
  setsid();  // the terminal's Ctrl-C is the program's
  const int nothing = open("/dev/null", O_RDWR);
  // Behind the numbers that they get, so that none takes another's place.
  const int socket = fcntl(program.socket, F_DUPFD, kSocket + 1);
  const int messages = fcntl(program.messages, F_DUPFD, kSocket + 1);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(messages, STDERR_FILENO);
  dup2(socket, kSocket);
  // A pipe of the program's would not end as long as the recorder had it.
  if (syscall(SYS_close_range, kSocket + 1, ~0u, 0) != 0)
    for (int number = kSocket + 1; number < 1024; ++number) close(number);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(program.path, program.arguments, program.environment);
  dprintf(STDERR_FILENO, "can't run '%s': %s", program.path, std::strerror(errno));
  _exit(127);
}

// Makes a process that reports its end to no one, without what fork would call in other libraries.
pid_t MakeQuietly(unsigned long signal_at_end) {
  return static_cast<pid_t>(syscall(SYS_clone, signal_at_end, 0, 0, 0, 0));
}

// False: errno says why.
bool MakeRecorder(const Program& program) {
  const pid_t between = MakeQuietly(0);
  if (between < 0) return false;
  if (between == 0) {
    const pid_t recorder = MakeQuietly(SIGCHLD);
    if (recorder == 0) BecomeRecorder(program);
    _exit(recorder < 0 ? errno : 0);
  }
  int status = 0;
  while (waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {
  }
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
  return errno == 0;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Returns this process's environment, but switches FLOWBACK_SELF off: a library loaded into every
// program may start a recorder itself.
std::vector<std::string> EnvironmentOfRecorder() {
  std::vector<std::string> variables = {"FLOWBACK_SELF=off"};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "FLOWBACK_SELF=", 14) != 0) variables.emplace_back(*variable);
  return variables;
}

std::string SystemsWords(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

std::optional<RecorderProcess> RecorderProcess::Start(const std::string& program,
                                                      std::vector<std::string> arguments,
                                                      std::string& why) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    why = SystemsWords("can't make a socket for the recorder");
    return std::nullopt;
  }
  RecorderProcess recorder(Descriptor(pair[0]),
                           Descriptor(memfd_create("flowback-messages", MFD_CLOEXEC)));
  Descriptor its_end(pair[1]);
  if (*recorder.messages_ < 0) {
    why = SystemsWords("can't make memory for the recorder's messages");
    return std::nullopt;
  }
  const std::string number = std::to_string(kSocket);
  const std::vector<std::string> control = {program, "record", "--control",
                                            "fd:" + number + "," + number};
  arguments.insert(arguments.begin(), control.begin(), control.end());
  std::vector<std::string> variables = EnvironmentOfRecorder();
  const std::vector<char*> words = Pointers(arguments), environment = Pointers(variables);
  if (!MakeRecorder(
          {program.c_str(), words.data(), environment.data(), *its_end, *recorder.messages_})) {
    why = SystemsWords("can't make a process for the recorder");
    return std::nullopt;
  }
  its_end.Close();  // the recorder's is the only one: where it ends, so does what comes
  if (!recorder.Ask("ping", why)) return std::nullopt;
  return recorder;
}

RecorderProcess::Heard RecorderProcess::ReadLine(std::string& line) {
  const auto due = Clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
  for (;;) {
    if (const size_t end = heard_.find('\n'); end != std::string::npos) {
      line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return Heard::kLine;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
    if (left <= 0) return Heard::kTooLate;
    pollfd ready{*socket_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(left)) <= 0) continue;
    char bytes[4096];
    const ssize_t got = recv(*socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Heard::kEnd;
    heard_.append(bytes, static_cast<size_t>(got));
  }
}

bool RecorderProcess::Ask(const std::string& command, std::string& why,
                          std::vector<std::string>* lines) {
  const std::string text = command + "\n";
  Heard heard = Heard::kEnd;
  std::string line;
  if (send(*socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()))
    while ((heard = ReadLine(line)) == Heard::kLine) {
      if (line == "ack") return true;
      constexpr std::string_view kError = "error: ";
      if (line.starts_with(kError)) {
        why = line.substr(kError.size());
        return false;
      }
      if (lines != nullptr) lines->push_back(line);
    }
  runs_ = false;
  why = heard == Heard::kEnd ? LastWords() : "the recorder does not answer '" + command + "'";
  return false;
}

bool RecorderProcess::End(std::string& why) {
  // It may be at its end already, for its output is full.
  const bool asked = Ask("stop", why);
  runs_ = false;
  if (!asked) return false;
  std::string line;
  for (;;) {
    const Heard heard = ReadLine(line);
    if (heard == Heard::kLine) continue;
    if (heard == Heard::kEnd) return true;
    why = "the recorder does not end";
    return false;
  }
}

// Returns its messages in one line.
std::string RecorderProcess::LastWords() const {
  char bytes[8192];
  const ssize_t got = pread(*messages_, bytes, sizeof bytes, 0);
  std::string words;
  for (const char byte : std::string_view(bytes, got < 0 ? 0 : static_cast<size_t>(got))) {
    const bool begins = words.empty() || words.ends_with("; ");
    if (byte != '\n' && !(byte == ' ' && begins))
      words += byte;
    else if (byte == '\n' && !begins)
      words += "; ";
  }
  while (words.ends_with(' ') || words.ends_with(';')) words.pop_back();
  return words.empty() ? "the recorder ended" : words;
}

}  // namespace flowback::self
