// SPDX-License-Identifier: MIT
// A thousand random commands at recordings of all kinds: hardware's, with losses, of several
// processes, of samples, of 32-bit and AArch64 programs. The listing of the flow says where each
// must lead.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/cli/run_program.h"
#include "tests/debug/opened_machine.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

constexpr int kCommands = 1'000;

struct Shared {
  std::string name;
  std::string file;
  std::string image;  // or symfs, of those that are generated
  friend std::ostream& operator<<(std::ostream& out, const Shared& shared) {
    return out << shared.name;
  }
};

std::vector<Shared> AllShared() {
  std::vector<Shared> all = {
      {"control_flow", "intel-pt/hase-2018-04-04/control_flow-20180404T163033.perf",
       "intel-pt/hase-2018-04-04/control_flow"},
      {"loopy", "intel-pt/hase-2018-04-04/loopy-20180404T162955.perf",
       "intel-pt/hase-2018-04-04/loopy"},
      {"lldb", "intel-pt/lldb/intelpt-trace/trace.json", ""},
      {"lldb_no_loader", "intel-pt/lldb/intelpt-trace-multi-file/multi-file-no-ld.json", ""},
      {"lbr_haswell",
       "branch-stack/autofdo-hierdisc-haswell/hierarchical_discriminator_test.x86_64.perf.data",
       "branch-stack/autofdo-hierdisc-haswell/hierarchical_discriminator_test.x86_64"},
      {"lbr_client", "branch-stack/simpleperf-lbr/perf_lbr.data",
       "branch-stack/simpleperf-lbr/lbr_test_loop"},
      {"lbr_old", "branch-stack/simpleperf-perf_b/perf_b.data",
       "branch-stack/simpleperf-perf_b/elf"},
      {"lbr_twice", "branch-stack/autofdo-propeller-sample1-skx-a/propeller_sample_1.perfdata1",
       "branch-stack/autofdo-propeller-sample1-skx-a/propeller_sample_1.bin"}};
  for (const std::string name : {"hello", "strings", "forks", "jit", "traps", "crash"})
    all.push_back({name, "generated/" + name + "/perf.data", "generated/images"});
  return all;
}

class SharedMachine : public ::testing::TestWithParam<Shared> {};

TEST_P(SharedMachine, GoesWhereTheListingSays) {
  FLOWBACK_NEEDS_TRACES();
  const std::filesystem::path traces = golden::TracesFolder();
  SessionOptions options;
  options.open.input = traces / GetParam().file;
  if (GetParam().image == "generated/images")
    options.search.symfs = traces / GetParam().image;
  else if (!GetParam().image.empty())
    options.open.images.push_back({traces / GetParam().image, {}});
  listed::Opened opened(options);
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(opened.Judge(11, kCommands), 20u);
}

INSTANTIATE_TEST_SUITE_P(Traces, SharedMachine, ::testing::ValuesIn(AllShared()),
                         [](const auto& which) { return which.param.name; });

constexpr char kProgram[] = R"(
static volatile int seen;
__attribute__((noinline)) static int part(int n) { return n == 0 ? 0 : n + part(n - 1); }
void _start(void) {
  for (int i = 0; i < 9; ++i) {
    seen += part(i);
    CALL(20);
  }
  CALL(1);
  __builtin_unreachable();
}
)";

struct Made {
  std::string name;
  std::string compiler;  // and its options
  std::string call;      // of the system, a macro's text
  std::string recorder;
  friend std::ostream& operator<<(std::ostream& out, const Made& made) { return out << made.name; }
};

class MadeMachine : public ::testing::TestWithParam<Made> {};

TEST_P(MadeMachine, GoesWhereTheListingSays) {
  FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  if (EmulatorPlugin().empty()) GTEST_SKIP() << "this build can't record by emulation";
  test::ScratchFolder folder;
  folder.Write("bare.c", "#define CALL(n) __asm__ volatile(" + GetParam().call + ")\n" + kProgram);
  const test::ProgramResult compiled = test::RunShell(
      folder, GetParam().compiler +
                  " -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector bare.c -o program");
  if (compiled.status != 0) GTEST_SKIP() << "this machine makes no such programs: " << compiled.err;
  const test::ProgramResult recorded =
      test::RunShell(folder, "$F record -q " + GetParam().recorder + " -o recording -- ./program");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  SessionOptions options;
  options.open.input = folder.path() + "/recording";
  listed::Opened opened(options);
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(opened.Judge(13, kCommands), 100u);
}

constexpr char kInt80[] = R"("int $0x80" : : "a"(n), "b"(0) : "memory")";
constexpr char kSvc[] =
    R"("mov x8, %0; mov x0, 0; svc 0" : : "r"((n) == 1 ? 93l : 172l) : "x0", "x8", "memory")";

INSTANTIATE_TEST_SUITE_P(
    Machines, MadeMachine,
    ::testing::Values(Made{"i386", "gcc -m32", kInt80, "--engine emulate"},
                      Made{"i386_stacks", "gcc -m32", kInt80, "--engine emulate -b"},
                      Made{"aarch64", "aarch64-linux-gnu-gcc", kSvc, "--engine emulate"}),
    [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace flowback
