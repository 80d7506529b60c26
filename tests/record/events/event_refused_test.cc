// SPDX-License-Identifier: MIT
// Recording with a kernel that the test plays: all that can be refused.
#include <errno.h>
#include <gtest/gtest.h>

#include "tests/record/events/event_simulated.h"

namespace flowback::record_test {
namespace {

struct Refusal {
  std::string name;
  void (*arrange)(SimulatedKernel& kernel, RecordOptions& options);
  ErrorCode code;
  std::string words;
  std::string remedy;

  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

void Set(SimulatedKernel& kernel, const std::string& file, const std::string& text) {
  kernel.tree().Remove(file);
  kernel.tree().Add(file, text);
}

void Ask(RecordOptions& options, const std::string& words) {
  options.engine = "events";
  options.events.words = {words};
}

template <int kError>
void FailNext(SimulatedKernel& kernel, RecordOptions&) {
  // What an older kernel may not know is left out first, one after the other.
  const int times = kError == EINVAL || kError == E2BIG ? 16 : 1;
  for (int i = 0; i < times; ++i) kernel.FailOpen(kError);
}

template <int kError>
void FailNextMap(SimulatedKernel& kernel, RecordOptions&) {
  for (int i = 0; i < 64; ++i) kernel.FailMap(kError);
}

constexpr const char* kParanoidFile = "/proc/sys/kernel/perf_event_paranoid";

const Refusal kRefusals[] = {
    {"NobodyMay", [](SimulatedKernel& kernel, RecordOptions&) { Set(kernel, kParanoidFile, "3"); },
     ErrorCode::kPermission, "perf_event_paranoid is 3", "perf_event_paranoid=2"},
    {"UbuntusValue",
     [](SimulatedKernel& kernel, RecordOptions&) { Set(kernel, kParanoidFile, "4"); },
     ErrorCode::kPermission, "perf_event_paranoid is 4", "perf_event_paranoid=2"},
    {"TheKernelsPart",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "cpu-clock:k"); },
     ErrorCode::kPermission, "the kernel's part", "u"},
    {"Lockdown",
     [](SimulatedKernel& kernel, RecordOptions&) {
       Set(kernel, "/sys/kernel/security/lockdown", "none integrity [confidentiality]");
     },
     ErrorCode::kPermission, "locked down", "lockdown=confidentiality"},
    {"Seccomp",
     [](SimulatedKernel& kernel, RecordOptions&) {
       kernel.tree().Remove("/proc/self/status");
       kernel.tree().Add("/proc/self/status", "CapEff:\t0000000000000000");
       kernel.tree().Add("/proc/self/status", "Seccomp:\t2");
     },
     ErrorCode::kPermission, "seccomp", "--cap-add=PERFMON"},
    {"NoPerfEvents",
     [](SimulatedKernel& kernel, RecordOptions&) { kernel.tree().Remove(kParanoidFile); },
     ErrorCode::kUnsupported, "built without perf events", "CONFIG_PERF_EVENTS"},
    {"Taken", [](SimulatedKernel& kernel, RecordOptions&) { kernel.trace_is_taken = true; },
     ErrorCode::kBusy, "another program uses the unit", "end the other recording"},
    {"BranchStacksOfSoftware",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "cpu-clock:u");
       options.events.branch_filter = "any,u";
     },
     ErrorCode::kNoHardware, "branch stacks", "leave -b"},
    {"NoBranchStacks",
     [](SimulatedKernel& kernel, RecordOptions& options) {
       kernel.tree().Remove("/sys/bus/event_source/devices/cpu/caps/branches");
       options.engine = "lbr";
     },
     ErrorCode::kNoHardware, "no branch stacks", "--engine emulate"},
    {"TooPrecise",
     [](SimulatedKernel& kernel, RecordOptions& options) {
       Set(kernel, "/sys/bus/event_source/devices/cpu/caps/max_precise", "1");
       Ask(options, "cycles:upp");
     },
     ErrorCode::kNoHardware, "can't do what is asked", "leave -b, -j and p out"},
    {"TooManyBreakpoints",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "mem:1:u,mem:2:u,mem:3:u,mem:4:u,mem:5:u");
     },
     ErrorCode::kBusy, "all counters or breakpoints", "fewer events"},
    {"TooManyFiles", [](SimulatedKernel& kernel, RecordOptions&) { kernel.most_descriptors = 1; },
     ErrorCode::kSystem, "as many open files", "ulimit -n"},
    {"DeadProcess", [](SimulatedKernel&, RecordOptions& options) { options.target.pids = {4711}; },
     ErrorCode::kUsage, "there is no process 4711", "pgrep"},
    {"OfflineCpu",
     [](SimulatedKernel&, RecordOptions& options) {
       options.events.per_thread = false;
       options.events.cpus = "9";
     },
     ErrorCode::kNoHardware, "CPU 9 is not there", "-C"},
    {"NoSuchUnit",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "armv8_pmuv3_0/event=1/u"); },
     ErrorCode::kNoHardware, "no PMU 'armv8_pmuv3_0'", "there are:"},
    {"TooOften",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "cpu-clock:u");
       options.events.frequency = 1'000'000'000;
     },
     ErrorCode::kUnsupported, "perf_event_max_sample_rate is 100000", "-F 100000"},
    {"EachNoTimes",
     [](SimulatedKernel&, RecordOptions& options) {
       Ask(options, "cpu-clock:u");
       options.events.period = 0;
     },
     ErrorCode::kUsage, "-c 0", "-c 100000"},
    {"AnEventTooOften",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "cpu/event=0x3c,freq=100001/u"); },
     ErrorCode::kUnsupported, "perf_event_max_sample_rate is 100000", "-F 100000"},
    {"AnothersProcess", [](SimulatedKernel& kernel, RecordOptions&) { kernel.TakeAway(kProgram); },
     ErrorCode::kPermission, "it is another user's", "sudo"},
    {"AnothersProcessWhereAllElseIsAllowed",
     [](SimulatedKernel& kernel, RecordOptions&) {
       Set(kernel, kParanoidFile, "-1");
       kernel.TakeAway(kProgram);
     },
     ErrorCode::kPermission, "it is another user's", "sudo"},
    // Not of a CPU: of one process, on each of them.
    {"AnothersProcessOnEachCpu",
     [](SimulatedKernel& kernel, RecordOptions& options) {
       Set(kernel, kParanoidFile, "1");
       Ask(options, "cpu-clock/no-inherit/u");
       options.events.per_thread = false;
       kernel.TakeAway(kProgram);
     },
     ErrorCode::kPermission, "it is another user's", "sudo"},
    {"Backwards",
     [](SimulatedKernel&, RecordOptions& options) { Ask(options, "cpu/event=0x3c,overwrite/u"); },
     ErrorCode::kUnsupported, "'overwrite'", "leave it out"},
    {"E2big", FailNext<E2BIG>, ErrorCode::kUnsupported, "older than", "newer terms"},
    {"Einval", FailNext<EINVAL>, ErrorCode::kUnsupported, "combination", "one by one"},
    {"Enoent", FailNext<ENOENT>, ErrorCode::kNoHardware, "no such event", "flowback doctor"},
    {"Enodev", FailNext<ENODEV>, ErrorCode::kNoHardware, "does not have", "flowback doctor"},
    {"Eopnotsupp", FailNext<EOPNOTSUPP>, ErrorCode::kNoHardware, "can't do", "leave -b"},
    {"Emfile", FailNext<EMFILE>, ErrorCode::kSystem, "as many open files", "ulimit -n"},
    {"Enfile", FailNext<ENFILE>, ErrorCode::kSystem, "the system has", "fs.file-max"},
    {"Enospc", FailNext<ENOSPC>, ErrorCode::kBusy, "taken", "fewer events"},
    {"Enomem", FailNext<ENOMEM>, ErrorCode::kSystem, "no memory", "fewer"},
    {"Ebadf", FailNext<EBADF>, ErrorCode::kSystem, "leader", "by themselves"},
    {"Eintr", FailNext<EINTR>, ErrorCode::kSystem, "signal", "again"},
    {"Eoverflow", FailNext<EOVERFLOW>, ErrorCode::kUnsupported, "larger", "less"},
    {"Unknown", FailNext<EXFULL>, ErrorCode::kSystem, "perf_event_open", "flowback doctor"},
    {"LockedMemory", FailNextMap<EPERM>, ErrorCode::kPermission, "perf_event_mlock_kb", "-m"},
    {"MapFails", FailNextMap<EINVAL>, ErrorCode::kSystem, "mmap", "-m"}};

class EventRefused : public EventSimulated, public ::testing::WithParamInterface<Refusal> {};

TEST_P(EventRefused, SaysWhyAndWhatHelps) {
  GetParam().arrange(kernel_, options_);
  kernel_.meanwhile = [] { return false; };
  const auto summary = Run();
  ASSERT_FALSE(summary);
  const Error& error = summary.error();
  EXPECT_EQ(error.code(), GetParam().code) << error.message();
  EXPECT_TRUE(error.message().contains(GetParam().words)) << error.message();
  EXPECT_TRUE(error.remedy().contains(GetParam().remedy)) << error.remedy();
  EXPECT_TRUE(kernel_.events().empty()) << "all are closed";
}

INSTANTIATE_TEST_SUITE_P(All, EventRefused, ::testing::ValuesIn(kRefusals),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace flowback::record_test
