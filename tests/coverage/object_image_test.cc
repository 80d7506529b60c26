// SPDX-License-Identifier: MIT
// Files by the names and builds that recordings give them.
#include "flowback/replay/object_image.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/code/temporary_folder.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr uint64_t kMore = 0x603000;

ElfSpec TwoSegments(std::vector<uint8_t> build_id = {1, 2, 3, 4}) {
  ElfSpec spec;
  spec.build_id = std::move(build_id);
  spec.segments = {{.address = kMore, .bytes = std::vector<uint8_t>(0x20, 0xc3)},
                   {.address = 0x405000, .bytes = {1, 2, 3}, .executable = false},
                   {.address = kCode, .bytes = std::vector<uint8_t>(0x1800, 0x90)}};
  return spec;
}

ObjectId Named(const std::string& path, std::vector<uint8_t> build_id = {1, 2, 3, 4}) {
  return {.path = path, .build_id = BuildId{std::move(build_id)}};
}

ImageSearch Among(std::vector<std::string> files) {
  ImageSearch search;
  search.files = std::move(files);
  return search;
}

class ObjectImageTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const ElfSpec& spec) {
    const std::string path = folder_.path() + "/" + name;
    const WrittenElf elf = WriteElf(spec);
    offsets_ = elf.segment_offsets;
    WriteFile(path, elf.bytes);
    return path;
  }

  TemporaryFolder folder_;
  std::vector<uint64_t> offsets_;
};

TEST_F(ObjectImageTest, HasItsCodeWhereTheLinkerPutIt) {
  const std::string file = Write("two", TwoSegments());
  const auto image = ObjectImage::Open(Named("/bin/two"), file);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->id().path, "/bin/two");
  EXPECT_EQ(image->file(), file);
  EXPECT_EQ(image->mode(), CodeMode::kX86_64);
  EXPECT_EQ(image->AddressOf(offsets_[0]), kMore);
  EXPECT_EQ(image->AddressOf(offsets_[2] + 0x17ff), kCode + 0x17ff);
  EXPECT_EQ(image->OffsetOf(kCode), offsets_[2]);
  EXPECT_EQ(image->OffsetOf(kMore + 0x1f), offsets_[0] + 0x1f);
  EXPECT_EQ(image->OffsetOf(0x405000), std::nullopt) << "data";
  EXPECT_EQ(image->AddressOf(offsets_[1]).value_or(kMore) & ~uint64_t{0xfff}, kMore & ~0xfffULL)
      << "data that shares a page of the file with code, if anything";
  EXPECT_EQ(image->CodeAt(kCode + 0x17ff).front(), 0x90);
  EXPECT_TRUE(image->CodeAt(0x405000).empty());
  const CodeMapping* mapping = image->space().Find(kCode);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(mapping->section->name(), file) << "names and lines are looked for by it";
  EXPECT_EQ(mapping->FileBase() + offsets_[2], kCode);
}

TEST_F(ObjectImageTest, OneOf32BitsHasTheirMode) {
  ElfSpec spec = TwoSegments();
  spec.bits = 32;
  spec.machine = 3;
  const auto image = ObjectImage::Open(Named("two"), Write("two", spec));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->mode(), CodeMode::kX86_32);
}

TEST_F(ObjectImageTest, IsFoundWhereImagesAreAndWhereDecodingFoundIt) {
  const std::string file = Write("root/bin/two", TwoSegments());
  ImageSearch below;
  below.symfs = folder_.path() + "/root";
  const auto by_path = ObjectImage::Find(Named("/bin/two"), below);
  ASSERT_TRUE(by_path) << by_path.error().message();
  EXPECT_EQ(by_path->file(), file);
  const std::string kept = Write("recording.images/0001", TwoSegments());
  const auto by_build = ObjectImage::Find(Named("/bin/two"), Among({kept}));
  ASSERT_TRUE(by_build) << by_build.error().message();
  EXPECT_EQ(by_build->file(), kept);
}

TEST_F(ObjectImageTest, AnotherBuildIsNotTaken) {
  const ImageSearch search = Among({Write("two", TwoSegments({9, 9, 9, 9}))});
  const auto image = ObjectImage::Find(Named("/nowhere/two"), search);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code(), ErrorCode::kUnreadable);
  EXPECT_EQ(image.error().message(), "/nowhere/two: " + search.files[0] +
                                         " has build-id 09090909, not 01020304: it is another "
                                         "build");
  EXPECT_NE(image.error().remedy().find("debuginfod-find executable 01020304"), std::string::npos);
}

TEST_F(ObjectImageTest, WithoutBuildIdTheCodeDecides) {
  ElfSpec spec = TwoSegments({});
  const std::string right = Write("kept/0002", spec);
  spec.segments[2].bytes[5] = 0xf4;
  const std::string wrong = Write("kept/0001", spec);
  ObjectId id{.path = "/nowhere/two", .build_id = {}};
  id.checksum = ObjectImage::Open(id, right)->Checksum();
  EXPECT_NE(id.checksum, ObjectImage::Open(id, wrong)->Checksum());
  const auto image = ObjectImage::Find(id, Among({wrong, right}));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->file(), right);
  const auto none = ObjectImage::Find(id, Among({wrong}));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("has other code"), std::string::npos);
  id.checksum = 0;
  EXPECT_FALSE(ObjectImage::Find(id, Among({wrong}))) << "not even its name is the same";
}

TEST_F(ObjectImageTest, WhatIsNoProgramIsSaid) {
  const ObjectId id = Named("two");
  EXPECT_FALSE(ObjectImage::Open(id, folder_.path() + "/none"));
  const std::string text = folder_.path() + "/text";
  WriteFile(text, {'#', '!', '/'});
  EXPECT_EQ(ObjectImage::Open(id, text).error().message(), text + ": not an ELF file");
  ElfSpec arm = TwoSegments();
  arm.machine = 40;  // EM_ARM
  EXPECT_FALSE(ObjectImage::Open(id, Write("arm", arm)));
  arm.machine = 183;  // EM_AARCH64
  EXPECT_EQ(ObjectImage::Open(id, Write("aarch64", arm))->mode(), CodeMode::kAArch64);
  ObjectId made = id;
  made.made_at_run_time = true;
  EXPECT_FALSE(ObjectImage::Find(made, {}));
}

TEST_F(ObjectImageTest, DamagedHeadersTakeNoOneAlong) {
  const WrittenElf whole = WriteElf(TwoSegments());
  const std::string path = folder_.path() + "/damaged";
  unsigned opened = 0;
  for (size_t at = 0; at < 0x200; ++at) {
    std::vector<uint8_t> bytes = whole.bytes;
    bytes[at] ^= 0xff;
    WriteFile(path, bytes);
    const auto image = ObjectImage::Open(Named("damaged"), path);
    if (!image) continue;
    ++opened;
    for (const CodeMapping& mapping : image->space().mappings()) {
      const uint64_t end = mapping.address + mapping.size - 1;
      EXPECT_EQ(image->OffsetOf(end), image->OffsetOf(mapping.address).value() + mapping.size - 1);
      EXPECT_EQ(image->CodeAt(end).size(), 1U);
    }
  }
  EXPECT_GT(opened, 100U);
}

}  // namespace
}  // namespace flowback
