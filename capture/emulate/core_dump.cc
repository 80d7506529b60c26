// SPDX-License-Identifier: MIT
#include "capture/emulate/core_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace flowback::emulate {
namespace {

constexpr size_t kPage = 4096;

std::string CurrentFolder() {
  char path[4096];
  return getcwd(path, sizeof path) == nullptr ? std::string() : path;
}

record::CoreFacts FactsOfThisProcess(const std::string& comm, const std::string& program) {
  record::CoreFacts facts{.pid = getpid(),
                          .tid = gettid(),
                          .uid = getuid(),
                          .gid = getgid(),
                          .time = std::time(nullptr),
                          .comm = comm,
                          .program = program};
  if (const int cpu = sched_getcpu(); cpu >= 0) facts.cpu = static_cast<unsigned>(cpu);
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) == 0) facts.size_limit = limit.rlim_cur;
  utsname system{};
  if (uname(&system) == 0) facts.host = system.nodename;
  return facts;
}

// The kernel dumps into a plain file of the user's own only.
int OpenAsTheKernel(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return -1;
  struct stat about{};
  if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1 &&
      about.st_uid == geteuid() && ftruncate(descriptor, 0) == 0)
    return descriptor;
  close(descriptor);
  errno = EPERM;
  return -1;
}

}  // namespace

bool CoreDump::IsDump(const char* path, int flags) {
  const std::string_view name(path);
  return (flags & O_CREAT) != 0 && name.starts_with("qemu_") &&
         name.ends_with('_' + std::to_string(getpid()) + ".core");
}

std::string CoreDump::PathFor(int signal) const {
  record::CoreFacts facts = facts_;
  facts.signal = signal;
  // This system pipes dumps to a program, which accepts no file.
  const std::string name = pattern_.is_pipe() ? "core." + std::to_string(facts.pid)
                                              : record::CoreFileName(pattern_, facts);
  return name.starts_with('/') || folder_.empty() ? name : folder_ + '/' + name;
}

int CoreDump::Open(const std::string& comm, const std::string& program) {
  pattern_ = record::ReadCorePattern();
  facts_ = FactsOfThisProcess(comm, program);
  // As the kernel: where not even a page may be written, nothing is.
  if (facts_.size_limit < kPage) {
    errno = E2BIG;
    return -1;
  }
  folder_ = CurrentFolder();
  const std::string path = PathFor(0);
  descriptor_ = OpenAsTheKernel(path);
  if (descriptor_ < 0) return -1;
  path_ = path;
  pid_ = getpid();
  return descriptor_;
}

void CoreDump::Finish(int signal) {
  if (path_.empty()) return;
  const std::string path = PathFor(signal);
  if (path != path_ && rename(path_.c_str(), path.c_str()) == 0) path_ = path;
}

ssize_t CoreDump::Write(int descriptor, const void* bytes, size_t size) {
  const auto* begin = static_cast<const char*>(bytes);
  const bool is_hole = descriptor == descriptor_ && pid_ == getpid() && size == kPage &&
                       std::all_of(begin, begin + size, [](char c) { return c == 0; });
  if (!is_hole) return write(descriptor, bytes, size);
  const off_t end = lseek(descriptor, static_cast<off_t>(size), SEEK_CUR);
  if (end < 0 || ftruncate(descriptor, end) != 0) return -1;
  return static_cast<ssize_t>(size);
}

// A dump that goes to a program is not bound by the limit.
void CoreDump::KeepKernelFromDumping() {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    static_cast<void>(setrlimit(RLIMIT_CORE, &limit));
  }
  static_cast<void>(prctl(PR_SET_DUMPABLE, 0));
}

}  // namespace flowback::emulate
