// SPDX-License-Identifier: MIT
#include "cli/doctor/doctor_trials.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/child_process.h"
#include "base/descriptor.h"

namespace flowback::cli {
namespace {

// As a user-only recording of one's own program opens it.
Trial OpenEvent(uint32_t type, uint64_t config, uint64_t branches) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  if (branches != 0) {
    attr.sample_period = 1'000'000;
    attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = branches;
  }
  const Descriptor event(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (*event < 0) return {.error = errno};
  return {};
}

struct Ended {
  int status = -1;  // as waitpid gives it
  std::string out;
};

// Reads the program's standard output to its end; a program that hangs is killed.
Ended Run(const std::vector<std::string>& words) {
  constexpr std::chrono::seconds kLimit(20);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  // A recorder that gets SIGTERM ends its command, too.
  const pid_t pid =
      StartChild(words, {.output = ends[1], .end_signal = SIGTERM, .default_signals = {}});
  close(ends[1]);
  Ended ended;
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  char buffer[4096];
  pollfd wait{ends[0], POLLIN, 0};
  while (pid > 0 && std::chrono::steady_clock::now() < limit) {
    if (poll(&wait, 1, 1000) <= 0) continue;
    const ssize_t size = read(ends[0], buffer, sizeof buffer);
    if (size <= 0) break;
    ended.out.append(buffer, static_cast<size_t>(size));
  }
  close(ends[0]);
  if (pid < 0) return ended;
  if (std::chrono::steady_clock::now() >= limit) kill(pid, SIGKILL);
  waitpid(pid, &ended.status, 0);
  return ended;
}

// "qemu-x86_64 version 7.2.22 (Debian ...)" -> "7.2.22"
std::string AskVersion(const std::string& emulator) {
  constexpr std::string_view kBefore = " version ";
  const std::string text = Run({emulator, "--version"}).out;
  const size_t at = text.find(kBefore);
  if (at == std::string::npos) return {};
  const size_t begin = at + kBefore.size();
  return text.substr(begin, text.find_first_of(" \n(", begin) - begin);
}

// The last line of `record --json` has the outcome.
Trial RecordTrue(std::vector<std::string> options) {
  std::vector<std::string> words = {"/proc/self/exe", "record", "--json", "-o", "/dev/null"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "/bin/true"});
  const Ended ended = Run(words);
  const size_t last = ended.out.find_last_of('\n', ended.out.size() - 2);
  const auto result = nlohmann::json::parse(
      last == std::string::npos ? ended.out : ended.out.substr(last + 1), nullptr, false);
  if (!result.is_object()) return {.error = EIO, .text = "it ended without a result"};
  if (result.contains("error") && !result["error"].is_null())
    return {.error = EIO, .text = result.value("error", ""), .remedy = result.value("remedy", "")};
  const auto instructions = result.value("instructions", uint64_t{0});
  if (instructions == 0) return {.error = EIO, .text = "it recorded nothing"};
  return {.text = fmt::format("recorded {} instructions of /bin/true", instructions)};
}

}  // namespace

void TryRecording(HostFacts& facts) {
  facts.trials["software"] = OpenEvent(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0);
  if (facts.pt_type)
    facts.trials["pt"] =
        OpenEvent(static_cast<uint32_t>(std::strtoul(facts.pt_type->c_str(), nullptr, 10)), 0, 0);
  facts.trials["branches"] = OpenEvent(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
                                       PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
  if (!facts.qemu_user.empty()) {
    facts.qemu_version = AskVersion(facts.qemu_user);
    facts.trials["emulate"] = RecordTrue({"--engine", "emulate"});
  }
  if (!facts.short_qemu_user.empty()) facts.short_qemu_version = AskVersion(facts.short_qemu_user);
  facts.trials["step"] = RecordTrue({"--engine", "step", "--max-instructions", "1000"});
}

void ReadTrials(const std::string& root, HostFacts& facts) {
  std::ifstream file(root + "/perf_event_open");
  std::string name;
  for (int error = 0; file >> name >> error;) facts.trials[name] = {.error = error};
}

}  // namespace flowback::cli
