// SPDX-License-Identifier: MIT
// A BlockCache that finds its blocks on the disk: they are those it would decode itself.
#include "decode/code/cache/stored_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "decode/code/cache/block_cache.h"
#include "tests/code/temporary_folder.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;
using Code = std::vector<uint8_t>;
using Stop = StaticBlock::Stop;

// Instructions of all classes, and bytes that are none.
Code RandomCode(unsigned seed, size_t size) {
  const Code pieces[] = {{0x90},
                         {0x48, 0x89, 0xc3},
                         {0xf3, 0xa4},
                         {0x75, 0x10},
                         {0xc3},
                         {0xff, 0xd0},
                         {0xe8, 0, 0, 0, 0},
                         {0xf3, 0x0f, 0xae, 0xe0},
                         {0x06},
                         {0x0f, 0x05},
                         {0xeb, 0xfe},
                         {0x0f, 0x22, 0xd8},
                         {0x31, 0xc0},
                         {0xc5, 0xf8, 0x77},
                         {0x0f, 0x84, 0x10, 0x20, 0, 0}};
  std::mt19937 random(seed);
  Code code;
  while (code.size() < size) {
    const Code& piece = pieces[random() % std::size(pieces)];
    code.insert(code.end(), piece.begin(), piece.end());
  }
  code.resize(size);
  return code;
}

void ExpectEqual(const StaticBlock& a, const StaticBlock& b) {
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.size, b.size);
  ASSERT_EQ(a.count, b.count) << "at " << a.offset;
  EXPECT_EQ(a.stop, b.stop) << "at " << a.offset;
  EXPECT_EQ(a.offset_hash, b.offset_hash);
  EXPECT_EQ(a.last.length, b.last.length);
  EXPECT_EQ(a.last.kind, b.last.kind);
  EXPECT_EQ(a.last.flags, b.last.flags);
  EXPECT_EQ(a.last.displacement, b.last.displacement);
  EXPECT_EQ(a.last.target_mask, b.last.target_mask);
  EXPECT_EQ(a.last.kept_address_bits, b.last.kept_address_bits);
  for (unsigned i = 0; i < a.count; ++i) EXPECT_EQ(a.lengths[i], b.lengths[i]);
}

class StoredBlocksTest : public testing::Test {
 protected:
  static constexpr char kName[] = "section";

  std::shared_ptr<const DiskCache> Disk() const {
    return std::make_shared<const DiskCache>(DiskCacheSettings{folder_ / "cache"},
                                             StoredBlocks::Version());
  }
  std::unique_ptr<const StoredBlocks> Stored(const Code& code, const char* mode = "-x86-64") const {
    return StoredBlocks::Open(Disk()->Load(std::string(kName) + mode), code);
  }
  // Decodes the blocks at all multiples of `step` from `first` on and keeps them.
  bool Decode(const Code& code, size_t first, size_t step,
              CodeMode mode = CodeMode::kX86_64) const {
    BlockCache cache(code);
    cache.UseDisk(Disk(), kName);
    for (size_t at = first; at < code.size(); at += step) cache.Get(at, mode);
    return cache.Keep();
  }
  // All blocks of the code by way of the disk, against those decoded without.
  void ExpectSameAsWithout(const Code& code) const {
    BlockCache with(code);
    with.UseDisk(Disk(), kName);
    BlockCache without(code);
    for (const CodeMode mode : kCodeModes)
      for (size_t at = 0; at <= code.size() + 1; ++at)
        ExpectEqual(*with.Get(at, mode), *without.Get(at, mode));
  }

  TemporaryFolder folder_;
};

TEST_F(StoredBlocksTest, AreThoseThatWereDecodedInEveryMode) {
  const Code code = RandomCode(1, 20000);
  for (const CodeMode mode : kCodeModes) EXPECT_TRUE(Decode(code, 0, 3, mode));
  const auto stored = Stored(code);
  ASSERT_NE(stored, nullptr);
  EXPECT_GT(stored->blocks().size(), 5000U);
  EXPECT_NE(Stored(code, "-x86-32"), nullptr);
  EXPECT_NE(Stored(code, "-x86-16"), nullptr);
  ExpectSameAsWithout(code);
}

TEST_F(StoredBlocksTest, AreFoundWithoutDecoding) {
  const Code code = RandomCode(2, 10000);
  ASSERT_TRUE(Decode(code, 0, 1));
  const auto stored = Stored(code);
  ASSERT_NE(stored, nullptr);
  BlockCache cache(code);
  for (size_t at = 0; at < code.size(); ++at) {
    const StaticBlock* block = stored->Find(at);
    const StaticBlock* decoded = cache.Get(at, CodeMode::kX86_64);
    if (block != nullptr)
      ExpectEqual(*block, *decoded);
    else
      EXPECT_NE(decoded->stop, Stop::kBranch) << "only what LLVM was asked about is left out";
  }
  EXPECT_FALSE(Decode(code, 0, 1)) << "nothing is new";
}

TEST_F(StoredBlocksTest, GrowByWhatIsNew) {
  const Code code = RandomCode(3, 10000);
  ASSERT_TRUE(Decode(code, 0, 4));
  const size_t before = Stored(code)->blocks().size();
  ASSERT_TRUE(Decode(code, 1, 4));
  EXPECT_GT(Stored(code)->blocks().size(), before + before / 2);
  ExpectSameAsWithout(code);
}

