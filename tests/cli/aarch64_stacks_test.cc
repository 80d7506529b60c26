// SPDX-License-Identifier: MIT
// Branch stacks of AArch64 programs through the commands. Judge: QEMU's own log of a program's
// instructions (-d exec with one instruction a block), from which the stacks are made as BRBE
// hands them out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool Have(const char* program) {
  return std::system(("command -v " + std::string(program) + " >/dev/null 2>&1").c_str()) == 0;
}

#define FLOWBACK_NEEDS_AARCH64()                                           \
  for (const char* program : {"aarch64-linux-gnu-gcc", "qemu-aarch64"})    \
    if (!Have(program))                                                    \
  GTEST_SKIP() << program << " is absent: install gcc-aarch64-linux-gnu, " \
               << "libc6-dev-arm64-cross and qemu-user"

// Calls, returns, an indirect call, a switch, system calls, a library that formats numbers.
constexpr const char* kProgram = R"(
#include <stdio.h>
#include <stdlib.h>
static int Add(int a, int b) { return a + b; }
static int Sub(int a, int b) { return a - b; }
int (*volatile operations[])(int, int) = {Add, Sub};
__attribute__((noinline)) int Choose(int n) {
  switch (n % 6) {
    case 0: return n + 3;
    case 1: return n * 5;
    case 2: return n ^ 77;
    case 3: return puts("three");
    case 4: return -n;
    default: return n / 3;
  }
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 40; ++i) sum = operations[i & 1](sum, Choose(i));
  printf("%d %s\n", sum, getenv("NOWHERE") ? "set" : "not set");
  return 0;
}
)";

struct Segment {
  uint64_t address, offset, size;
};

// Where the code of a 64-bit little-endian executable lies.
std::vector<Segment> CodeOf(const std::vector<uint8_t>& file) {
  const auto number = [&](size_t at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;) value = value << 8 | file[at + i];
    return value;
  };
  std::vector<Segment> code;
  const uint64_t headers = number(32, 8);
  for (uint64_t i = 0; i < number(56, 2); ++i) {
    const uint64_t at = headers + i * number(54, 2);
    if (number(at, 4) == 1 && (number(at + 4, 4) & 1) != 0)
      code.push_back({number(at + 16, 8), number(at + 8, 8), number(at + 32, 8)});
  }
  return code;
}

