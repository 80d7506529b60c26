// SPDX-License-Identifier: MIT
#include "decode/code/images/elf_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

const std::vector<uint8_t> kId = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4};

ElfSpec Program(unsigned bits) {
  ElfSpec spec;
  spec.bits = bits;
  spec.machine = bits == 64 ? EM_X86_64 : EM_386;
  spec.build_id = kId;
  spec.segments = {{.address = 0x400120, .bytes = std::vector<uint8_t>(100, 0x90)},
                   {.address = 0x600000, .bytes = {1, 2, 3}, .executable = false}};
  return spec;
}

class ElfFileOfBits : public testing::TestWithParam<unsigned> {};

TEST_P(ElfFileOfBits, ReadsSegmentsAndBuildId) {
  const WrittenElf written = WriteElf(Program(GetParam()));
  const auto elf = ReadElf(written.bytes, "program");
  ASSERT_TRUE(elf) << elf.error().message();
  EXPECT_EQ(elf->bits, GetParam());
  EXPECT_EQ(elf->code_mode(), GetParam() == 64 ? CodeMode::kX86_64 : CodeMode::kX86_32);
  EXPECT_EQ(elf->build_id.bytes, kId);
  EXPECT_EQ(elf->first_page, 0x400000u);
  EXPECT_EQ(elf->promised_end, 0u);
  EXPECT_FALSE(elf->only_debug_info);
  ASSERT_EQ(elf->code.size(), 1u) << "the data segment is not code";
  // The kernel maps whole pages, which start with the ELF header here.
  EXPECT_EQ(elf->code[0].address, 0x400000u);
  EXPECT_EQ(elf->code[0].file_offset, written.segment_offsets[0] & ~uint64_t{0xfff});
}

INSTANTIATE_TEST_SUITE_P(Bits, ElfFileOfBits, testing::Values(32u, 64u));

TEST(ElfFile, FindsABuildIdInASectionOnly) {
  ElfSpec spec = Program(64);
  spec.note_in_section_only = true;
  const auto elf = ReadElf(WriteElf(spec).bytes, "program");
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->build_id.bytes, kId);
}

TEST(ElfFile, KnowsASeparateDebugFile) {
  ElfSpec spec = Program(64);
  spec.sections = true;
  EXPECT_FALSE(ReadElf(WriteElf(spec).bytes, "program")->only_debug_info);
  spec.sections_without_bytes = true;
  EXPECT_TRUE(ReadElf(WriteElf(spec).bytes, "program.debug")->only_debug_info);
}

TEST(ElfFile, SaysThatCodeIsCutOff) {
  ElfSpec spec = Program(64);
  spec.segments[0].claimed_size = 0x10000;
  const WrittenElf written = WriteElf(spec);
  const auto elf = ReadElf(written.bytes, "program");
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->promised_end, written.segment_offsets[0] + 0x10000);
  ASSERT_EQ(elf->code.size(), 1u);
  EXPECT_LE(elf->code[0].file_offset + elf->code[0].size, written.bytes.size());
}

TEST(ElfFile, SegmentSizesThatWrapStayInsideTheFile) {
  ElfSpec spec = Program(64);
  spec.segments[0].claimed_size = ~uint64_t{0};
  const WrittenElf written = WriteElf(spec);
  const auto elf = ReadElf(written.bytes, "program");
  ASSERT_TRUE(elf);
  EXPECT_NE(elf->promised_end, 0u);
  for (const ElfSegment& segment : elf->code)
    EXPECT_LE(segment.file_offset + segment.size, written.bytes.size());
}

TEST(ElfFile, RefusesOtherFilesByName) {
  for (const std::vector<uint8_t>& bytes :
       {std::vector<uint8_t>{}, {0x7f}, {'h', 'e', 'l', 'l', 'o'}}) {
    const auto elf = ReadElf(bytes, "notes.txt");
    ASSERT_FALSE(elf);
    EXPECT_EQ(elf.error().code(), ErrorCode::kUnreadable);
    EXPECT_NE(elf.error().message().find("notes.txt"), std::string::npos);
    EXPECT_FALSE(elf.error().remedy().empty());
  }
}

TEST(ElfFile, EveryCutIsAnErrorOrReadsLess) {
  ElfSpec spec = Program(64);
  spec.sections = true;
  const WrittenElf written = WriteElf(spec);
  for (size_t size = 0; size < written.bytes.size(); ++size) {
    const std::vector<uint8_t> cut(written.bytes.begin(), written.bytes.begin() + size);
    const auto elf = ReadElf(cut, "cut");
    if (!elf) continue;
    for (const ElfSegment& segment : elf->code) ASSERT_LE(segment.file_offset + segment.size, size);
  }
  EXPECT_FALSE(ReadElf(Bytes(written.bytes).first(40), "cut")) << "inside the ELF header";
  EXPECT_FALSE(ReadElf(Bytes(written.bytes).first(70), "cut")) << "inside the program headers";
}

TEST(ElfFile, DamagedHeadersNeverReachOutsideTheFile) {
  std::mt19937 random(11);
  for (const unsigned bits : {32u, 64u}) {
    ElfSpec spec = Program(bits);
    spec.sections = true;
    const WrittenElf written = WriteElf(spec);
    for (unsigned round = 0; round < 20'000; ++round) {
      std::vector<uint8_t> bytes = written.bytes;
      for (unsigned i = 0; i < 3; ++i)  // past the magic number: in headers and note
        bytes[4 + random() % 300] = random() % 3 == 0 ? 0xff : static_cast<uint8_t>(random());
      const auto elf = ReadElf(bytes, "damaged");
      if (!elf) continue;
      for (const ElfSegment& segment : elf->code) {
        ASSERT_LE(segment.file_offset, bytes.size());
        ASSERT_LE(segment.size, bytes.size() - segment.file_offset);
      }
    }
  }
}

}  // namespace
}  // namespace flowback