TEST_F(StoredBlocksTest, AreNotKeptWhereTheyAreFew) {
  const Code code = RandomCode(4, 10000);
  EXPECT_FALSE(Decode(code, 0, 200));
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(StoredBlocksTest, AreOthersWhenTheCodeIsAnother) {
  const Code code = RandomCode(5, 30000);
  ASSERT_TRUE(Decode(code, 0, 3));
  for (const size_t at : {size_t{0}, size_t{4095}, size_t{4096}, size_t{17000}, size_t{29999}}) {
    Code patched = code;
    patched[at] = 0xcc;
    EXPECT_EQ(Stored(patched), nullptr) << at;
    ExpectSameAsWithout(patched);
  }
  Code shorter = code;
  shorter.pop_back();
  EXPECT_EQ(Stored(shorter), nullptr);
  ExpectSameAsWithout(shorter);
}

TEST_F(StoredBlocksTest, DependOnThePagesTheyWereDecodedFromOnly) {
  Code code = RandomCode(6, 5 * 4096);
  BlockCache cache(code);
  cache.UseDisk(Disk(), kName);
  for (size_t at = 4096; at < 2 * 4096 - 600; ++at) cache.Get(at, CodeMode::kX86_64);
  ASSERT_TRUE(cache.Keep());
  code[100] ^= 0xff;
  code[4 * 4096] ^= 0xff;
  EXPECT_NE(Stored(code), nullptr);
  code[4096 + 100] ^= 0xff;
  EXPECT_EQ(Stored(code), nullptr);
}

// A whole file, by its checksum, that holds nonsense: nothing is read outside, no search hangs.
TEST_F(StoredBlocksTest, NonsenseInAWholeFileIsRefused) {
  const Code code = RandomCode(7, 3000);
  ASSERT_TRUE(Decode(code, 0, 2));
  const auto loaded = Disk()->Load("section-x86-64");
  const Code good(loaded->content().begin(), loaded->content().end());
  const auto open = [&](const Code& content) {
    EXPECT_TRUE(Disk()->Store("nonsense", content));
    return StoredBlocks::Open(Disk()->Load("nonsense"), code);
  };
  ASSERT_NE(open(good), nullptr);
  for (size_t at = 0; at < 48; ++at) {  // the head's numbers
    for (const uint8_t flip : {0x01, 0x20, 0x80}) {
      Code bad = good;
      bad[at] ^= flip;
      EXPECT_EQ(open(bad), nullptr) << "byte " << at;
    }
  }
  const auto set = [&](size_t at, uint64_t value, size_t size) {
    Code bad = good;
    std::memcpy(bad.data() + 64 + at, &value, size);
    return open(bad);
  };
  const size_t blocks = Stored(code)->blocks().size();
  EXPECT_EQ(set(offsetof(StaticBlock, offset), code.size(), 8), nullptr);
  EXPECT_EQ(set(offsetof(StaticBlock, lengths), good.size(), 8), nullptr);
  EXPECT_EQ(set(offsetof(StaticBlock, lengths), uint64_t{0} - 4096, 8), nullptr);
  EXPECT_EQ(set(offsetof(StaticBlock, size), code.size() + 1, 4), nullptr);
  EXPECT_EQ(set(offsetof(StaticBlock, count), 257, 2), nullptr);
  EXPECT_EQ(set(offsetof(StaticBlock, stop), 9, 1), nullptr);
  EXPECT_EQ(set(blocks * sizeof(StaticBlock), blocks + 1, 4), nullptr) << "of the table";
  for (size_t size = 0; size < good.size(); size += 37)
    EXPECT_EQ(open(Code(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))), nullptr);
}

TEST_F(StoredBlocksTest, ATableWithoutAnEndIsRefused) {
  const Code code = RandomCode(8, 3000);
  ASSERT_TRUE(Decode(code, 0, 2));
  const auto loaded = Disk()->Load("section-x86-64");
  Code bad(loaded->content().begin(), loaded->content().end());
  const size_t blocks = Stored(code)->blocks().size();
  uint64_t bits = 0;
  std::memcpy(&bits, bad.data() + 24, sizeof bits);
  for (size_t i = 0; i < size_t{1} << bits; ++i) {
    const uint32_t one = 1;
    std::memcpy(bad.data() + 64 + blocks * sizeof(StaticBlock) + 4 * i, &one, sizeof one);
  }
  ASSERT_TRUE(Disk()->Store("section-x86-64", bad));
  EXPECT_EQ(Stored(code), nullptr);
  ExpectSameAsWithout(code);
}

TEST_F(StoredBlocksTest, ManyThreadsGetTheSameBlocks) {
  const Code code = RandomCode(10, 8000);
  ASSERT_TRUE(Decode(code, 0, 2));
  BlockCache cache(code);
  cache.UseDisk(Disk(), kName);
  std::vector<std::vector<const StaticBlock*>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& blocks : seen)
      threads.emplace_back([&] {
        for (size_t at = 0; at < code.size(); ++at)
          blocks.push_back(cache.Get(at, CodeMode::kX86_64));
      });
  }
  for (const auto& blocks : seen) EXPECT_EQ(blocks, seen[0]);
  EXPECT_TRUE(cache.Keep());
  ExpectSameAsWithout(code);
}

TEST_F(StoredBlocksTest, TellWhichModesWereAskedForOnly) {
  const Code code = RandomCode(9, 5000);
  ASSERT_TRUE(Decode(code, 0, 2));
  BlockCache cache(code);
  cache.UseDisk(Disk(), kName);
  EXPECT_FALSE(cache.HasDecoded(CodeMode::kX86_64));
  cache.Get(0, CodeMode::kX86_64);
  EXPECT_TRUE(cache.HasDecoded(CodeMode::kX86_64));
  EXPECT_FALSE(cache.HasDecoded(CodeMode::kX86_32));
}

}  // namespace
}  // namespace flowback
