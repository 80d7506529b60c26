// SPDX-License-Identifier: MIT
// Decoded code that is kept between runs: it changes how fast the program is, and nothing else.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

std::string Quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  return line;
}

std::vector<std::string> Generated(const std::string& name) {
  const fs::path folder = golden::TracesFolder() / "generated";
  return {folder / name / "perf.data", "--symfs", folder / "images"};
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override { FLOWBACK_NEEDS_TRACES(); }

  // `variables`: as in "A=1 B=2".
  ProgramResult Run(const std::string& variables, const std::string& words) const {
    return RunShell(folder_, "unset FLOWBACK_CACHE FLOWBACK_CACHE_SIZE XDG_CACHE_HOME\n" +
                                 variables + " $F " + words);
  }
  ProgramResult Cached(const std::string& words) const { return Run("FLOWBACK_CACHE=c", words); }
  void ExpectSame(const ProgramResult& got) const {
    EXPECT_EQ(got.out, expected_.out);
    EXPECT_EQ(got.err, expected_.err);
    EXPECT_EQ(got.status, expected_.status);
  }
  // The result is the same; stderr has one message of the cache, with a remedy.
  void ExpectRefused(const fs::path& path, const std::string& why) const {
    const ProgramResult got = Cached(words_);
    EXPECT_EQ(got.out, expected_.out);
    EXPECT_EQ(got.status, expected_.status);
    ASSERT_TRUE(got.err.starts_with(expected_.err));
    const std::string told = got.err.substr(expected_.err.size());
    const std::string name = path.lexically_relative(folder_.path());
    EXPECT_TRUE(told.starts_with("flowback: " + name + ": not used as a cache of decoded code: "))
        << told;
    EXPECT_TRUE(told.contains(why)) << told;
    EXPECT_TRUE(told.contains("\n  try: ")) << told;
    EXPECT_EQ(std::ranges::count(told, '\n'), 2) << told;
  }
  fs::path Folder() const { return folder_.File("c"); }
  std::map<fs::path, std::string> Files() const {
    std::map<fs::path, std::string> files;
    if (!fs::exists(Folder())) return files;
    for (const auto& entry : fs::directory_iterator(Folder()))
      files[entry.path()] = ReadFile(entry.path());
    return files;
  }
  static void Overwrite(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  const ScratchFolder folder_;
  const std::string words_ = "decode --as digest" + Quoted(Generated("hello"));
  const ProgramResult expected_ = Run("", words_ + " --no-cache");
};

TEST_F(Cache, ResultsAreTheSameColdAndWarmAndWithout) {
  std::vector<std::vector<std::string>> inputs;
  for (const auto& entry : fs::directory_iterator(golden::TracesFolder() / "generated"))
    if (fs::exists(entry.path() / "perf.data"))
      inputs.push_back(Generated(entry.path().filename()));
  for (const RealRecording& recording : RealRecordings()) inputs.push_back(recording.words);
  ASSERT_GT(inputs.size(), 20U);
  for (const auto& words : inputs) {
    for (const std::string kind : {"digest", "summary --json"}) {
      const std::string line = "decode --as " + kind + Quoted(words);
      SCOPED_TRACE(line);
      const ProgramResult without = Run("FLOWBACK_CACHE=unused", line + " --no-cache");
      for (const char* run : {"first", "second"}) {
        SCOPED_TRACE(run);
        const ProgramResult with = Cached(line);
        EXPECT_EQ(with.out, without.out);
        EXPECT_EQ(with.err, without.err);
        EXPECT_EQ(with.status, without.status);
      }
    }
  }
  EXPECT_GT(Files().size(), 3U);
  EXPECT_FALSE(fs::exists(folder_.File("unused")));
}

// Also where the environment names another one, or says that there is none to be named.
TEST_F(Cache, IsWhereItIsToldToBe) {
  for (const char* variables : {"", "FLOWBACK_CACHE=unused", "XDG_CACHE_HOME=/unused"}) {
    const std::string words = words_ + " --cache-dir c";
    for (const char* run : {"first", "second"}) {
      SCOPED_TRACE(std::string(variables) + ", " + run);
      ExpectSame(Run(variables, words));
      EXPECT_FALSE(Files().empty());
    }
    fs::remove_all(Folder());
  }
  EXPECT_FALSE(fs::exists(folder_.File("unused")));
  const ProgramResult both = Run("", words_ + " --cache-dir c --no-cache");
  EXPECT_EQ(both.status, 2);
  EXPECT_TRUE(both.err.contains("--cache-dir")) << both.err;
}

// Behind what was written; the hole takes no room on the disk.
TEST_F(Cache, AFileThatGrewIsNotRead) {
  ExpectSame(Cached(words_));
  const auto good = Files();
  ASSERT_FALSE(good.empty());
  for (const auto& [path, content] : good) fs::resize_file(path, uint64_t{3} << 30);
  ExpectSame(Cached(words_));
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20);  // of all that ran here, in KiB
  EXPECT_TRUE(Files() == good);
}

