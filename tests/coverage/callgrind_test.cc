// SPDX-License-Identifier: MIT
// Counts of each instruction against those that valgrind's callgrind makes of the same program.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/mapped_file.h"
#include "decode/code/images/elf_file.h"
#include "flowback/capture/open.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"
#include "tests/cli/run_program.h"

namespace flowback::testing {
namespace {

using ByAddress = std::map<uint64_t, uint64_t>;

// Without a C library, which would see another processor under valgrind.
constexpr const char* kProgram = R"(
static unsigned sink;
#define KEEP static __attribute__((noinline))
KEEP unsigned Twice(unsigned a) { return a * 2; }
KEEP unsigned Square(unsigned a) { return a * a; }
KEEP unsigned Never(unsigned a) { return a / 3; }
KEEP unsigned Deep(unsigned n) { return n < 2 ? n : Deep(n - 1) + Deep(n - 2); }
static unsigned (*volatile const choose[])(unsigned) = {Twice, Square, Never};
extern "C" void _start() {
  for (unsigned i = 0; i < 1000; ++i) {
    sink += choose[i % 3 == 0](i);
    if (i % 7 == 3) sink ^= Deep(i % 9);
    switch (i % 11) {
      case 1: sink += 5; break;
      case 4: sink ^= 77; break;
      case 9: sink *= 3; break;
      default: break;
    }
  }
  asm volatile("syscall" : : "a"(231), "D"(0));
  __builtin_unreachable();
}
)";

ByAddress OfCallgrind(const std::string& text) {
  ByAddress counts;
  bool inclusive = false;
  for (const std::string& line : test::Lines(text)) {
    if (line.starts_with("0x") && !inclusive) {
      const std::vector<std::string> words = test::Words(line);
      if (words.size() == 3) counts[std::stoull(words[0], nullptr, 16)] += std::stoull(words[2]);
    }
    inclusive = line.starts_with("calls=");
  }
  return counts;
}

ByAddress OfRecording(const std::string& file, const std::string& program) {
  OpenOptions options;
  options.input = file;
  const Result<Recording> recording = OpenRecording(options);
  const Result<RecordingCode> code = RecordingCode::Load(*recording, {});
  const StreamInputs inputs(*recording, *code, Resync::kEarliest);
  Threads threads(*recording);
  threads.GroupByThread(*recording, inputs);
  const Result<CoverageCounts> counts = CountCoverage(
      {.recording = *recording,
       .code = *code,
       .flow = {.inputs = inputs, .make_decoder = [] { return MakeDecoder("native"); }},
       .owners = threads.owners(),
       .check = {},
       .on_loss = {}});
  EXPECT_TRUE(counts);
  const auto mapped = MappedFile::Open(program);
  const Result<ElfFile> elf = ReadElf((*mapped)->bytes(), program);
  ByAddress by_address;
  for (const ObjectCounts& object : counts->objects) {
    EXPECT_TRUE(object.IsKnown()) << object.id.path;
    if (object.id.path != program) continue;
    for (const InstructionCount& each : object.instructions)
      for (const ElfSegment& segment : elf->code)
        if (each.offset - segment.file_offset < segment.size)
          by_address[each.offset - segment.file_offset + segment.address] += each.times;
  }
  return by_address;
}

TEST(CoverageCounts, AreCallgrinds) {
  const test::ScratchFolder folder;
  if (test::RunShell(folder, "command -v valgrind && command -v qemu-x86_64").status != 0)
    GTEST_SKIP() << "valgrind or qemu-x86_64 is not installed";
  folder.Write("a.cc", kProgram);
  const test::ProgramResult built =
      test::RunShell(folder, TEST_CXX
                     " -O1 -nostdlib -static -no-pie -fno-stack-protector "
                     "-fno-asynchronous-unwind-tables -Wl,--build-id -o a a.cc");
  ASSERT_EQ(built.status, 0) << built.err;
  const test::ProgramResult recorded =
      test::RunShell(folder, "$F record --engine emulate -o a.data -- ./a");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const test::ProgramResult counted = test::RunShell(
      folder,
      "valgrind --tool=callgrind --dump-instr=yes --compress-pos=no --compress-strings=no "
      "--callgrind-out-file=a.out ./a");
  ASSERT_EQ(counted.status, 0) << counted.err;
  const ByAddress theirs = OfCallgrind(test::ReadFile(folder.File("a.out")));
  EXPECT_GT(theirs.size(), 50u);
  const ByAddress ours = OfRecording(folder.File("a.data"), folder.File("a"));
  for (const auto& [address, times] : theirs) {
    const auto own = ours.find(address);
    EXPECT_EQ(own == ours.end() ? 0 : own->second, times) << std::hex << address;
  }
  // Callgrind adds a block up when it has been left. The program's last one never is: two moves and
  // the system call.
  EXPECT_EQ(ours.size(), theirs.size() + 3);
  for (const auto& [address, times] : ours)
    EXPECT_EQ(times, theirs.contains(address) ? theirs.at(address) : 1) << std::hex << address;
}

}  // namespace
}  // namespace flowback::testing
