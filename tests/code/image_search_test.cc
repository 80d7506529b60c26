// SPDX-License-Identifier: MIT
#include "decode/code/images/image_search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace flowback {
namespace {

const BuildId kId{{0xab, 0xcd, 0xef}};

bool Has(const std::vector<std::string>& files, const std::string& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

TEST(ImageSearch, PathAloneIsThePath) {
  EXPECT_EQ(CandidateFiles({}, "/usr/bin/ls", {}), std::vector<std::string>{"/usr/bin/ls"});
}

TEST(ImageSearch, BuildIdComesFirst) {
  ImageSearch search;
  search.build_id_cache = "/cache";
  search.debug_dirs = {"/dbg"};
  const auto files = CandidateFiles(search, "/usr/bin/ls", kId);
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files.front(), "/cache/.build-id/ab/cdef/elf");
  EXPECT_TRUE(Has(files, "/dbg/.build-id/ab/cdef.debug"));
  EXPECT_TRUE(Has(files, "/dbg/usr/bin/ls"));
  EXPECT_EQ(files.back(), "/usr/bin/ls");
}

TEST(ImageSearch, SymfsHidesThisMachinesFilesUnlessABuildIdVouchesForThem) {
  ImageSearch search;
  search.symfs = "/sysroot/";
  const auto files = CandidateFiles(search, "/home/me/loopy", {});
  EXPECT_EQ(files, (std::vector<std::string>{"/sysroot/home/me/loopy", "/sysroot/loopy"}));
  EXPECT_TRUE(Has(CandidateFiles(search, "/home/me/loopy", kId), "/home/me/loopy"));
}

TEST(ImageSearch, MemoryWithoutAFileHasNoPath) {
  for (const char* path : {"[vdso]", "//anon", "[stack]", "anon_inode:[perf]", "", "/memfd:jit"}) {
    EXPECT_TRUE(IsPathless(path)) << path;
    EXPECT_TRUE(CandidateFiles({}, path, {}).empty()) << path;
  }
  ImageSearch search;
  search.build_id_cache = "/cache";
  EXPECT_TRUE(Has(CandidateFiles(search, "[vdso]", kId), "/cache/.build-id/ab/cdef/vdso"));
}

TEST(ImageSearch, DeletedFileIsTakenOnlyByBuildId) {
  EXPECT_TRUE(CandidateFiles({}, "/usr/lib/libfoo.so (deleted)", {}).empty());
  EXPECT_TRUE(Has(CandidateFiles({}, "/usr/lib/libfoo.so (deleted)", kId), "/usr/lib/libfoo.so"));
}

TEST(ImageSearch, ShortBuildIdsDoNoHarm) {
  EXPECT_EQ(CandidateFiles({}, "/a", BuildId{{0xab}}), std::vector<std::string>{"/a"});
}

TEST(ImageSearch, BaseNames) {
  EXPECT_EQ(BaseName("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(BaseName("a.out"), "a.out");
  EXPECT_EQ(BaseName("/usr/"), "");
  EXPECT_EQ(UnderDirectory("/root///", "/usr/bin"), "/root/usr/bin");
  EXPECT_EQ(UnderDirectory("root", "bin"), "root/bin");
}

}  // namespace
}  // namespace flowback
