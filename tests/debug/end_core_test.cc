// SPDX-License-Identifier: MIT
// Which memory of a core dump only its process wrote to.
#include "replay/debug/values/end_core.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <numeric>

#include "tests/code/temporary_folder.h"
#include "tests/support/core_writer.h"

namespace flowback {
namespace {

constexpr uint64_t kMemory = 0x10000000, kPage = 4096;

void WriteFile(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Threads with their pointers in one memory. A dump that names files is the kernel's.
class DumpOf {
 public:
  explicit DumpOf(const std::vector<uint64_t>& pointers) {
    CoreSpec spec;
    spec.tids.resize(pointers.size());
    std::iota(spec.tids.begin(), spec.tids.end(), 42);
    spec.files = {{.address = 0x400000, .size = kPage, .file_offset = 0, .path = "/a/program"}};
    spec.segments = {{.address = kMemory,
                      .bytes = std::vector<uint8_t>(16 * kPage),
                      .size = 0,
                      .executable = false}};
    std::vector<uint8_t> bytes = WriteCore(spec);
    // In the notes, which follow two program headers: where the first one's fs_base is.
    constexpr size_t kNotes = 64 + 2 * 56, kRegister = 20 + 112 + 21 * 8, kNote = 20 + 336;
    for (size_t thread = 0; thread < pointers.size(); ++thread)
      for (unsigned i = 0; i < 8; ++i)
        bytes[kNotes + thread * kNote + kRegister + i] =
            static_cast<uint8_t>(pointers[thread] >> (8 * i));
    WriteFile(path(), bytes);
  }
  std::string path() const { return folder_ / "core"; }

 private:
  TemporaryFolder folder_;
};

TEST(EndCore, WhatTheKernelWritesNearThreadPointersIsNotPrivate) {
  constexpr uint64_t kFirst = kMemory + 3 * kPage, kSecond = kMemory + 10 * kPage, kHeader = 0x300;
  const DumpOf dump({kSecond, kFirst});
  const auto core = EndCore::Open(dump.path());
  ASSERT_TRUE(core) << core.error().message();
  ASSERT_EQ(core->Register(42, "fs_base"), kSecond);
  for (const uint64_t pointer : {kFirst, kSecond}) {
    EXPECT_TRUE(core->IsPrivate(pointer - kPage - 1));
    EXPECT_FALSE(core->IsPrivate(pointer - kPage));
    EXPECT_FALSE(core->IsPrivate(pointer - 1));
    EXPECT_TRUE(core->IsPrivate(pointer)) << "its header";
    EXPECT_TRUE(core->IsPrivate(pointer + kHeader - 1));
    EXPECT_FALSE(core->IsPrivate(pointer + kHeader));
    EXPECT_FALSE(core->IsPrivate(pointer + kPage - 1));
    EXPECT_TRUE(core->IsPrivate(pointer + kPage));
  }
  EXPECT_FALSE(core->IsPrivate(kMemory - 1)) << "not there";
}

std::vector<uint8_t> WordsOf(std::initializer_list<uint32_t> words) {
  std::vector<uint8_t> bytes;
  for (const uint32_t word : words)
    for (unsigned i = 0; i < sizeof word; ++i) bytes.push_back(static_cast<uint8_t>(word >> 8 * i));
  return bytes;
}

// GS names a row of the table that the note has; the row has the address.
TEST(EndCore, RegistersAndSignalOf32Bits) {
  constexpr uint32_t kPointer = 0x10003000, kSegments = 0x200, kSignalInfo = 0x53494749;
  CoreSpec spec;
  spec.machine = EM_386;
  std::vector<uint64_t> registers(17);
  constexpr size_t kEbx = 0, kGs = 10, kOrigEax = 11, kEip = 12, kEsp = 15;
  registers[kEbx] = 7;
  registers[kGs] = 0x63;
  registers[kOrigEax] = 240;
  registers[kEip] = 0x8049000;
  registers[kEsp] = 0x10008000;
  spec.registers = {registers};
  spec.thread_notes = {{kSegments, WordsOf({12, kPointer, 0xfffff, 0x51, 13, 0, 0, 0x28})},
                       {kSignalInfo, WordsOf({11, 0, 1, 0x1234, 0, 0})}};
  spec.files = {{.address = 0x400000, .size = kPage, .file_offset = 0, .path = "/a/program"}};
  spec.segments = {{.address = kMemory,
                    .bytes = std::vector<uint8_t>(16 * kPage),
                    .size = 0,
                    .executable = false}};
  const TemporaryFolder folder;
  WriteFile(folder / "core", WriteCore(spec));
  const auto core = EndCore::Open(folder / "core");
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(core->mode(), CodeMode::kX86_32);
  EXPECT_EQ(core->Counter(42), 0x8049000u);
  EXPECT_EQ(core->StackPointer(42), 0x10008000u);
  EXPECT_EQ(core->Register(42, "ebx"), 7u);
  EXPECT_EQ(core->Register(42, "orig_eax"), 240u);
  EXPECT_EQ(core->Register(42, "gs_base"), kPointer);
  EXPECT_FALSE(core->Register(42, "rax"));
  EXPECT_EQ(core->signal_number(), 11);
  EXPECT_EQ(core->signal_code(), 1);
  EXPECT_EQ(core->signal_address(), 0x1234u);
  EXPECT_TRUE(core->IsPrivate(kPointer)) << "the header";
  EXPECT_FALSE(core->IsPrivate(kPointer - 1));
  EXPECT_TRUE(core->IsPrivate(kPointer + 2 * kPage));
}

// A damaged dump may have any number.
TEST(EndCore, ManyThreadsTakeNoTimeForEachByte) {
  std::vector<uint64_t> pointers(20'000);
  for (uint64_t i = 0; i < pointers.size(); ++i) pointers[i] = 0x7f0000000000 + (i << 12);
  const DumpOf dump(pointers);
  const auto core = EndCore::Open(dump.path());
  ASSERT_TRUE(core) << core.error().message();
  const std::clock_t begin = std::clock();
  for (uint64_t i = 0; i < 16 * kPage; ++i) ASSERT_TRUE(core->IsPrivate(kMemory + i));
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace flowback
