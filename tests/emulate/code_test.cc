// SPDX-License-Identifier: MIT
// Which code is known, and in which version. The guest's memory is this process's own.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "capture/emulate/code_map.h"
#include "capture/emulate/code_versions.h"

namespace flowback::emulate {
namespace {

constexpr uint64_t kPage = CodeVersions::kPage;

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class Pages {
 public:
  explicit Pages(int protection)
      : bytes_(static_cast<uint8_t*>(
            mmap(nullptr, 3 * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { munmap(bytes_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* bytes() const { return bytes_; }
  uint64_t address() const { return AddressOf(bytes_); }

 private:
  uint8_t* bytes_;
};

class Versions : public testing::Test {
 protected:
  // Runs the code there; returns the recorded pages, from 0.
  std::vector<uint64_t> Run(uint64_t at, uint64_t size) {
    std::vector<uint64_t> told;
    versions_.Update(pages_.address() + at, {pages_.bytes() + at, size}, memory_,
                     [&](uint64_t page, Bytes bytes) {
                       told.push_back((page - pages_.address()) / kPage);
                       EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(),
                                              reinterpret_cast<const uint8_t*>(page)));
                       EXPECT_EQ(bytes.size(), kPage);
                     });
    return told;
  }
  using Told = std::vector<uint64_t>;

  Pages pages_{PROT_READ | PROT_WRITE};
  GuestMemory memory_;
  CodeVersions versions_;
};

TEST_F(Versions, AreToldWhenTheyRun) {
  EXPECT_EQ(Run(16, 8), Told{0});
  EXPECT_EQ(Run(16, 8), Told{});
  EXPECT_EQ(Run(32, 8), Told{});  // recorded with its page
  pages_.bytes()[20] = 1;
  EXPECT_EQ(Run(32, 8), Told{});  // what changed does not run
  EXPECT_EQ(Run(16, 8), Told{0});
  pages_.bytes()[20] = 0;
  EXPECT_EQ(Run(16, 8), Told{0});  // as it was before, but not as it was last
  EXPECT_EQ(Run(0, 0), Told{});
}

TEST_F(Versions, AcrossPages) {
  EXPECT_EQ(Run(kPage - 4, 8), (Told{0, 1}));
  pages_.bytes()[kPage] = 1;
  EXPECT_EQ(Run(kPage - 4, 8), Told{1});
}

TEST_F(Versions, ForgottenAndRepeated) {
  Run(0, 8);
  Run(kPage, 8);
  Told repeated;
  versions_.Repeat(pages_.address() + kPage, pages_.address() + 3 * kPage,
                   [&](uint64_t page, Bytes) { repeated.push_back(page - pages_.address()); });
  EXPECT_EQ(repeated, Told{kPage});
  versions_.Forget(pages_.address(), pages_.address() + kPage);
  EXPECT_EQ(Run(0, 8), Told{0});
  EXPECT_EQ(Run(kPage, 8), Told{});
}

TEST_F(Versions, WhatTheProgramMayWriteTo) {
  versions_.NoteWritable(0x1000, 0x3000);
  versions_.NoteWritable(0x1000, 0x2000);
  EXPECT_TRUE(versions_.IsWritable(0x2fff));
  EXPECT_FALSE(versions_.IsWritable(0x3000));
  EXPECT_FALSE(versions_.IsWritable(0xfff));
  versions_.Forget(0x1000, 0x3000);
  EXPECT_FALSE(versions_.IsWritable(0x1000));
}

int Function() { return 1; }

TEST(CodeMap, LearnsFilesAndMemory) {
  CodeMap map;
  std::vector<CodeRange> told;
  const auto announce = [&](const CodeRange& range) { told.push_back(range); };
  const uint64_t function = AddressOf(reinterpret_cast<const void*>(&Function));
  EXPECT_FALSE(map.Knows(function));
  map.LearnAt(function, 0, announce);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].path.ends_with("emulate_test")) << told[0].path;
  EXPECT_TRUE(map.Knows(function));
  EXPECT_FALSE(map.InNoFile(function));
  map.LearnAt(function, 0, announce);
  EXPECT_EQ(told.size(), 1u);  // known

  const Pages pages(PROT_READ);
  map.Learn(pages.address(), pages.address() + kPage, 0, announce);
  EXPECT_TRUE(map.InNoFile(pages.address()));
  EXPECT_FALSE(map.Knows(pages.address() + kPage));
  map.Forget(pages.address(), pages.address() + kPage);
  EXPECT_FALSE(map.Knows(pages.address()));
}

TEST(CodeMap, ForgetsAPartInTheMiddle) {
  CodeMap map;
  const Pages pages(PROT_READ);
  map.Learn(pages.address(), pages.address() + 3 * kPage, 0, [](const CodeRange&) {});
  map.Forget(pages.address() + kPage, pages.address() + 2 * kPage);
  EXPECT_TRUE(map.Knows(pages.address() + kPage - 1));
  EXPECT_FALSE(map.Knows(pages.address() + kPage));
  EXPECT_FALSE(map.Knows(pages.address() + 2 * kPage - 1));
  EXPECT_TRUE(map.Knows(pages.address() + 2 * kPage));
}

}  // namespace
}  // namespace flowback::emulate
