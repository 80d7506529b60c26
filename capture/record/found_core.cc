// SPDX-License-Identifier: MIT
#include "capture/record/found_core.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

#include "capture/record/core_pattern.h"
#include "capture/record/process_maps.h"

namespace flowback::record {
namespace {

constexpr int kDumpSeconds = 60;  // a dump that took longer is not found by its time

std::string LinkIn(pid_t pid, const char* name) {
  char target[4096] = {};
  const std::string link = "/proc/" + std::to_string(pid) + "/" + name;
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
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &about) == 0) {
    facts.uid = about.st_uid;
    facts.gid = about.st_gid;
  }
  rlimit limit{};
  if (prlimit(pid, RLIMIT_CORE, nullptr, &limit) == 0) facts.size_limit = limit.rlim_cur;
  utsname system{};
  if (uname(&system) == 0) facts.host = system.nodename;
  return facts;
}

}  // namespace

std::string FolderOf(pid_t pid) { return LinkIn(pid, "cwd"); }

std::string FindCore(pid_t pid, pid_t tid, int signal, const std::string& folder) {
  const CorePattern pattern = ReadCorePattern();
  CoreFacts facts = FactsOf(pid, tid, signal);
  for (int i = 0; i < kDumpSeconds; ++i, --facts.time) {
    std::string path = CoreFileName(pattern, facts);
    if (path.empty()) return {};
    if (!path.starts_with('/') && folder.empty()) return {};
    if (!path.starts_with('/')) path = folder + '/' + path;
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return {};
}

}  // namespace flowback::record