class AArch64Program : public ::testing::Test {
 protected:
  // False: the tools refused, with a printed reason.
  bool MakeAndLog() {
    program_ = folder_.File("root/program");
    fs::create_directories(folder_.File("root"));
    std::ofstream(folder_.File("program.c")) << kProgram;
    const std::string log = folder_.File("log");
    const std::string commands =
        "aarch64-linux-gnu-gcc -O2 -static -g -o " + program_ + " " + folder_.File("program.c") +
        " && env -i PATH=\"$PATH\" qemu-aarch64 -seed 0 -singlestep -d exec,nochain -D " + log +
        " " + program_ + " | cat >/dev/null";
    if (std::system(commands.c_str()) != 0) return false;
    std::ifstream program(program_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(program), {});
    segments_ = CodeOf(bytes_);
    // "Trace 0: 0x7f... [00000000/0000000000400580/00000110/ff000201] name"
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);)
      if (const size_t at = line.find('/'); line.starts_with("Trace") && at != line.npos)
        executed_.push_back(std::stoull(line.substr(at + 1), nullptr, 16));
    return executed_.size() > 1000;
  }

  uint32_t WordAt(uint64_t address) const {
    for (const Segment& segment : segments_)
      if (address - segment.address < segment.size) {
        const uint8_t* at = &bytes_[segment.offset + (address - segment.address)];
        return uint32_t{at[0]} | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 |
               uint32_t{at[3]} << 24;
      }
    return 0;
  }

  // B, BL, BR, BLR, RET: also where they lead to the next instruction.
  static bool IsAlwaysTaken(uint32_t word) {
    return (word & 0x7c000000) == 0x14000000 || word >> 25 == 0x6b;
  }

  struct Entry {
    uint64_t from, to;
    const char* kind;
    size_t position;  // in the log: of the source, or of the target where there is none
  };
  // What BRBE records of user code: branches that were taken, ways into the kernel and out of it.
  std::vector<Entry> Entries() const {
    std::vector<Entry> entries;
    for (size_t i = 0; i + 1 < executed_.size(); ++i) {
      const uint64_t from = executed_[i], to = executed_[i + 1];
      if ((WordAt(from) & 0xffe0001f) == 0xd4000001) {
        entries.push_back({from, 0, "SYSCALL", i});
        entries.push_back({0, to, "ERET", i + 1});
      } else if (to != from + 4 || IsAlwaysTaken(WordAt(from))) {
        entries.push_back({from, to, "", i});
      }
    }
    return entries;
  }

  std::string Mappings() const {
    std::string text;
    for (const Segment& segment : segments_) {
      char line[128];
      const uint64_t skipped = segment.address % 4096;
      std::snprintf(line, sizeof line,
                    "PERF_RECORD_MMAP2 42/42: [0x%llx(0x%llx) @ 0x%llx 00:00 0 0]: r-xp ",
                    static_cast<unsigned long long>(segment.address - skipped),
                    static_cast<unsigned long long>(segment.size + skipped),
                    static_cast<unsigned long long>(segment.offset - skipped));
      text += line + std::string("/program\n");
    }
    return text;
  }

  // A line for each stack of `depth` entries; what these prove is put into `proven`.
  std::string Stacks(size_t depth, std::vector<uint64_t>& proven) const {
    const std::vector<Entry> entries = Entries();
    std::string text;
    for (size_t begin = 0; begin < entries.size(); begin += depth) {
      const size_t end = std::min(begin + depth, entries.size());
      text += " " + Hex(executed_[entries[end - 1].position]).substr(2);
      for (size_t i = end; i-- > begin;)
        text += " " + Hex(entries[i].from) + "/" + Hex(entries[i].to) + "/-/-/-/0/" +
                entries[i].kind + "/-";
      text += "\n";
      size_t first = entries[begin].position;
      size_t last = entries[end - 1].position;
      if (entries[end - 1].from == 0) --last;
      for (size_t i = first; i <= last; ++i) proven.push_back(executed_[i]);
    }
    return text;
  }
  static std::string Hex(uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
    return text;
  }

  ProgramResult Run(std::vector<std::string> words, const std::string& input) const {
    words.insert(words.end(), {"--no-cache", "--symfs", folder_.File("root"), input});
    return RunFlowback(words);
  }

  ScratchFolder folder_;
  std::string program_;
  std::vector<uint8_t> bytes_;
  std::vector<Segment> segments_;
  std::vector<uint64_t> executed_;
};

std::vector<uint64_t> AddressesIn(const std::string& text) {
  std::vector<uint64_t> addresses;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    if (text[begin] != '#')
      addresses.push_back(std::stoull(text.substr(begin, end - begin), nullptr, 16));
  return addresses;
}

TEST_F(AArch64Program, StacksBecomeWhatQemuLogged) {
  FLOWBACK_NEEDS_AARCH64();
  ASSERT_TRUE(MakeAndLog());
  for (const size_t depth : {1, 7, 32}) {
    std::vector<uint64_t> proven;
    const std::string input = folder_.Write("stacks.txt", Mappings() + Stacks(depth, proven));
    const ProgramResult result = Run({"decode", "--as", "instructions", "-F", "ip"}, input);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(AddressesIn(result.out), proven) << depth;
    const json info = json::parse(Run({"info", "--json"}, input).out);
    EXPECT_TRUE(info["losses"].empty()) << info["losses"];
    uint64_t decoded = 0;
    for (const json& stream : info["streams"]) decoded += stream["bytes_decoded"].get<uint64_t>();
    EXPECT_EQ(decoded, Entries().size());
  }
}

