// SPDX-License-Identifier: MIT
#include "tests/cli/run_program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/places.h"

namespace flowback::test {
namespace {

// Shorter than ctest's for the test, so that the test can say what did not end.
std::chrono::seconds Limit() { return std::chrono::seconds(ProgramIsSanitized() ? 300 : 60); }

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
  void Close(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

[[noreturn]] void BecomeProgram(const std::vector<std::string>& words, const RunOptions& options,
                                const Pipe& out, const Pipe& err) {
  std::string program = ProgramFile();
  std::vector<char*> arguments = {program.data()};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A group of its own, to be killed with what it starts; and none outlives the test.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.memory_mib != 0 && !ProgramIsSanitized()) {
    const rlimit limit{options.memory_mib << 20, options.memory_mib << 20};
    setrlimit(RLIMIT_AS, &limit);
  }
  signal(SIGPIPE, SIG_DFL);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out.ends[1], STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(111);
  if (options.obey_permissions && geteuid() == 0) {
    for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH})
      if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) _exit(112);
  }
  execv(program.c_str(), arguments.data());
  _exit(113);
}

// Reads what is there; closes the pipe at its end or behind `limit` bytes.
void Drain(Pipe& pipe, std::string& text, size_t limit) {
  char buffer[65536];
  const ssize_t size = read(pipe.ends[0], buffer, sizeof buffer);
  if (size < 0 && errno == EINTR) return;
  if (size > 0) text.append(buffer, static_cast<size_t>(size));
  if (size <= 0 || (limit != 0 && text.size() >= limit)) pipe.Close(0);
}

}  // namespace

ProgramResult RunFlowback(const std::vector<std::string>& words, const RunOptions& options) {
  Pipe out;
  Pipe err;
  const pid_t child = fork();
  if (child == 0) BecomeProgram(words, options, out, err);
  setpgid(child, child);
  out.Close(1);
  err.Close(1);
  ProgramResult result;
  const auto end = std::chrono::steady_clock::now() + Limit();
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    pollfd waits[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    poll(waits, 2, 1000);
    if (waits[0].revents != 0) Drain(out, result.out, options.close_output_after);
    if (waits[1].revents != 0) Drain(err, result.err, 0);
    if (std::chrono::steady_clock::now() <= end) continue;
    result.timed_out = true;
    break;
  }
  // Where it has closed its output, it may yet go on for as long.
  int status = 0;
  while (!result.timed_out && waitpid(child, &status, WNOHANG) == 0) {
    result.timed_out = std::chrono::steady_clock::now() > end;
    usleep(1000);
  }
  if (result.timed_out) {
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result;
}

std::vector<std::string> Lines(const std::string& text, bool comments) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (comments || !line.starts_with('#')) lines.push_back(line);
  return lines;
}

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "flowback-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::Write(const std::string& name, const std::string& content) const {
  const std::filesystem::path path = File(name);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string WithoutGroups(const std::string& text) {
  const auto is_digit = [&text](size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != ',' || i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) result += text[i];
  return result;
}

ProgramResult RunShell(const ScratchFolder& folder, const std::string& line) {
  const std::string script = folder.Write("script", "F=" + ProgramFile() + "\n" + line + "\n");
  const std::string out = folder.File("out");
  const std::string err = folder.File("err");
  const std::string command = "cd " + folder.path() + " && TMPDIR=" + folder.path() + " timeout " +
                              std::to_string(Limit().count()) + " bash " + script + " >" + out +
                              " 2>" + err;
  const int status = std::system(command.c_str());
  ProgramResult result{.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                       .out = ReadFile(out),
                       .err = ReadFile(err)};
  result.timed_out = result.status == 124;
  return result;
}

}  // namespace flowback::test