TEST_F(Cache, ListingsAreTheSame) {
  for (const char* kind : {"instructions", "blocks", "branches --not-taken", "calls"}) {
    const std::string line = std::string("decode --as ") + kind + Quoted(Generated("hello"));
    const ProgramResult without = Run("", line + " --no-cache");
    EXPECT_GT(without.out.size(), 10000U);
    for (int run = 0; run < 2; ++run) EXPECT_EQ(Cached(line).out, without.out) << kind;
  }
  const std::string info = "info" + Quoted(Generated("hello"));
  const ProgramResult without = Run("", info + " --no-cache");
  EXPECT_EQ(Cached(info).out, without.out);
}

TEST_F(Cache, ADamagedFileIsMadeAnew) {
  ExpectSame(Cached(words_));
  const auto good = Files();
  ASSERT_FALSE(good.empty());
  const auto expect_made_anew = [&](const std::string& how) {
    SCOPED_TRACE(how);
    ExpectSame(Cached(words_));
    EXPECT_TRUE(Files() == good);
  };
  for (const auto& [path, content] : good) {
    for (const size_t at : {size_t{0}, size_t{9}, size_t{17}, size_t{30}, size_t{63}, size_t{64},
                            size_t{80}, size_t{128}, content.size() / 2, content.size() - 1}) {
      std::string bad = content;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      Overwrite(path, bad);
      expect_made_anew("byte " + std::to_string(at));
    }
    for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{127},
                              size_t{5000}, content.size() - 1}) {
      Overwrite(path, content.substr(0, size));
      expect_made_anew("cut to " + std::to_string(size));
    }
    Overwrite(path, content + content);
    expect_made_anew("doubled");
    fs::remove(path);
    fs::create_symlink("/dev/zero", path);
    ExpectRefused(path, "it is a link");
    EXPECT_TRUE(Files() == good);
    if (good.size() > 1) {
      Overwrite(path, (path == good.begin()->first ? good.rbegin() : --good.rend())->second);
      expect_made_anew("another file's content");
    }
    fs::remove(path);
    fs::create_directory(path);
    ExpectRefused(path, "it is no regular file");
    fs::remove(path);
    expect_made_anew("absent");
  }
}

TEST_F(Cache, AnotherBuildUnderTheSameBuildIdIsDecodedAnew) {
  // The dynamic linker, with an instruction changed that ran.
  const fs::path images = golden::TracesFolder() / "generated/images";
  fs::copy(images, folder_.File("images"), fs::copy_options::recursive);
  ExpectSame(Cached(words_));
  const fs::path linker = folder_.File("images/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
  fs::permissions(linker, fs::perms::owner_write, fs::perm_options::add);
  std::string bytes = ReadFile(linker);
  const std::string test_rax = "\x48\x85\xc0";
  for (size_t at = 0; (at = bytes.find(test_rax, at)) != std::string::npos;)
    bytes.replace(at, test_rax.size(), "\x90\x90\x90");  // three instructions
  Overwrite(linker, bytes);
  folder_.Write("none/file", "");  // so that its copy in ~/.debug is not found
  const std::string patched =
      "decode --as digest '" + Generated("hello")[0] + "' --symfs images --build-id-cache none";
  const ProgramResult without = Run("", patched + " --no-cache");
  EXPECT_NE(without.out, expected_.out);
  for (int run = 0; run < 2; ++run) {
    const ProgramResult with = Cached(patched);
    EXPECT_EQ(with.out, without.out);
    EXPECT_EQ(with.err, without.err);
  }
  ExpectSame(Cached(words_));
}

TEST_F(Cache, NoCacheNeitherReadsNorWrites) {
  ExpectSame(Cached(words_ + " --no-cache"));
  EXPECT_FALSE(fs::exists(Folder()));
  ExpectSame(Cached(words_));
  const auto files = Files();
  ASSERT_FALSE(files.empty());
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  for (const auto& [path, content] : files) fs::last_write_time(path, old);
  ExpectSame(Cached(words_ + " --no-cache"));
  for (const auto& [path, content] : files) EXPECT_EQ(fs::last_write_time(path), old);
  ExpectSame(Cached(words_));  // which reads
  for (const auto& [path, content] : files) EXPECT_GT(fs::last_write_time(path), old);
  EXPECT_TRUE(Files() == files);
}

TEST_F(Cache, StandsWhereTheEnvironmentSays) {
  const std::string home = folder_.path();
  const auto ends_in = [&](const std::string& variables, const std::string& place) {
    SCOPED_TRACE(variables);
    ExpectSame(Run(variables, words_));
    const fs::path folder = folder_.File(place);
    EXPECT_TRUE(fs::exists(folder) && !fs::is_empty(folder));
    fs::remove_all(folder);
  };
  ends_in("HOME=" + home + "/h XDG_CACHE_HOME=" + home + "/x FLOWBACK_CACHE=" + home + "/f", "f");
  ends_in("HOME=" + home + "/h XDG_CACHE_HOME=" + home + "/x", "x/flowback");
  fs::create_directory(home + "/h");
  ends_in("HOME=" + home + "/h", "h/.cache/flowback");
  ends_in("HOME=" + home + "/h FLOWBACK_CACHE= XDG_CACHE_HOME=relative", "h/.cache/flowback");
  EXPECT_FALSE(fs::exists(folder_.File("relative")));
  ExpectSame(Run("HOME=", words_));
  ExpectSame(Run("HOME=" + home + "/none", words_));
  EXPECT_FALSE(fs::exists(home + "/none"));
}

TEST_F(Cache, ItsSizeIsBounded) {
  ExpectSame(Run("FLOWBACK_CACHE_SIZE=0 FLOWBACK_CACHE=c", words_));
  EXPECT_FALSE(fs::exists(Folder()));
  for (const char* name : {"hello", "big-gzip", "big-sqlite3", "strings", "vcalls"}) {
    Run("FLOWBACK_CACHE=c FLOWBACK_CACHE_SIZE=400K",
        "decode --as digest" + Quoted(Generated(name)));
    uintmax_t sum = 0;
    for (const auto& entry : fs::directory_iterator(Folder())) sum += entry.file_size();
    EXPECT_LE(sum, 400U << 10) << name;
    EXPECT_GT(sum, 0U) << name;
  }
  const ProgramResult wrong = Run("FLOWBACK_CACHE_SIZE=many", words_);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("FLOWBACK_CACHE_SIZE"), std::string::npos) << wrong.err;
}

