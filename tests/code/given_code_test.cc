// SPDX-License-Identifier: MIT
#include "decode/code/images/given_code.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/code/temporary_folder.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

class GivenCodeTest : public testing::Test {
 protected:
  std::string Save(const std::string& name, const std::vector<uint8_t>& bytes) {
    WriteFile(folder_ / name, bytes);
    return folder_ / name;
  }
  std::string SaveElf(const std::string& name, const ElfSpec& spec) {
    return Save(name, WriteElf(spec).bytes);
  }

  // The message must have both the problem and the remedy.
  template <class T>
  static void ExpectError(const Result<T>& result, ErrorCode code, const std::string& part) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().message();
    EXPECT_NE(result.error().message().find(part), std::string::npos) << result.error().message();
    EXPECT_FALSE(result.error().remedy().empty()) << result.error().message();
  }

  TemporaryFolder folder_;
  ImageStore store_;
};

ElfSpec Program() {
  ElfSpec spec;
  spec.segments = {{.address = 0x400000, .bytes = std::vector<uint8_t>(0x1800, 0x90)},
                   {.address = 0x603000, .bytes = {0xc3}}};
  return spec;
}

ElfSpec Library() {
  ElfSpec spec;
  spec.position_independent = true;
  spec.segments = {{.address = 0x0, .bytes = {1, 2, 3}, .executable = false},
                   {.address = 0x2000, .bytes = {0x90, 0xc3}}};
  return spec;
}

TEST_F(GivenCodeTest, SectionIsThePartOfTheFile) {
  const std::string file = Save("code.bin", {0, 1, 2, 3, 4, 5, 6, 7});
  const auto mapping = MapSection({file, 2, 4, 0x1000}, store_);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping->address, 0x1000u);
  EXPECT_EQ(mapping->size, 4u);
  EXPECT_EQ(mapping->section->bytes()[0], 2);
  EXPECT_EQ(mapping->section->verification(), Verification::kGiven);
  EXPECT_EQ(mapping->FileBase(), 0x1000u - 2);
}

TEST_F(GivenCodeTest, SectionLongerThanItsFileIsRefused) {
  const std::string file = Save("code.bin", std::vector<uint8_t>(0x100));
  ExpectError(MapSection({file, 0, 0x101, 0x1000}, store_), ErrorCode::kUnreadable, "0x100 bytes");
  ExpectError(MapSection({file, 0x80, 0x81, 0x1000}, store_), ErrorCode::kUnreadable, "0x80");
  ExpectError(MapSection({file, 0x101, 1, 0x1000}, store_), ErrorCode::kUnreadable, "offset 0x101");
  ExpectError(MapSection({file, ~uint64_t{0}, 2, 0x1000}, store_), ErrorCode::kUnreadable, "0x100");
  ExpectError(MapSection({file, 1, ~uint64_t{0}, 0}, store_), ErrorCode::kUnreadable, "0x100");
  EXPECT_EQ(MapSection({file, 0x80, 0x81, 0x1000}, store_).error().offset(), 0x80u);
  EXPECT_TRUE(MapSection({file, 0x80, 0x80, 0x1000}, store_));
}

TEST_F(GivenCodeTest, SectionsThatCanNotBe) {
  const std::string file = Save("code.bin", std::vector<uint8_t>(16));
  ExpectError(MapSection({file, 0, 0, 0x1000}, store_), ErrorCode::kUsage, "no bytes");
  ExpectError(MapSection({file, 0, 16, ~uint64_t{0} - 7}, store_), ErrorCode::kUsage,
              "end of the address space");
  EXPECT_TRUE(MapSection({file, 0, 16, ~uint64_t{0} - 15}, store_)) << "ends exactly there";
  ExpectError(MapSection({folder_ / "none", 0, 16, 0}, store_), ErrorCode::kUnreadable, "none");
  ExpectError(MapSection({folder_.path(), 0, 16, 0}, store_), ErrorCode::kUnreadable, "directory");
  const std::string empty = Save("empty", std::vector<uint8_t>());
  ExpectError(MapSection({empty, 0, 16, 0}, store_), ErrorCode::kUnreadable, "0x0 bytes");
}

