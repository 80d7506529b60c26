// SPDX-License-Identifier: MIT
// The recorder's small parts.
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

#include "capture/record/generate/return_stack.h"
#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/output_file.h"
#include "capture/record/perf_data/little_endian_buffer.h"
#include "capture/record/step/code_reader.h"
#include "capture/record/target/process_maps.h"
#include "tests/capture/temporary_file.h"

namespace flowback::record {
namespace {

TEST(CompressionStack, LastInFirstOut) {
  CompressionStack stack;
  EXPECT_EQ(stack.Pop(), std::nullopt);
  stack.Push(1);
  stack.Push(2);
  EXPECT_EQ(stack.Pop(), 2u);
  EXPECT_EQ(stack.Pop(), 1u);
  EXPECT_EQ(stack.Pop(), std::nullopt);
}

TEST(CompressionStack, KeepsThe64Newest) {
  CompressionStack stack;
  for (uint64_t i = 0; i < 100; ++i) stack.Push(i);
  for (uint64_t i = 100; i-- > 36;) EXPECT_EQ(stack.Pop(), i);
  EXPECT_EQ(stack.Pop(), std::nullopt);
  stack.Push(7);
  stack.Clear();
  EXPECT_EQ(stack.Pop(), std::nullopt);
}

TEST(TraceClock, RatiosOfA2400MHzCounter) {
  const TraceClock clock({.shift = 31, .mult = 894784853, .zero = 0}, 2'400'000'000);
  EXPECT_EQ(clock.tsc_per_crystal_tick(), 96u);
  EXPECT_EQ(clock.nominal_ratio(), 24);
  EXPECT_EQ(clock.CrystalTicks(96 * 10 + 95), 10u);
  EXPECT_EQ(clock.FastCounter(96 * 10 + 95), 95);
  EXPECT_NEAR(static_cast<double>(clock.ToNanoseconds(2'400'000'000)), 1e9, 10);
}

TEST(TraceClock, ThisMachinesSecondsAreSeconds) {
  const TraceClock clock = TraceClock::ForThisMachine();
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double real_begin = now();
  const uint64_t begin = TraceClock::HostNow();
  usleep(200'000);
  const double real = now() - real_begin;
  const uint64_t ticks = TraceClock::HostNow() - begin;
  const double traced =
      static_cast<double>(clock.ToNanoseconds(begin + ticks) - clock.ToNanoseconds(begin));
  EXPECT_NEAR(traced / real, 1.0, 0.02);
}

ExecutableMapping Parse(const std::string& line) {
  ExecutableMapping mapping;
  EXPECT_TRUE(ParseMapsLine(line, mapping)) << line;
  return mapping;
}

TEST(ParseMapsLine, AFile) {
  const auto mapping = Parse(
      "7f0000001000-7f0000003000 r-xp 00002000 fe:00 1234                       /usr/lib/a b.so");
  EXPECT_EQ(mapping.begin, 0x7f0000001000u);
  EXPECT_EQ(mapping.end, 0x7f0000003000u);
  EXPECT_EQ(mapping.file_offset, 0x2000u);
  EXPECT_EQ(mapping.path, "/usr/lib/a b.so");
  EXPECT_TRUE(mapping.has_file);
  EXPECT_FALSE(mapping.writable);
}

TEST(ParseMapsLine, WhatIsNoOrdinaryFile) {
  EXPECT_EQ(Parse("1000-2000 rwxp 00000000 00:00 0 ").path, "//anon");
  EXPECT_TRUE(Parse("1000-2000 rwxp 00000000 00:00 0 ").writable);
  EXPECT_EQ(Parse("1000-2000 r-xp 00000000 00:00 0    [heap]").path, "//anon");
  EXPECT_EQ(Parse("1000-2000 r-xp 00000000 00:00 0    [vdso]").path, "[vdso]");
  EXPECT_EQ(Parse("1000-2000 r-xs 00000000 00:01 7    /memfd:jit (deleted)").path, "/memfd:jit");
}

TEST(ParseMapsLine, NotExecutableOrNotALine) {
  ExecutableMapping mapping;
  EXPECT_FALSE(ParseMapsLine("1000-2000 rw-p 00000000 00:00 0", mapping));
  EXPECT_FALSE(
      ParseMapsLine("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", mapping));
  EXPECT_FALSE(ParseMapsLine("", mapping));
  EXPECT_FALSE(ParseMapsLine("x-y r-xp", mapping));
  EXPECT_FALSE(ParseMapsLine("1000-2000 r", mapping));
}

TEST(ProcessMaps, OfThisProcess) {
  const auto mappings = ReadExecutableMappings(getpid());
  const auto here = reinterpret_cast<uint64_t>(&ReadExecutableMappings);
  EXPECT_TRUE(std::any_of(mappings.begin(), mappings.end(), [&](const ExecutableMapping& m) {
    return m.begin <= here && here < m.end && m.has_file;
  }));
  EXPECT_EQ(ReadThreadGroup(getpid()), getpid());
  EXPECT_FALSE(ReadComm(getpid(), getpid()).empty());
}

TEST(ProcessMaps, OfNoProcess) {
  constexpr pid_t kNobody = 0x7ffffff0;
  EXPECT_TRUE(ReadExecutableMappings(kNobody).empty());
  EXPECT_EQ(ReadThreadGroup(kNobody), -1);
  EXPECT_TRUE(ReadComm(kNobody, kNobody).empty());
}

TEST(StoppedCodeReader, ReadsAcrossPagesAndStopsAtUnmappedOnes) {
  StoppedCodeReader reader(getpid());
  const std::vector<uint8_t> data(10000, 0x5a);
  EXPECT_EQ(reader.ReadMemory(reinterpret_cast<uint64_t>(data.data()), data.size()), data);
  EXPECT_TRUE(reader.ReadMemory(0, 100).empty());
}

TEST(StoppedCodeReader, WhatIsNoCodeIsUnknown) {
  StoppedCodeReader reader(getpid());
  EXPECT_FALSE(reader.Fetch(0x10, CodeMode::kX86_64).known);
  EXPECT_EQ(reader.Fetch(0x10, CodeMode::kX86_64).size, 0);
  const std::vector<uint8_t> nop = {0x90, 0, 0, 0};
  const auto fetched = reader.Fetch(reinterpret_cast<uint64_t>(nop.data()), CodeMode::kX86_64);
  EXPECT_TRUE(fetched.known);
  EXPECT_EQ(fetched.instruction.length, 1);
  EXPECT_EQ(fetched.bytes().size(), 1u);
}

// Memory that may change is read every time.
TEST(StoppedCodeReader, SeesChangedCode) {
  StoppedCodeReader reader(getpid());
  reader.Refresh();
  std::vector<uint8_t> code = {0x90, 0x90, 0x90, 0x90};
  const auto address = reinterpret_cast<uint64_t>(code.data());
  EXPECT_EQ(reader.Fetch(address, CodeMode::kX86_64).instruction.kind, InstructionClass::kOther);
  code[0] = 0xc3;
  EXPECT_EQ(reader.Fetch(address, CodeMode::kX86_64).instruction.kind, InstructionClass::kReturn);
}

TEST(LittleEndianBuffer, Fields) {
  LittleEndianBuffer buffer;
  buffer.U16(0x0201);
  buffer.U32(0x06050403);
  buffer.Text("ab", 4);
  buffer.Text("abcd", 4);
  buffer.SetU16(0, 0xffee);
  const std::vector<uint8_t> expected = {0xee, 0xff, 3,   4,   5,   6, 'a', 'b', 0,
                                         0,    'a',  'b', 'c', 'd', 0, 0,   0,   0};
  EXPECT_EQ(std::vector<uint8_t>(buffer.bytes().begin(), buffer.bytes().end()), expected);
}

TEST(OutputFile, AppendsAndOverwrites) {
  const support::TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string("what was there before"));
  {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write("hello "));
    ASSERT_TRUE(file->Write("world"));
    EXPECT_EQ(file->size(), 11u);
    ASSERT_TRUE(file->WriteAt(0, Bytes(reinterpret_cast<const uint8_t*>("J"), 1)));
    EXPECT_EQ(file->size(), 11u);
  }
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "Jello world");
}

}  // namespace
}  // namespace flowback::record
