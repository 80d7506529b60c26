// SPDX-License-Identifier: MIT
#include "decode/code/cache/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "tests/code/temporary_folder.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;
using Content = std::vector<uint8_t>;

constexpr uint64_t kVersion = 7;
constexpr size_t kHeaderSize = 64;

Content Random(unsigned seed, size_t size) {
  std::mt19937 random(seed);
  Content content(size);
  std::ranges::generate(content, [&] { return static_cast<uint8_t>(random()); });
  return content;
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCache Make(uint64_t most = 1 << 20, uint64_t version = kVersion) const {
    return DiskCache({folder_ / "cache", most}, version);
  }
  fs::path File(const std::string& name) const { return folder_ / "cache/" + name + ".cache"; }
  Content Read(const std::string& name) const {
    std::ifstream file(File(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Overwrite(const std::string& name, const Content& bytes) const {
    std::ofstream file(File(name), std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  static bool Has(const DiskCache& cache, const std::string& name, const Content& content) {
    const auto loaded = cache.Load(name);
    return loaded != nullptr && std::ranges::equal(loaded->content(), content);
  }
  // Absent now, and right again once it is stored again.
  void ExpectReplaced(const DiskCache& cache, const std::string& name, const Content& content) {
    EXPECT_EQ(cache.Load(name), nullptr);
    EXPECT_TRUE(cache.Store(name, content));
    EXPECT_TRUE(Has(cache, name, content));
  }

  TemporaryFolder folder_;
  const Content content_ = Random(1, 1000);
};

TEST_F(DiskCacheTest, GivesBackWhatWasStoredOfAnySize) {
  const DiskCache cache = Make();
  for (const size_t size : {0, 1, 7, 8, 63, 64, 65, 4096, 100000}) {
    const Content content = Random(static_cast<unsigned>(size), size);
    const std::string name = "size" + std::to_string(size);
    EXPECT_EQ(cache.Load(name), nullptr);
    ASSERT_TRUE(cache.Store(name, content));
    EXPECT_TRUE(Has(cache, name, content)) << size;
    EXPECT_TRUE(Has(Make(), name, content)) << "in another process";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(cache.Load(name)->content().data()) % 64, 0U);
  }
}

TEST_F(DiskCacheTest, IsForTheUserAlone) {
  const mode_t before = umask(0);
  ASSERT_TRUE(Make().Store("one", content_));
  umask(before);
  struct stat info{};
  ASSERT_EQ(stat(File("one").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_ / "cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(DiskCacheTest, EveryChangedByteShows) {
  const DiskCache cache = Make();
  const Content content = Random(4, 200);
  ASSERT_TRUE(cache.Store("one", content));
  const Content good = Read("one");
  ASSERT_EQ(good.size(), kHeaderSize + content.size());
  for (size_t i = 0; i < good.size(); ++i) {
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      Content bad = good;
      bad[i] ^= flip;
      Overwrite("one", bad);
      EXPECT_EQ(cache.Load("one"), nullptr) << "byte " << i;
    }
  }
  ExpectReplaced(cache, "one", content);
}

TEST_F(DiskCacheTest, EveryOtherLengthShows) {
  const DiskCache cache = Make();
  const Content content = Random(5, 200);
  ASSERT_TRUE(cache.Store("one", content));
  const Content good = Read("one");
  for (size_t size = 0; size < good.size(); ++size) {
    Overwrite("one", Content(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_EQ(cache.Load("one"), nullptr) << "cut to " << size;
  }
  for (const size_t more : {1, 8, 64, 4096}) {
    Content longer = good;
    longer.resize(good.size() + more);
    Overwrite("one", longer);
    EXPECT_EQ(cache.Load("one"), nullptr) << more << " bytes too long";
  }
  ExpectReplaced(cache, "one", content);
}

TEST_F(DiskCacheTest, AnotherVersionAndAnotherNamesFileAreAbsent) {
  ASSERT_TRUE(Make(1 << 20, kVersion + 1).Store("one", content_));
  ExpectReplaced(Make(), "one", content_);
  fs::copy_file(File("one"), File("two"));
  ExpectReplaced(Make(), "two", content_);
}

TEST_F(DiskCacheTest, WhatIsNoFileIsLeftAlone) {
  const DiskCache cache = Make();
  ASSERT_TRUE(cache.Store("good", content_));
  fs::create_directory(File("folder"));
  EXPECT_EQ(cache.Load("folder"), nullptr);
  EXPECT_FALSE(cache.Store("folder", content_));
  ASSERT_EQ(mkfifo(File("fifo").c_str(), 0600), 0);
  EXPECT_EQ(cache.Load("fifo"), nullptr);  // and does not wait for a writer
  fs::create_symlink(File("good"), File("good2"));
  ExpectReplaced(cache, "good2", content_);
  EXPECT_FALSE(fs::is_symlink(File("good2")));
  EXPECT_TRUE(Has(cache, "good", content_));
}

TEST_F(DiskCacheTest, FilesThatOthersMayWriteAreNotTrusted) {
  const DiskCache cache = Make();
  ASSERT_TRUE(cache.Store("one", content_));
  fs::permissions(File("one"), fs::perms::group_write, fs::perm_options::add);
  ExpectReplaced(cache, "one", content_);
}

TEST_F(DiskCacheTest, AFolderThatOthersMayWriteIsNotUsed) {
  const DiskCache cache = Make();
  ASSERT_TRUE(cache.Store("one", content_));
  fs::permissions(folder_ / "cache", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.Load("one"), nullptr);
  EXPECT_FALSE(cache.Store("two", content_));
  ASSERT_TRUE(cache.Refusal());
  EXPECT_TRUE(cache.Refusal()->message().contains(folder_ / "cache" + ": not used"));
  EXPECT_FALSE(cache.Refusal()->remedy().empty());
  fs::permissions(folder_ / "cache", fs::perms::owner_all);
  EXPECT_TRUE(Has(cache, "one", content_));
}

// A file that is absent, damaged or of another version is no error.
TEST_F(DiskCacheTest, OnlyWhatOthersHaveAHandInIsARefusal) {
  const DiskCache cache = Make();
  EXPECT_EQ(cache.Load("one"), nullptr);
  ASSERT_TRUE(cache.Store("one", content_));
  Overwrite("one", Content(100));
  EXPECT_EQ(cache.Load("one"), nullptr);
  EXPECT_FALSE(cache.Refusal());
  fs::create_symlink(File("one"), File("two"));
  EXPECT_EQ(cache.Load("two"), nullptr);
  ASSERT_TRUE(cache.Refusal());
  EXPECT_TRUE(cache.Refusal()->message().contains(File("two").string() + ": not used"));
}

TEST_F(DiskCacheTest, NothingIsWrittenWhereTheOwnerMayNot) {
  fs::create_directory(folder_ / "cache");
  fs::permissions(folder_ / "cache", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(Make().Store("one", content_));  // root could
  fs::permissions(folder_ / "cache", fs::perms::owner_all);
  EXPECT_TRUE(fs::is_empty(folder_ / "cache"));
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(DiskCache({folder_ / "new/cache"}, kVersion).Store("one", content_));
  fs::permissions(folder_.path(), fs::perms::owner_all);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(DiskCacheTest, WhatIsAnotherUsersIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kNobody = 65534;
  const DiskCache cache = Make();
  ASSERT_TRUE(cache.Store("one", content_));
  ASSERT_EQ(chown(File("one").c_str(), kNobody, kNobody), 0);
  ExpectReplaced(cache, "one", content_);
  ASSERT_EQ(chown((folder_ / "cache").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(cache.Load("one"), nullptr);
  EXPECT_FALSE(cache.Store("two", content_));
  EXPECT_FALSE(fs::exists(File("two")));
  // As under sudo, which may leave the caller's HOME.
  fs::remove_all(folder_ / "cache");
  ASSERT_EQ(chown(folder_.path().c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(cache.Store("one", content_));
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(DiskCacheTest, AbsentFoldersAreMade) {
  const DiskCache cache({folder_ / "a/b/c"}, kVersion);
  EXPECT_EQ(cache.Load("one"), nullptr);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  EXPECT_TRUE(cache.Store("one", content_));
  EXPECT_TRUE(Has(cache, "one", content_));
}

TEST_F(DiskCacheTest, NoFolderIsNoCache) {
  const DiskCache cache({}, kVersion);
  EXPECT_FALSE(cache.Store("one", content_));
  EXPECT_EQ(cache.Load("one"), nullptr);
}

void SetAge(const fs::path& file, std::chrono::hours age) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - age);
}

TEST_F(DiskCacheTest, FilesUsedLongestAgoGoFirst) {
  const DiskCache cache = Make(4 * (content_.size() + kHeaderSize));
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(cache.Store(name, content_));
  cache.Trim();
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(Has(cache, name, content_)) << name;
  SetAge(File("a"), std::chrono::hours(10));
  SetAge(File("b"), std::chrono::hours(40));
  SetAge(File("c"), std::chrono::hours(30));
  SetAge(File("d"), std::chrono::hours(20));
  EXPECT_TRUE(Has(cache, "b", content_));  // the oldest, but used now
  ASSERT_TRUE(cache.Store("e", content_));
  ASSERT_TRUE(cache.Store("f", content_));
  cache.Trim();
  for (const char* name : {"a", "b", "e", "f"}) EXPECT_TRUE(Has(cache, name, content_)) << name;
  for (const char* name : {"c", "d"}) EXPECT_FALSE(fs::exists(File(name))) << name;
}

TEST_F(DiskCacheTest, OneFileTakesNoMoreThanHalf) {
  EXPECT_FALSE(Make(2 * content_.size()).Store("one", content_));
  EXPECT_TRUE(Make(2 * (content_.size() + kHeaderSize)).Store("one", content_));
}

// As `ulimit -f` has it. A process that writes beyond that is killed.
TEST_F(DiskCacheTest, NoFileIsLargerThanTheProcessMayWrite) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlim_t size = content_.size() + kHeaderSize;
  for (const rlim_t allowed : {size - 1, size}) {
    const rlimit limit{.rlim_cur = allowed, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const bool stored = Make().Store("one", content_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(stored, allowed == size);
  }
  EXPECT_TRUE(Has(Make(), "one", content_));
}

// Work goes only into what may be kept; what it then turns out to be may still be too much.
TEST_F(DiskCacheTest, ContentIsMadeWhereItMayBeKept) {
  int made = 0;
  const auto make = [&] {
    ++made;
    return content_;
  };
  const uint64_t least = content_.size() + kHeaderSize;
  EXPECT_FALSE(Make(2 * least - 2).Store("one", content_.size(), make));
  EXPECT_FALSE(DiskCache({}, kVersion).Store("one", 1, make));
  EXPECT_EQ(made, 0);
  EXPECT_FALSE(Make(2 * least - 2).Store("one", 1, make));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(Make().Load("one"), nullptr);
  EXPECT_TRUE(Make(2 * least).Store("one", content_.size(), make));
  EXPECT_EQ(made, 2);
  EXPECT_TRUE(Has(Make(), "one", content_));
}

TEST_F(DiskCacheTest, TrimLeavesOtherFilesAloneAndRemovesUnfinishedOnes) {
  const DiskCache cache = Make(1);
  fs::create_directory(folder_ / "cache");
  fs::permissions(folder_ / "cache", fs::perms::owner_all);
  for (const char* name : {"cache/notes.txt", "cache/new-abc", "cache/new-old"})
    std::ofstream(folder_ / name) << "text";
  SetAge(folder_ / "cache/new-old", std::chrono::hours(2));
  cache.Trim();
  EXPECT_TRUE(fs::exists(folder_ / "cache/notes.txt"));
  EXPECT_TRUE(fs::exists(folder_ / "cache/new-abc"));
  EXPECT_FALSE(fs::exists(folder_ / "cache/new-old"));
}

TEST_F(DiskCacheTest, WritersAndReadersMeetWholeFilesOnly) {
  const Content other = Random(2, 50000);
  ASSERT_TRUE(Make().Store("one", content_));
  std::atomic<bool> done = false;
  const auto write = [&](const Content& content) {
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(Make().Store("one", content));
  };
  size_t seen = 0;
  std::thread reader([&] {
    while (!done) {
      const auto loaded = Make().Load("one");
      ASSERT_NE(loaded, nullptr);
      EXPECT_TRUE(std::ranges::equal(loaded->content(), content_) ||
                  std::ranges::equal(loaded->content(), other));
      ++seen;
    }
  });
  std::thread first(write, content_);
  std::thread second(write, other);
  first.join();
  second.join();
  done = true;
  reader.join();
  EXPECT_GT(seen, 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "cache"), {}), 1);
}

TEST(ContentHash, TellsContentsLengthsAndSeedsApart) {
  const Content bytes = Random(3, 300);
  std::vector<uint64_t> hashes;
  for (size_t size = 0; size <= bytes.size(); ++size)
    hashes.push_back(ContentHash({bytes.data(), size}));
  hashes.push_back(ContentHash(bytes, 1));
  Content zeros(64);
  for (size_t size = 1; size <= zeros.size(); ++size)
    hashes.push_back(ContentHash({zeros.data(), size}));
  for (size_t i = 0; i < bytes.size(); ++i) {
    Content changed = bytes;
    changed[i] ^= 4;
    hashes.push_back(ContentHash(changed));
  }
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

}  // namespace
}  // namespace flowback
