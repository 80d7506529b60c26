// SPDX-License-Identifier: MIT
#include "decode/code/core/core_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/core_writer.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

const std::vector<uint8_t> kId = {0xaa, 0xbb, 0xcc, 0x01};

// A library with its first page, and text that the dump lacks; a heap of code; two threads.
CoreSpec Usual() {
  ElfSpec library;
  library.build_id = kId;
  library.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x40, 0x90)}};
  std::vector<uint8_t> page = WriteElf(library).bytes;
  page.resize(0x1000);
  CoreSpec spec;
  spec.tids = {42, 43};
  spec.vdso = 0x7fff0000;
  spec.files = {{0x400000, 0x1000, 0, "/usr/lib/lib.so"},
                {0x401000, 0x3000, 0x1000, "/usr/lib/lib.so"}};
  spec.segments = {{.address = 0x400000, .bytes = page, .executable = false},
                   {.address = 0x401000, .bytes = {}, .size = 0x3000},
                   {.address = 0x10000, .bytes = std::vector<uint8_t>(0x20, 0xc3), .size = 0x1000}};
  return spec;
}

std::string MessageOf(const std::vector<uint8_t>& bytes) {
  // A block of its own, so that the address sanitizer sees a read past the end.
  const std::vector<uint8_t> exact(bytes);
  const auto core = ReadCore(exact, "core");
  EXPECT_FALSE(core);
  if (core) return "";
  EXPECT_EQ(core.error().code(), ErrorCode::kUnreadable);
  EXPECT_FALSE(core.error().remedy().empty());
  return core.error().message() + " | " + core.error().remedy();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CoreFile, TellsProcessThreadsFilesAndMemory) {
  const std::vector<uint8_t> bytes = WriteCore(Usual());
  const auto core = ReadCore(bytes, "core");
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(core->pid, 42);
  EXPECT_EQ(core->tids, (std::vector<int32_t>{42, 43}));
  EXPECT_EQ(core->comm, "program");
  EXPECT_EQ(core->vdso, 0x7fff0000u);
  ASSERT_EQ(core->segments.size(), 3u);
  EXPECT_EQ(core->segments[0].address, 0x10000u) << "sorted";
  EXPECT_EQ(core->segments[0].size, 0x1000u);
  EXPECT_EQ(core->segments[0].bytes.size(), 0x20u);
  EXPECT_FALSE(core->segments[1].executable);
  EXPECT_TRUE(core->segments[2].bytes.empty());
  ASSERT_NE(core->FileAt(0x401fff), nullptr);
  EXPECT_EQ(core->FileAt(0x401fff)->file_offset, 0x1000u);
  EXPECT_EQ(core->FileAt(0x404000), nullptr);
  EXPECT_EQ(core->FileAt(0x10000), nullptr);
  EXPECT_EQ(core->BuildIdOf(*core->FileAt(0x401000)).bytes, kId);
  EXPECT_TRUE(core->BuildIdAt(0x10000).empty());
  uint8_t byte = 0;
  EXPECT_EQ(core->Read(0x1001f, &byte, 1), 1u);
  EXPECT_EQ(byte, 0xc3);
  EXPECT_EQ(core->Read(0x10020, &byte, 1), 0u) << "not dumped";
  EXPECT_EQ(core->Read(0, &byte, 1), 0u);
}

// A library in 64 bits is none of this process: it has no name here.
TEST(CoreFile, TellsTheSameOf32Bits) {
  CoreSpec spec = Usual();
  spec.machine = EM_386;
  for (const bool elsewhere : {false, true}) {
    spec.count_elsewhere = elsewhere;
    const std::vector<uint8_t> bytes = WriteCore(spec);
    const auto core = ReadCore(bytes, "core");
    ASSERT_TRUE(core) << core.error().message();
    EXPECT_EQ(core->mode, CodeMode::kX86_32);
    EXPECT_EQ(core->pid, 42);
    EXPECT_EQ(core->tids, (std::vector<int32_t>{42, 43}));
    EXPECT_EQ(core->comm, "program");
    EXPECT_EQ(core->vdso, 0x7fff0000u);
    ASSERT_EQ(core->segments.size(), 3u);
    EXPECT_EQ(core->segments[0].address, 0x10000u);
    EXPECT_EQ(core->segments[0].size, 0x1000u);
    EXPECT_EQ(core->segments[0].bytes.size(), 0x20u);
    ASSERT_NE(core->FileAt(0x401fff), nullptr);
    EXPECT_EQ(core->FileAt(0x401fff)->file_offset, 0x1000u);
    EXPECT_EQ(core->FileAt(0x401fff)->path, "/usr/lib/lib.so");
  }
  spec.count_elsewhere = false;
  std::vector<uint8_t> cut = WriteCore(spec);
  cut.resize(sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr));
  MessageOf(cut);
}