TEST_F(AArch64Program, EveryCommandTakesThem) {
  FLOWBACK_NEEDS_AARCH64();
  ASSERT_TRUE(MakeAndLog());
  std::vector<uint64_t> proven;
  const std::string input = folder_.Write("stacks.txt", Mappings() + Stacks(32, proven));
  const std::string text = Run({"decode", "--as", "instructions"}, input).out;
  EXPECT_TRUE(text.contains(" Choose+0x")) << text.substr(0, 2000);
  EXPECT_TRUE(text.contains(" svc #0\n")) << text.substr(0, 2000);
  for (const char* kind : {"blocks", "branches", "lines", "events", "digest", "summary", "packets"})
    EXPECT_EQ(Run({"decode", "--as", kind}, input).status, 0) << kind;
  const ProgramResult branches = Run({"branches"}, input);
  EXPECT_EQ(branches.status, 0) << branches.err;
  EXPECT_TRUE(branches.out.starts_with("The hottest branch is ")) << branches.out;
  const ProgramResult coverage = Run({"coverage"}, input);
  EXPECT_EQ(coverage.status, 0) << coverage.err;
  EXPECT_TRUE(coverage.out.contains("Choose")) << coverage.out;
  const ProgramResult profile = Run({"export", "--to", "autofdo", "--object", "program"}, input);
  EXPECT_EQ(profile.status, 0) << profile.err;
  EXPECT_TRUE(profile.out.contains("->"));
}

// The recorder's stacks are one flow, and that is QEMU's own log of it.
TEST_F(AArch64Program, RecordedByEmulationIsWhatQemuLogged) {
  FLOWBACK_NEEDS_AARCH64();
  ASSERT_TRUE(MakeAndLog());
  const std::string file = folder_.File("perf.data");
  // With the environment and the kind of output that the program had when it was logged.
  const ProgramResult recorded =
      RunShell(folder_,
               "env -i PATH=\"$PATH\" $F record --engine emulate --clock instructions --no-images "
               "-o perf.data -- " +
                   program_ + " | cat >/dev/null; exit ${PIPESTATUS[0]}");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const ProgramResult text =
      RunFlowback({"decode", "--as", "instructions", "-F", "ip", "--no-cache", file});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_FALSE(text.out.contains("# unknown")) << "no samples";
  EXPECT_EQ(AddressesIn(text.out), executed_);
  uint64_t hash = 0;
  for (const uint64_t address : executed_) hash = hash * 0x9e3779b97f4a7c15 + address;
  char tail[64];
  std::snprintf(tail, sizeof tail, " %zu %016llx\n", executed_.size(),
                static_cast<unsigned long long>(hash));
  const std::string digest = RunFlowback({"decode", "--as", "digest", "--no-cache", file}).out;
  EXPECT_TRUE(digest.ends_with(tail)) << digest << tail;
  const json info = json::parse(RunFlowback({"info", "--json", "--no-cache", file}).out);
  EXPECT_EQ(info["machine"]["architecture"], "aarch64");
  EXPECT_TRUE(info["losses"].empty()) << info["losses"];
  EXPECT_EQ(RunFlowback({"decode", "--as", "calls", "--no-cache", file}).status, 0);
  EXPECT_FALSE(RunFlowback({"coverage", "--no-cache", file}).out.contains("Only samples"));
}