TEST_F(GivenCodeTest, UnreadableFileSaysSo) {
  const std::string file = Save("secret", std::vector<uint8_t>(16));
  chmod(folder_.path().c_str(), 0755);
  chmod(file.c_str(), 0);
  // Root may read any file, so it becomes someone else for this one.
  constexpr uid_t kNobody = 65534;
  const uid_t self = geteuid();
  if (self == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  ExpectError(MapSection({file, 0, 16, 0}, store_), ErrorCode::kUnreadable, "secret");
  if (self == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST_F(GivenCodeTest, ImageLiesWhereItsHeadersSay) {
  const auto image = OpenImage({SaveElf("program", Program()), {}}, store_);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_FALSE(image->has_address);
  ASSERT_EQ(image->mappings.size(), 2u);
  EXPECT_EQ(image->mappings[0].address, 0x400000u);
  EXPECT_EQ(image->mappings[1].address, 0x603000u);
  EXPECT_EQ(image->mappings[0].section->elf_bits(), 64);
  const AddressSpace space = [&] {
    AddressSpace s;
    for (const CodeMapping& mapping : image->mappings) s.Map(mapping);
    return s;
  }();
  uint8_t byte = 0;
  ASSERT_EQ(space.Read(0x603000, &byte, 1), 1u);
  EXPECT_EQ(byte, 0xc3);
}

TEST_F(GivenCodeTest, LoadAddressIsThatOfTheFirstLoadablePage) {
  // The first page holds data: it counts nevertheless.
  const auto image = OpenImage({SaveElf("lib.so", Library()), 0x7ffff7bd9000}, store_);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_TRUE(image->has_address);
  ASSERT_EQ(image->mappings.size(), 1u);
  EXPECT_EQ(image->mappings[0].address, 0x7ffff7bdb000u);
  const auto program = OpenImage({SaveElf("program", Program()), 0x400000}, store_);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->mappings[0].address, 0x400000u) << "its own address changes nothing";
}

TEST_F(GivenCodeTest, ImagesThatCanNotBe) {
  ExpectError(OpenImage({Save("text", {'h', 'i'}), {}}, store_), ErrorCode::kUnreadable,
              "not an ELF file");
  ExpectError(OpenImage({Save("empty", std::vector<uint8_t>()), {}}, store_),
              ErrorCode::kUnreadable, "not an ELF file");
  ExpectError(OpenImage({folder_ / "none", {}}, store_), ErrorCode::kUnreadable, "none");
  std::vector<uint8_t> cut = WriteElf(Program()).bytes;
  cut.resize(0x900);
  ExpectError(OpenImage({Save("cut", cut), {}}, store_), ErrorCode::kUnreadable, "cut short");
  cut.resize(50);
  ExpectError(OpenImage({Save("header", cut), {}}, store_), ErrorCode::kUnreadable, "damaged");
  ElfSpec arm = Program();
  arm.machine = EM_AARCH64;
  ExpectError(OpenImage({SaveElf("arm", arm), {}}, store_), ErrorCode::kUnreadable, "no x86 code");
  ElfSpec data = Library();
  data.segments.pop_back();
  ExpectError(OpenImage({SaveElf("data", data), {}}, store_), ErrorCode::kUnreadable, "executable");
  ElfSpec debug = Program();
  debug.sections = debug.sections_without_bytes = true;
  ExpectError(OpenImage({SaveElf("program.debug", debug), {}}, store_), ErrorCode::kUnreadable,
              "debug information only");
}

TEST_F(GivenCodeTest, AddressOutsideTheImagesAddressSpace) {
  ElfSpec spec = Library();
  spec.bits = 32;
  spec.machine = EM_386;
  const std::string file = SaveElf("lib32.so", spec);
  EXPECT_TRUE(OpenImage({file, 0xf7000000}, store_));
  ExpectError(OpenImage({file, 0x7ffff7bd9000}, store_), ErrorCode::kUsage, "32-bit address space");
  ExpectError(OpenImage({SaveElf("lib.so", Library()), ~uint64_t{0} - 0x2000}, store_),
              ErrorCode::kUsage, "64-bit address space");
}

TEST_F(GivenCodeTest, SameFileSharesItsSections) {
  const std::string file = SaveElf("lib.so", Library());
  const auto here = OpenImage({file, 0x10000}, store_);
  const auto there = OpenImage({file, 0x20000}, store_);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->mappings[0].section, there->mappings[0].section);
}

}  // namespace
}  // namespace flowback