// The kernel writes a header for memory of which nothing is dumped; its offset may be anything.
TEST(CoreFile, MemoryWithoutBytesMayBeBehindTheEnd) {
  std::vector<uint8_t> bytes = WriteCore(Usual());
  const size_t second = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  Elf64_Phdr row;
  std::memcpy(&row, &bytes[second], sizeof row);
  ASSERT_EQ(row.p_filesz, 0u);
  row.p_offset = bytes.size() + 5000;
  std::memcpy(&bytes[second], &row, sizeof row);
  const auto core = ReadCore(bytes, "core");
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(core->segments.size(), 3u);
}

TEST(CoreFile, CountOfHeadersElsewhere) {
  CoreSpec spec = Usual();
  spec.count_elsewhere = true;
  const std::vector<uint8_t> bytes = WriteCore(spec);
  const auto core = ReadCore(bytes, "core");
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(core->segments.size(), 3u);
}

TEST(CoreFile, CutAnywhereIsAnErrorThatSaysSo) {
  const std::vector<uint8_t> bytes = WriteCore(Usual());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = MessageOf({bytes.begin(), bytes.begin() + static_cast<long>(size)});
    EXPECT_TRUE(size < 4 || Contains(message, "cut")) << size << ": " << message;
  }
}

TEST(CoreFile, OtherKindsOfFiles) {
  EXPECT_TRUE(Contains(MessageOf(std::vector<uint8_t>(100, 'x')), "not a core dump"));
  CoreSpec spec = Usual();
  spec.type = ET_DYN;
  EXPECT_TRUE(Contains(MessageOf(WriteCore(spec)), "--image"));
  spec = Usual();
  spec.machine = EM_RISCV;
  EXPECT_TRUE(Contains(MessageOf(WriteCore(spec)), "another kind of machine"));
  std::vector<uint8_t> bytes = WriteCore(Usual());
  bytes[EI_CLASS] = 3;
  EXPECT_TRUE(Contains(MessageOf(bytes), "32-bit"));
  bytes[EI_CLASS] = ELFCLASS64;
  bytes[EI_DATA] = ELFDATA2MSB;
  EXPECT_TRUE(Contains(MessageOf(bytes), "little-endian"));
}

TEST(CoreFile, CompressedDumpsNameTheCommand) {
  EXPECT_TRUE(Contains(MessageOf({0x28, 0xb5, 0x2f, 0xfd, 0, 0}), "zstd -d core"));
  EXPECT_TRUE(Contains(MessageOf({0x04, 0x22, 0x4d, 0x18, 0, 0}), "lz4 -d core"));
  EXPECT_TRUE(Contains(MessageOf({0xfd, '7', 'z', 'X', 'Z', 0, 0}), "xz -dc core"));
  EXPECT_TRUE(Contains(MessageOf({0x1f, 0x8b, 8, 0}), "gzip -dc core"));
}

// Each word of the headers and notes replaced by what a liar would write: an error or a dump, and
// no read outside the file.
TEST(CoreFile, LyingHeaders) {
  const std::vector<uint8_t> bytes = WriteCore(Usual());
  const uint64_t lies[] = {0, 1, 0xffff, 0x7fffffff, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63};
  size_t accepted = 0;
  for (size_t at = 0; at + 8 <= 0x1000; at += 4) {
    for (const uint64_t lie : lies) {
      std::vector<uint8_t> changed(bytes);
      std::memcpy(changed.data() + at, &lie, sizeof lie);
      const auto core = ReadCore(changed, "core");
      if (!core) {
        EXPECT_FALSE(core.error().remedy().empty()) << core.error().message();
        continue;
      }
      ++accepted;
      for (const CoreSegment& segment : core->segments)
        EXPECT_LE(segment.bytes.size(), segment.size);
      for (const CoreMappedFile& file : core->files) core->BuildIdOf(file);
      core->BuildIdAt(0x400000);
    }
  }
  EXPECT_GT(accepted, 0u) << "most words carry nothing that can be told to be wrong";
}

}  // namespace
}  // namespace flowback
