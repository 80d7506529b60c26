// SPDX-License-Identifier: MIT
#include "capture/record/target/found_core.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/proc_path.h"
#include "capture/record/target/core_pattern.h"
#include "capture/record/target/process_maps.h"
#include "decode/code/core/core_file.h"

namespace flowback::record {
namespace {

constexpr int kDumpSeconds = 60;  // a dump that took longer is not found by its time

std::string LinkIn(pid_t pid, const char* name) {
  char target[4096] = {};
  const std::string link = ProcPath(pid, name);
  return readlink(link.c_str(), target, sizeof target - 1) < 0 ? std::string() : target;
}

CoreFacts FactsOf(pid_t pid, pid_t tid, int signal) {
  CoreFacts facts{.pid = pid,
                  .tid = tid,
                  .signal = signal,
                  .time = std::time(nullptr),
                  .comm = ReadComm(pid, tid),
                  .program = LinkIn(pid, "exe")};
  struct stat about{};
  if (stat(ProcPath(pid).c_str(), &about) == 0) {
    facts.uid = about.st_uid;
    facts.gid = about.st_gid;
  }
  rlimit limit{};
  if (prlimit(pid, RLIMIT_CORE, nullptr, &limit) == 0) facts.size_limit = limit.rlim_cur;
  utsname system{};
  if (uname(&system) == 0) facts.host = system.nodename;
  return facts;
}

struct DumpedNumbers {
  pid_t pid = -1;
  std::vector<int32_t> tids;
};

// Also of a dump that a limit cut.
std::optional<DumpedNumbers> NumbersOf(const std::string& path) {
  std::error_code failed;
  if (path.empty() || !std::filesystem::is_regular_file(path, failed)) return std::nullopt;
  const auto file = MappedFile::Open(path);
  if (!file) return std::nullopt;
  const Result<CoreFile> core = ReadCoreHeaders((*file)->bytes(), path);
  if (!core) return std::nullopt;
  return DumpedNumbers{core->pid, core->tids};
}

}  // namespace

std::string FolderOf(pid_t pid) { return LinkIn(pid, "cwd"); }

std::string FindCore(pid_t pid, pid_t tid, int signal, const std::string& folder) {
  const CorePattern pattern = ReadCorePattern();
  CoreFacts facts = FactsOf(pid, tid, signal);
  std::string last;
  for (int i = 0; i < kDumpSeconds; ++i, --facts.time) {
    std::string path = CoreFileName(pattern, facts);
    if (path.empty()) return {};
    if (!path.starts_with('/') && folder.empty()) return {};
    if (!path.starts_with('/')) path = folder + '/' + path;
    if (path == last) return {};
    // An older file of the name is another death's.
    if (const auto numbers = NumbersOf(path); numbers && numbers->pid == pid) return path;
    last = std::move(path);
  }
  return {};
}

// The kernel dumps it first.
int32_t DumpedThread(const std::string& core) {
  const auto numbers = NumbersOf(core);
  return numbers && !numbers->tids.empty() ? numbers->tids.front() : -1;
}

}  // namespace flowback::record
