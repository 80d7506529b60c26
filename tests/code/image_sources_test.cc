// SPDX-License-Identifier: MIT
// Where images are read from: caches, debug directories, the vDSO in all its places.
#include <filesystem>

#include "decode/code/images/elf_file.h"
#include "decode/code/images/own_vdso.h"
#include "tests/code/recording_fixture.h"
#include "tests/support/host.h"

namespace flowback {
namespace {

using ImageSourcesTest = RecordingCodeTest;

TEST_F(ImageSourcesTest, OwnVdsoOnlyByBuildId) {
  FLOWBACK_NEEDS_HOST(host::Trait::kVdso);
  const std::vector<uint8_t> own = CopyOwnVdso();
  ASSERT_FALSE(own.empty());
  const auto elf = ReadElf(own, "[vdso]");
  ASSERT_TRUE(elf) << elf.error().message();
  MmapRecord vdso = Mmap("[vdso]", 0x7ffff7fc8000);
  vdso.file_offset = 0;
  Record(vdso);
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "--section")) << Only().problem;

  recording_.sideband.clear();
  Record(vdso, kOtherId);
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "11223344")) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, elf->build_id.ToHex())) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, "--build-id-cache")) << Only().problem;

  if (elf->build_id.empty()) GTEST_SKIP() << "this kernel's vDSO has no build-id";
  recording_.sideband.clear();
  Record(vdso, elf->build_id.bytes);
  Load();
  EXPECT_TRUE(Only().usable);
  EXPECT_EQ(At(0x7ffff7fc8000), 0x7f) << "the ELF header";
  EXPECT_EQ(Only().source, CodeSource::kOwnVdso);
}

// perf keeps it in its cache; the links by build-id are lost where a cache is copied by its files.
TEST_F(ImageSourcesTest, RecordedVdsoIsInTheBuildIdCache) {
  for (const char* place : {"cache/.build-id/aa/bbcc01/vdso", "cache/[vdso]/aabbcc01/vdso"}) {
    Save(place, Library(kId, 0xf4));
    recording_.sideband.clear();
    Record(Mmap("[vdso]", 0x7ffff7fc8000), kId);
    Load();
    EXPECT_EQ(At(0x7ffff7fc8000), 0xf4) << place;
    EXPECT_EQ(Only().source, CodeSource::kBuildIdCache);
    EXPECT_EQ(Only().verification, Verification::kBuildId);
    Save(place, Library(kOtherId, 0xf4));
    Load();
    EXPECT_EQ(At(0x7ffff7fc8000), -1) << "another build in its place";
    std::filesystem::remove_all(folder_ / "cache");
  }
}

TEST_F(ImageSourcesTest, VdsoWithoutABuildIdOnlyAsGiven) {
  MmapRecord vdso = Mmap("[vdso]", 0x7ffff7fc8000);
  vdso.file_offset = 0;
  Record(vdso);
  recording_.sections.push_back({Save("vdso", {0xf4}), 0, 1, 0x7ffff7fc8000});
  Load();
  EXPECT_EQ(At(0x7ffff7fc8000), 0xf4);
  EXPECT_EQ(Only().verification, Verification::kGiven);
  EXPECT_EQ(Only().source, CodeSource::kGiven);
}

TEST_F(ImageSourcesTest, SourcesAreTold) {
  Save("cache/.build-id/aa/bbcc01/elf", Library(kId, 0xf4));
  Save("dbg/opt/debug.so", Library({}, 0xf4));
  search_.debug_dirs = {folder_ / "dbg"};
  Record(Mmap("/nowhere/cached.so"), kId);
  Record(Mmap("/opt/debug.so", kBase + 0x10000));
  Record(Mmap(Save("file.so", Library({}, 0x90)), kBase + 0x20000));
  Record(Mmap("/nowhere/missing.so", kBase + 0x30000));
  Load();
  ASSERT_EQ(code_.images().size(), 4u);
  EXPECT_EQ(code_.images()[0].source, CodeSource::kBuildIdCache);
  EXPECT_EQ(code_.images()[1].source, CodeSource::kDebugFolder);
  EXPECT_EQ(code_.images()[2].source, CodeSource::kFile);
  EXPECT_EQ(code_.images()[3].source, CodeSource::kNone);
}

TEST_F(ImageSourcesTest, DeletedFileIsFoundByItsBuildIdOnly) {
  const std::string path = Save("lib.so", Library(kOtherId, 0x90));
  Save("cache/.build-id/aa/bbcc01/elf", Library(kId, 0xf4));
  Record(Mmap(path + " (deleted)"), kId);
  Load();
  EXPECT_EQ(At(kBase), 0xf4);
  recording_.sideband.clear();
  Record(Mmap(path + " (deleted)"));
  Load();
  EXPECT_EQ(At(kBase), -1);
  EXPECT_TRUE(Contains(Only().problem, "deleted or replaced")) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, "--core")) << Only().problem;
}

}  // namespace
}  // namespace flowback