// Its blocks are not decoded again to compare, so nobody else may have written them.
TEST_F(Cache, WhatOthersMayWriteIsRefused) {
  ExpectSame(Cached(words_));
  const auto good = Files();
  ASSERT_FALSE(good.empty());
  for (const fs::perms who : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(Folder(), who, fs::perm_options::add);
    ExpectRefused(Folder(), "others than its owner may write");
    fs::permissions(Folder(), fs::perms::owner_all);
    EXPECT_TRUE(Files() == good);
    const fs::path file = good.begin()->first;
    fs::permissions(file, who, fs::perm_options::add);
    ExpectRefused(file, "others than its owner may write");
    ExpectSame(Cached(words_));  // a new one has taken its place
  }
}

TEST_F(Cache, WhatIsAnotherUsersIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kNobody = 65534;
  ExpectSame(Cached(words_));
  const fs::path file = Files().begin()->first;
  ASSERT_EQ(chown(file.c_str(), kNobody, kNobody), 0);
  ExpectRefused(file, "it belongs to user 65534, not to user 0");
  ExpectSame(Cached(words_));
  ASSERT_EQ(chown(Folder().c_str(), kNobody, kNobody), 0);
  ExpectRefused(Folder(), "it belongs to user 65534, not to user 0");
  ASSERT_EQ(chown(Folder().c_str(), 0, 0), 0);
  // A link to a folder that is all right, where another may change what it leads to.
  fs::rename(Folder(), folder_.File("elsewhere"));
  fs::create_directory_symlink(folder_.File("elsewhere"), Folder());
  ExpectSame(Cached(words_));
  ASSERT_EQ(lchown(Folder().c_str(), kNobody, kNobody), 0);
  ExpectRefused(Folder(), "it is a link that belongs to user 65534");
}

TEST_F(Cache, WhereNothingCanBeWrittenNothingIsSaid) {
  folder_.Write("file", "text");
  for (const std::string place : {"/proc/flowback", "file", "file/below", "/dev/null"})
    ExpectSame(Run("FLOWBACK_CACHE=" + place, words_));
  EXPECT_EQ(ReadFile(folder_.File("file")), "text");
}

TEST_F(Cache, SeveralProcessesShareIt) {
  const ProgramResult result = RunShell(
      folder_, "export FLOWBACK_CACHE=c\nfor i in 1 2 3 4 5 6 7 8; do for j in 1 2 3; do $F " +
                   words_ +
                   " >out$i$j 2>&1 & done; wait; [ $i = 4 ] && rm -r c; done\ncat out??\n");
  std::string all;
  for (int i = 0; i < 24; ++i) all += expected_.out;
  EXPECT_EQ(result.out, all);
  for (const auto& [path, content] : Files())
    EXPECT_FALSE(path.filename().string().starts_with("new-"));
}

}  // namespace
}  // namespace flowback::test
