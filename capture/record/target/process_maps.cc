// SPDX-License-Identifier: MIT
#include "capture/record/target/process_maps.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/proc_path.h"

namespace flowback::record {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// Takes the text up to `separator` off the front of `rest`.
std::string_view TakeField(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

bool ParseHex(std::string_view text, uint64_t& out) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// `access` gets what the line says of it: "r-xp".
bool ParseLine(const std::string& line, ExecutableMapping& out, std::string_view& access) {
  std::string_view rest = line;
  const std::string_view begin = TakeField(rest, '-');
  const std::string_view end = TakeField(rest, ' ');
  access = TakeField(rest, ' ');
  const std::string_view offset = TakeField(rest, ' ');
  const std::string_view device = TakeField(rest, ' ');
  const std::string_view inode = TakeField(rest, ' ');
  if (access.size() < 4) return false;
  if (!ParseHex(begin, out.begin) || !ParseHex(end, out.end) || !ParseHex(offset, out.file_offset))
    return false;
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  out.writable = access[1] == 'w';
  out.shared = access[3] == 's';
  out.has_file = inode != "0";
  out.identity = std::string(device) + " " + std::string(inode);
  out.deleted = out.has_file && rest.ends_with(kDeleted);
  if (out.deleted) rest.remove_suffix(kDeleted.size());
  out.path = out.has_file || rest.starts_with("[vdso]") ? std::string(rest) : "//anon";
  return rest != "[vsyscall]";
}

template <class Parse>
std::vector<ExecutableMapping> ReadLines(pid_t pid, Parse parse) {
  std::vector<ExecutableMapping> mappings;
  std::ifstream file(ProcPath(pid, "maps"));
  for (std::string line; std::getline(file, line);)
    if (ExecutableMapping mapping; parse(line, mapping)) mappings.push_back(std::move(mapping));
  return mappings;
}

}  // namespace

bool ParseMapsLine(const std::string& line, ExecutableMapping& out) {
  std::string_view access;
  return ParseLine(line, out, access) && access[2] == 'x';
}

std::vector<ExecutableMapping> ReadExecutableMappings(pid_t pid) {
  return ReadLines(pid, ParseMapsLine);
}

std::vector<ExecutableMapping> ReadMappings(pid_t pid) {
  return ReadLines(pid, [](const std::string& line, ExecutableMapping& out) {
    std::string_view access;
    return ParseLine(line, out, access) && access.substr(0, 3) != "---";
  });
}

std::string ReadComm(pid_t pid, pid_t tid) {
  std::ifstream file(ProcPath(pid, "task/" + std::to_string(tid) + "/comm"));
  std::string comm;
  std::getline(file, comm);
  return comm;
}

bool ThreadLives(pid_t pid, pid_t tid) {
  std::ifstream file(ProcPath(pid, "task/" + std::to_string(tid) + "/stat"));
  std::string line;
  std::getline(file, line);
  // The name before the state may hold anything, parentheses too.
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return false;
  const char state = line[name_end + 2];
  return state != 'Z' && state != 'X';
}

namespace {

// What stands behind `key` in /proc/PID/status; empty when the process is gone.
std::string ReadStatus(pid_t tid, std::string_view key) {
  std::ifstream file(ProcPath(tid, "status"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return {};
}

pid_t ReadStatusNumber(pid_t tid, std::string_view key) {
  const std::string text = ReadStatus(tid, key);
  return text.empty() ? -1 : static_cast<pid_t>(std::atol(text.c_str()));
}

}  // namespace

pid_t ReadThreadGroup(pid_t tid) { return ReadStatusNumber(tid, "Tgid:"); }
pid_t ReadParent(pid_t pid) { return ReadStatusNumber(pid, "PPid:"); }
pid_t ReadTracer(pid_t tid) { return ReadStatusNumber(tid, "TracerPid:"); }

bool IgnoresSignal(pid_t tid, int signal) {
  const auto has = [&](std::string_view key) {
    constexpr int kHex = 16;
    return (std::strtoull(ReadStatus(tid, key).c_str(), nullptr, kHex) >> (signal - 1) & 1) != 0;
  };
  const bool by_default =
      signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
  return by_default ? !has("SigCgt:") : has("SigIgn:");
}

}  // namespace flowback::record
