// SPDX-License-Identifier: MIT
#include "capture/record/events/event_errors.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace flowback::record {
namespace {

struct OpenError {
  kernel::Errno error;
  ErrorCode code;
  const char* meaning;
  const char* remedy;
};
constexpr OpenError kOpenErrors[] = {
#define FLOWBACK_OPEN_ERROR(number, kind, meaning, remedy) \
  {number, ErrorCode::kind, meaning, remedy},
#include "capture/record/events/event_errors.def"
#undef FLOWBACK_OPEN_ERROR
};

constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";
constexpr const char* kLockdown = "/sys/kernel/security/lockdown";
constexpr const char* kMlock = "/proc/sys/kernel/perf_event_mlock_kb";
constexpr unsigned kPerfmon = 38;  // bits of linux/capability.h
constexpr unsigned kSysAdmin = 21;

// "CapEff:\t0000004000000000"
bool IsPrivileged(const kernel::SystemKernel& kernel) {
  const std::string status = kernel.ReadFile("/proc/self/status").value_or("");
  const size_t at = status.find("CapEff:");
  if (at == std::string::npos) return false;
  const uint64_t mask = std::strtoull(status.c_str() + at + 7, nullptr, 16);
  return (mask >> kPerfmon & 1) != 0 || (mask >> kSysAdmin & 1) != 0;
}

bool IsFiltered(const kernel::SystemKernel& kernel) {
  return kernel.ReadFile("/proc/self/status").value_or("").contains("Seccomp:\t2");
}

struct Reason {
  std::string why;
  std::string remedy;
};

Reason ForbiddenByParanoid(const kernel::PlannedEvent& event, int64_t paranoid, bool of_cpu) {
  if (event.wanted.is_probe)
    return {"probes of user code take CAP_PERFMON or CAP_SYS_ADMIN, which are missing",
            "sudo flowback record ...; or -S SIZE, and SIGUSR2 to flowback when it happens"};
  const std::string found =
      "perf_event_paranoid is " + std::to_string(paranoid) + " and CAP_PERFMON is missing";
  const std::string allow = "sudo sysctl kernel.perf_event_paranoid=";
  if (paranoid > 2)
    return {
        found + ": on this system (Debian's and Ubuntu's values 3 and 4) nobody may open events",
        allow + "2, or sudo setcap cap_perfmon=ep on flowback"};
  if (of_cpu && paranoid > 0)
    return {found + ": other users' programs may not be recorded",
            allow + "0, or leave -a and -C out"};
  if (event.wanted.is_tracepoint() && paranoid > -1)
    return {found + ": tracepoints may not be recorded", allow + "-1"};
  if (paranoid == 2 && !event.attr.exclude_kernel)
    return {found + ": the kernel's part may not be recorded",
            "add u: -e " + event.wanted.name + ":u"};
  return {
      "this user may not look into the process: it is another user's or has more rights, and "
      "CAP_PERFMON and CAP_SYS_PTRACE are missing",
      "sudo flowback record ..., or record a process of one's own"};
}

// What the machine's settings say of a refusal; empty: nothing.
std::optional<Reason> Forbidden(const kernel::PlannedEvent& event, bool of_cpu,
                                const kernel::SystemKernel& kernel) {
  const auto paranoid = ReadNumber(kernel, kParanoid);
  const bool privileged = IsPrivileged(kernel);
  const std::string lockdown = ReadLine(kernel, kLockdown).value_or("");
  if (IsFiltered(kernel))
    return Reason{"a seccomp filter is set, as containers have it",
                  "start the container with --cap-add=PERFMON --security-opt seccomp=unconfined"};
  if (lockdown.contains("[confidentiality]"))
    return Reason{"the kernel is locked down (lockdown is confidentiality)",
                  "boot without lockdown=confidentiality (Secure Boot may set it)"};
  if (!privileged && paranoid) return ForbiddenByParanoid(event, *paranoid, of_cpu);
  return std::nullopt;
}

std::string Name(kernel::Errno error) { return std::strerror(error); }

}  // namespace

Error CannotOpen(const kernel::PlannedEvent& event, OpenedWhere where, kernel::Errno error,
                 const kernel::SystemKernel& kernel) {
  std::string what = "can't open the event '" + event.wanted.name + "'";
  if (where.cpu >= 0) what += " on CPU " + std::to_string(where.cpu);
  what += ": perf_event_open: " + Name(error);
  if (error == EACCES || error == EPERM)
    if (const auto reason = Forbidden(event, where.of_cpus, kernel))
      return Error(ErrorCode::kPermission, what + ": " + reason->why).Remedy(reason->remedy);
  if (kernel::AuxActionOf(event.attr) != 0 &&
      (error == EINVAL || error == E2BIG || error == EOPNOTSUPP))
    return Error(ErrorCode::kUnsupported,
                 what +
                     ": pausing a trace (aux-action) takes Linux 6.13 and a trace that leads "
                     "the group")
        .Remedy("leave aux-action out; -S SIZE keeps the latest trace, --filter a part");
  const auto known = std::ranges::find(kOpenErrors, error, &OpenError::error);
  if (known == std::end(kOpenErrors))
    return Error(ErrorCode::kSystem, what).Remedy("flowback doctor shows what can be recorded");
  return Error(known->code, what + ": " + known->meaning).Remedy(known->remedy);
}

Error CannotMap(kernel::Errno error, uint64_t bytes, uint64_t buffers,
                const kernel::SystemKernel& kernel) {
  const std::string what = "can't map " + std::to_string(buffers) + " event buffers of " +
                           std::to_string(bytes >> 10) + " KiB: mmap: " + Name(error);
  if (error == EPERM) {
    const auto allowed = ReadNumber(kernel, kMlock);
    return Error(ErrorCode::kPermission,
                 what + ": " + std::to_string(buffers * bytes >> 10) +
                     " KiB are more than perf_event_mlock_kb (" +
                     (allowed ? std::to_string(*allowed) + " KiB for each CPU" : "unknown") +
                     ") and RLIMIT_MEMLOCK allow")
        .Remedy("smaller buffers (-m 64,64), or sudo sysctl kernel.perf_event_mlock_kb=65536");
  }
  return Error(ErrorCode::kSystem, what).Remedy("smaller buffers: -m 64,64");
}

}  // namespace flowback::record