// Threads, a signal's handler, and a fault: what was decoded the recorder has counted.
TEST_F(AArch64Program, ThreadsAndSignalsAreRecorded) {
  FLOWBACK_NEEDS_AARCH64();
  constexpr const char* kThreads = R"(
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
static volatile int seen;
static sigjmp_buf place;
static void OnSignal(int signal) { seen += signal; }
static void OnFault(int signal, siginfo_t* info, void* context) {
  seen += signal + (info->si_addr == 0);
  siglongjmp(place, 1);
}
static void* Run(void* argument) {
  for (int i = 0; i < 1000; ++i) *(volatile int*)argument += i;
  return argument;
}
int main(void) {
  signal(SIGUSR1, OnSignal);
  raise(SIGUSR1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, 0);
  if (sigsetjmp(place, 1) == 0) *(volatile int*)0 = 1;
  pthread_t threads[3];
  int sums[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, Run, &sums[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  printf("%d %d\n", seen, sums[0]);
  return 0;
}
)";
  const std::string program = folder_.File("threads"), file = folder_.File("perf.data");
  std::ofstream(folder_.File("threads.c")) << kThreads;
  ASSERT_EQ(std::system(("aarch64-linux-gnu-gcc -O1 -pthread -o " + program + " " +
                         folder_.File("threads.c"))
                            .c_str()),
            0);
  for (const char* clock : {"host", "instructions"}) {
    const ProgramResult recorded =
        RunFlowback({"record", "--json", "--force", "--engine", "emulate", "--clock", clock, "-L",
                     "/usr/aarch64-linux-gnu", "-o", file, "--", program});
    ASSERT_EQ(recorded.status, 0) << recorded.err;
    ASSERT_TRUE(recorded.out.contains("22 499500")) << recorded.out;
    const json summary = json::parse(Lines(recorded.out).back());
    const json info = json::parse(RunFlowback({"info", "--json", "--no-cache", file}).out);
    EXPECT_TRUE(info["losses"].empty()) << info["losses"];
    uint64_t instructions = 0;
    for (const std::string& line :
         Lines(RunFlowback({"decode", "--as", "digest", "--no-cache", file}).out))
      instructions += std::stoull(Words(line)[1]);
    EXPECT_EQ(instructions, summary["instructions"].get<uint64_t>()) << clock;
    EXPECT_EQ(info["streams"].size(), 4u);
  }
}

// The order is that of the program's own text.
TEST_F(AArch64Program, SwitchesOfStacksAndLongjmpAreSeenThrough) {
  FLOWBACK_NEEDS_AARCH64();
  constexpr const char* kFibres = R"(
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t outside, inside;
static jmp_buf place;
static volatile int count;
__attribute__((noinline)) void Part(void) { ++count; swapcontext(&inside, &outside); ++count; }
void Fibre(void) { Part(); Part(); ++count; }
__attribute__((noinline)) void Resume(void) { swapcontext(&outside, &inside); ++count; }
__attribute__((noinline)) void Leap(int n) {
  if (n == 0) longjmp(place, 1);
  Leap(n - 1);
  ++count;
}
__attribute__((noinline)) void After(void) { ++count; }
int main(void) {
  getcontext(&inside);
  inside.uc_stack.ss_sp = malloc(65536);
  inside.uc_stack.ss_size = 65536;
  inside.uc_link = &outside;
  makecontext(&inside, Fibre, 0);
  for (int i = 0; i < 3; ++i) Resume();
  if (setjmp(place) == 0) Leap(1);
  After();
  return 0;
}
)";
  const std::string program = folder_.File("fibres"), file = folder_.File("perf.data");
  std::ofstream(folder_.File("fibres.c")) << kFibres;
  ASSERT_EQ(std::system(
                ("aarch64-linux-gnu-gcc -O1 -static -o " + program + " " + folder_.File("fibres.c"))
                    .c_str()),
            0);
  const ProgramResult recorded =
      RunFlowback({"record", "--force", "--engine", "emulate", "-o", file, "--", program});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  std::string calls;
  for (const std::string& line :
       Lines(RunFlowback({"decode", "--as", "calls", "--no-cache", file}).out)) {
    const std::vector<std::string> words = Words(line);
    const auto arrow = std::ranges::find_if(
        words, [](const std::string& word) { return word == "->" || word == "<-"; });
    static const std::set<std::string> kNames = {"Part", "Fibre", "Resume", "Leap", "After"};
    if (arrow == words.end() || arrow + 1 == words.end() || !kNames.contains(arrow[1])) continue;
    calls += *arrow + " " + arrow[1];
    if (arrow + 2 != words.end() && arrow[2].starts_with("(")) calls += " " + arrow[2];
    calls += "\n";
  }
  EXPECT_EQ(calls,
            "-> Resume\n-> Fibre (new-stack)\n-> Part\n<- Resume\n"
            "-> Resume\n<- Part\n-> Part\n<- Resume\n"
            "-> Resume\n<- Part\n<- Fibre\n<- Resume\n"
            "-> Leap\n-> Leap\n<- Leap (unwound)\n<- Leap (unwound)\n"
            "-> After\n<- After\n");
}

