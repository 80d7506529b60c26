// SPDX-License-Identifier: MIT
#include "capture/record/target/attach.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/proc_path.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

// Fields of /proc/ID/stat.
struct TaskState {
  char state = '?';
  pid_t parent = -1;
  unsigned long flags = 0;
};

bool ReadState(pid_t tid, TaskState& out) {
  std::ifstream file(ProcPath(tid, "stat"));
  std::string line;
  std::getline(file, line);
  // The name before the state may hold anything, parentheses too.
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return false;
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  fields >> out.state >> out.parent >> skipped >> skipped >> skipped >> skipped >> out.flags;
  return static_cast<bool>(fields);
}

std::string NameOf(pid_t tid) {
  const std::string comm = ReadComm(tid, tid);
  return std::to_string(tid) + (comm.empty() ? "" : " ('" + comm + "')");
}

Error NoSuch(pid_t id, const char* kind) {
  return Error(ErrorCode::kUsage, std::string("there is no ") + kind + " " + std::to_string(id))
      .Remedy("pgrep -a NAME lists the processes of a name");
}

Error TracedBy(pid_t id, const char* kind, pid_t tracer) {
  return Error(ErrorCode::kBusy, std::string(kind) + " " + NameOf(id) +
                                     " is being traced already, by process " + NameOf(tracer))
      .Remedy("detach or end that one first: only one program at a time can trace another");
}

// Checks the target without trying to attach.
Status CheckTarget(pid_t id, const char* kind, bool as_process) {
  constexpr unsigned long kKernelThread = 0x00200000;  // PF_KTHREAD
  TaskState state;
  const pid_t pid = ReadThreadGroup(id);
  if (id <= 0 || pid < 0 || !ReadState(id, state)) return Fail(NoSuch(id, kind));
  if (as_process && pid != id)
    return Fail(Error(ErrorCode::kUsage, std::to_string(id) + " is a thread of process " +
                                             std::to_string(pid) + ", not a process")
                    .Remedy("-t " + std::to_string(id) + " records that thread, -p " +
                            std::to_string(pid) + " all of the process"));
  if (pid == getpid())
    return Fail(Error(ErrorCode::kUnsupported,
                      std::string(kind) + " " + std::to_string(id) + " is the recorder itself")
                    .Remedy("give another one"));
  if (state.flags & kKernelThread)
    return Fail(
        Error(ErrorCode::kUnsupported, std::string(kind) + " " + NameOf(id) +
                                           " is a thread of the kernel: it has no program to step")
            .Remedy("give a program's process"));
  if (state.state == 'Z' || state.state == 'X')
    return Fail(Error(ErrorCode::kSystem, std::string(kind) + " " + NameOf(id) +
                                              " has ended: it is a zombie that its parent " +
                                              NameOf(state.parent) + " has not waited for")
                    .Remedy("give one that runs"));
  if (const pid_t tracer = ReadTracer(id); tracer > 0) return Fail(TracedBy(id, kind, tracer));
  return {};
}

std::string UserName(uid_t uid) {
  const passwd* user = getpwuid(uid);
  return user != nullptr ? user->pw_name : std::to_string(uid);
}

// PTRACE_SEIZE was refused: by which of the system's rules?
Error Refused(pid_t id, const char* kind, int error) {
  if (const pid_t tracer = ReadTracer(id); tracer > 0) return TracedBy(id, kind, tracer);
  Error result(ErrorCode::kPermission, std::string("can't trace ") + kind + " " + NameOf(id) +
                                           ": ptrace(PTRACE_SEIZE): " + std::strerror(error));
  struct stat owner{};
  const bool known = stat(ProcPath(id).c_str(), &owner) == 0;
  if (known && geteuid() != 0 && owner.st_uid != geteuid())
    return result.Remedy("it belongs to user " + UserName(owner.st_uid) + ": sudo flowback record");
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  const std::string rule =
      "this system restricts ptrace (kernel.yama.ptrace_scope=" + std::to_string(scope) + "): ";
  if (scope == 1)
    return result.Remedy(rule + "sudo sysctl kernel.yama.ptrace_scope=0, or sudo flowback record");
  if (scope == 2) return result.Remedy(rule + "sudo flowback record (CAP_SYS_PTRACE is needed)");
  if (scope == 3) return result.Remedy(rule + "that holds until the next boot");
  return result.Remedy(
      "it may run with more rights than yours (set-user-ID, capabilities): sudo flowback record; "
      "in a container, start that with --cap-add=SYS_PTRACE");
}

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> tids;
  std::error_code error;
  std::filesystem::directory_iterator folder(ProcPath(pid, "task"), error);
  for (; !error && folder != std::filesystem::directory_iterator(); folder.increment(error)) {
    const std::string name = folder->path().filename();
    pid_t tid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc())
      tids.push_back(tid);
  }
  return tids;
}

class Seizer {
 public:
  explicit Seizer(long options) : options_(options) {}

  Status Process(pid_t pid) {
    // Until no new ones come up. New threads of seized ones are seized from their birth.
    size_t before;
    do {
      before = seen_.size();
      for (const pid_t tid : ThreadsOf(pid))
        if (Status done = Thread(pid, tid, pid, "process"); !done) return done;
    } while (seen_.size() != before);
    for (const SeizedThread& thread : seized_)
      if (thread.pid == pid) return {};
    return Fail(NoSuch(pid, "process"));
  }

  // `named` is what the user gave.
  Status Thread(pid_t pid, pid_t tid, pid_t named, const char* kind) {
    if (!seen_.insert(tid).second) return {};
    if (Seize(tid, options_)) {
      seized_.push_back({pid, tid});
      return {};
    }
    const int error = errno;
    if (error == ESRCH || ReadTracer(tid) == gettid() || !ThreadLives(pid, tid)) return {};
    return Fail(Refused(named, kind, error));
  }

  const std::vector<SeizedThread>& seized() const { return seized_; }

 private:
  const long options_;
  std::set<pid_t> seen_;
  std::vector<SeizedThread> seized_;
};

Status SeizeAll(const std::vector<int32_t>& pids, const std::vector<int32_t>& tids,
                Seizer& seizer) {
  for (const int32_t pid : pids)
    if (Status done = seizer.Process(pid); !done) return done;
  for (const int32_t tid : tids) {
    if (Status done = seizer.Thread(ReadThreadGroup(tid), tid, tid, "thread"); !done) return done;
  }
  if (seizer.seized().empty()) return Fail(NoSuch(tids.empty() ? 0 : tids[0], "thread"));
  return {};
}

}  // namespace

Result<std::vector<SeizedThread>> SeizeThreads(const std::vector<int32_t>& pids,
                                               const std::vector<int32_t>& tids,
                                               long ptrace_options) {
  for (const int32_t pid : pids)
    if (Status fit = CheckTarget(pid, "process", true); !fit) return Fail(std::move(fit.error()));
  for (const int32_t tid : tids)
    if (Status fit = CheckTarget(tid, "thread", false); !fit) return Fail(std::move(fit.error()));
  Seizer seizer(ptrace_options);
  const Status seized = SeizeAll(pids, tids, seizer);
  for (const SeizedThread& thread : seizer.seized()) Interrupt(thread.tid);
  if (seized) return seizer.seized();
  ReleaseAll();
  return Fail(seized.error());
}

void ReleaseAll() {
  while (true) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (tid < 0 && errno == EINTR) continue;
    if (tid < 0) return;
    if (!WIFSTOPPED(status)) continue;
    const bool signal = status >> 16 == 0;  // on its way to the thread
    Detach(tid, signal ? WSTOPSIG(status) : 0);
  }
}

}  // namespace flowback::record