// A recording of an AArch64 machine: the machine's name shows its code; a program for another
// machine did not run.
class AArch64Recording : public ::testing::Test {
 protected:
  // A record of each: 400000 b 400000.
  std::string Recording(const std::string& architecture) const {
    support::PerfDataBuilder builder;
    support::Event event;
    event.type = 0;
    event.sample_type = perf::kSampleIp | perf::kSampleTid | perf::kSampleTime |
                        perf::kSampleBranchStack | perf::kSampleIdentifier;
    event.ids = {7};
    event.branch_sample_type = perf::kBranchUser | perf::kBranchAny;
    builder.AddEvent(event);
    builder.TextFeature(perf::kFeatureArch, architecture);
    builder.Mmap2(42, 0x400000, 0x1000, 0x1000, "/program",
                  {.time = 1, .pid = 42, .tid = 42, .id = 7});
    support::FieldWriter sample;
    sample.U64(7).U64(0x400000).U32(42).U32(42).U64(5).U64(2);
    for (int i = 0; i < 2; ++i) sample.U64(0x400000).U64(0x400000).U64(2 << 20);
    builder.Record(9, 2, sample);
    const std::string path = folder_.File("perf.data");
    WriteFile(path, builder.Build());
    return path;
  }
  void Program(uint16_t machine, const std::vector<uint8_t>& code) const {
    ElfSpec spec;
    spec.machine = machine;
    spec.segments.emplace_back().address = 0x401000;
    spec.segments.back().bytes = code;
    spec.segments.back().bytes.resize(0x1000);
    fs::create_directories(folder_.File("root"));
    std::vector<uint8_t> bytes = WriteElf(spec).bytes;
    WriteFile(folder_.File("root/program"), bytes);
    offset_ = WriteElf(spec).segment_offsets[0];
  }
  json Info(const std::string& input) const {
    return json::parse(
        RunFlowback({"info", "--json", "--no-cache", "--symfs", folder_.File("root"), input}).out);
  }

  ScratchFolder folder_;
  mutable uint64_t offset_ = 0;
};

TEST_F(AArch64Recording, IsReadByTheMachinesName) {
  Program(183, {0x00, 0x00, 0x00, 0x14});
  ASSERT_EQ(offset_, 0x1000u);
  for (const char* name : {"aarch64", "arm64"}) {
    const json info = Info(Recording(name));
    EXPECT_EQ(info["streams"][0]["bytes_decoded"], 2) << info.dump(1);
    EXPECT_TRUE(info["losses"].empty());
  }
}

TEST_F(AArch64Recording, AnotherMachinesProgramIsNotWhatRan) {
  Program(62, {0xeb, 0xfe});
  const std::string input = Recording("aarch64");
  EXPECT_EQ(Info(input)["streams"][0]["bytes_lost"], 2);
  const ProgramResult text =
      RunFlowback({"info", "--no-cache", "--symfs", folder_.File("root"), input});
  EXPECT_TRUE((text.out + text.err).contains("holds no aarch64 code (ELF machine 62)"))
      << text.out << text.err;
  const ProgramResult given =
      RunFlowback({"info", "--no-cache", "--image", folder_.File("root/program"), input});
  EXPECT_NE(given.status, 0);
  EXPECT_TRUE(given.err.contains("holds no aarch64 code (ELF machine 62)")) << given.err;
}

TEST_F(AArch64Recording, WithoutItsProgramIsLostInWords) {
  fs::create_directories(folder_.File("root"));
  const std::string input = Recording("aarch64");
  const json info = Info(input);
  EXPECT_EQ(info["streams"][0]["bytes_lost"], 2);
  EXPECT_EQ(info["losses"][0]["cause"], "no code image");
  const ProgramResult text =
      RunFlowback({"info", "--no-cache", "--symfs", folder_.File("root"), input});
  EXPECT_TRUE((text.out + text.err).contains("/program")) << text.out << text.err;
}

TEST_F(AArch64Recording, OfAMachineThatIsNotReadIsSaid) {
  Program(183, {0x00, 0x00, 0x00, 0x14});
  const json info = Info(Recording("riscv64"));
  EXPECT_EQ(info["losses"][0]["cause"], "code of an instruction set that is not read");
}

}  // namespace
}  // namespace flowback::test
