// SPDX-License-Identifier: MIT
// Part files: what is written is read, equal counts are equal bytes, and nothing else is read.
#include <gtest/gtest.h>

#include <initializer_list>
#include <iterator>
#include <random>
#include <string_view>

#include "decode/code/images/kept_images.h"
#include "replay/coverage/coverage_parts.h"
#include "tests/coverage/random_counts.h"

namespace flowback::testing {
namespace {

void ExpectError(Bytes bytes, const char* words = "") {
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  const Result<CoverageCounts> counts = PartFromBytes(exact, "x.part");
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code(), ErrorCode::kUnreadable);
  EXPECT_TRUE(counts.error().message().starts_with("x.part: ")) << counts.error().message();
  EXPECT_TRUE(counts.error().message().contains(words)) << counts.error().message();
  EXPECT_TRUE(counts.error().offset());
  EXPECT_FALSE(counts.error().remedy().empty());
}

void Seal(std::vector<uint8_t>& bytes) {
  const uint64_t hash = ImageHash::Of(Bytes(bytes).first(bytes.size() - 8));
  for (size_t i = 0; i < 8; ++i)
    bytes[bytes.size() - 8 + i] = static_cast<uint8_t>(hash >> (8 * i));
}

TEST(CoverageParts, AreReadAsTheyWereWritten) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const CoverageCounts counts = RandomCounts(seed);
    const Result<CoverageCounts> read = PartFromBytes(PartToBytes(counts), "x");
    ASSERT_TRUE(read) << "seed " << seed << ": " << read.error().message();
    EXPECT_EQ(*read, counts) << "seed " << seed;
  }
}

TEST(CoverageParts, AreTheSameBytesInAnyOrderOfAdding) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<CoverageCounts> parts;
    for (uint64_t i = 0; i < 8; ++i) parts.push_back(RandomCounts(seed * 100 + i));
    const auto bytes = [&] {
      std::ranges::shuffle(parts, random);
      CoverageCounts left;
      CoverageCounts right;
      for (size_t i = 0; i < parts.size(); ++i) (i < 3 ? left : right).Add(parts[i]);
      right.Add(*PartFromBytes(PartToBytes(left), "x"));
      return PartToBytes(right);
    };
    const std::vector<uint8_t> first = bytes();
    for (int i = 0; i < 4; ++i) ASSERT_EQ(bytes(), first) << "seed " << seed;
  }
}

std::vector<uint8_t> SomePart() {
  CoverageCounts counts;
  for (uint64_t seed = 0; seed < 5; ++seed) counts.Add(RandomCounts(seed));
  return PartToBytes(counts);
}

TEST(CoverageParts, CutAnywhereAreErrors) {
  const std::vector<uint8_t> bytes = SomePart();
  ASSERT_GT(bytes.size(), 300u);
  for (size_t size = 0; size < bytes.size(); ++size) ExpectError(Bytes(bytes).first(size));
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  ExpectError(longer, "cut or damaged");
}

TEST(CoverageParts, WithAnyDamagedByteAreErrors) {
  std::vector<uint8_t> bytes = SomePart();
  for (uint8_t& byte : bytes)
    for (const uint8_t change : {1, 0x80, 0xff}) {
      byte ^= change;
      ExpectError(bytes);
      byte ^= change;
    }
}

// With a right checksum, too, nothing is read that could not have been written.
TEST(CoverageParts, MadeUpAreErrorsOrSound) {
  std::mt19937_64 random(7);
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    std::vector<uint8_t> bytes = PartToBytes(RandomCounts(seed % 40));
    for (uint64_t i = 1 + random() % 3; i != 0; --i)
      bytes[20 + random() % (bytes.size() - 28)] = static_cast<uint8_t>(random());
    Seal(bytes);
    const Result<CoverageCounts> counts = PartFromBytes(bytes, "x");
    if (!counts) continue;
    const Result<CoverageCounts> again = PartFromBytes(PartToBytes(*counts), "x");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *counts);
  }
}

TEST(CoverageParts, OfAnotherVersionAreRefusedByName) {
  std::vector<uint8_t> bytes = SomePart();
  bytes[18] = '4';
  Seal(bytes);
  ExpectError(bytes, "a part of version 4; this program reads versions 2 and 3");
}

TEST(CoverageParts, OtherFilesAreRefused) {
  ExpectError({}, "no part of coverage");
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::vector<uint8_t> bytes(random() % 200);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    ExpectError(bytes, "no part of coverage");
  }
}

// An object with one of each, and 300 instructions executed in all.
CoverageCounts OneOfEach() {
  CoverageCounts counts;
  counts.recordings = 1;
  counts.instructions = 300;
  counts.objects.resize(1);
  ObjectCounts& object = counts.objects[0];
  object.id = {.path = "/a", .build_id = {{0xab, 0xcd}}};
  object.losses["no code image"] = 1;
  object.replaced = {{0x20, 0x30}};
  object.instructions = {{0x10, 200, 3}, {0x13, 100, 2}};
  object.branches = {{0x13, 60, 40}};
  object.targets = {{0x13, InstructionClass::kCall, 0, 0x10, 7}};
  return counts;
}

constexpr uint8_t kTotals[] = {1, 0xac, 2, 0};
constexpr uint8_t kLosses[] = {2,    13,  'n', 'o', ' ', 's', 'y', 'n', 'c', ' ',
                               'p',  'o', 'i', 'n', 't', 1,   16,  9,   't', 'r',
                               'a',  'c', 'e', ' ', 'c', 'u', 't', 2,   0,  // causes, by name
                               0xe8, 7,   3,   4,   5};                     // bytes and damage
constexpr uint8_t kObjects[] = {
    1,                                                                               // objects
    0, 2,    '/',  'a', 2,   0xab, 0xcd, 0,   0,   0,   0,   0,   0,   0,   0,   0,  // id, mode
    1, 13,   'n',  'o', ' ', 'c',  'o',  'd', 'e', ' ', 'i', 'm', 'a', 'g', 'e', 1,  // losses
    1, 0x20, 0x10,                                                                   // replaced
    2, 0x10, 0xc8, 1,   3,   3,    100,  2,                                          // instructions
    1, 0x13, 60,   40,                                                               // branches
    1, 0x13, 3,    1,   5,   7};                                                     // targets

// All but the checksum.
std::vector<uint8_t> Laid(std::string_view head, std::initializer_list<Bytes> contents) {
  std::vector<uint8_t> bytes(head.begin(), head.end());
  for (const Bytes content : contents) bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

// The layout, byte by byte: who changes it has to change the version.
TEST(CoverageParts, HaveTheDocumentedLayout) {
  CoverageCounts counts = OneOfEach();
  counts.losses.causes[LossCause::kTruncated] = {.count = 2, .bytes = 0};
  counts.losses.causes[LossCause::kNoSync] = {.count = 1, .bytes = 16};
  counts.losses.trace_bytes = 1000;
  counts.losses.missing_bytes = 3;
  counts.losses.unattributed_bytes = 4;
  counts.losses.damage = 5;
  std::vector<uint8_t> bytes = PartToBytes(counts);
  bytes.resize(bytes.size() - 8);
  EXPECT_EQ(bytes, Laid("flowback-coverage 3\n", {kTotals, kLosses, kObjects}));
}

// A part of version 2 proves of losses what its objects do.
TEST(CoverageParts, OfTheVersionBeforeAreRead) {
  std::vector<uint8_t> bytes = Laid("flowback-coverage 2\n", {kTotals, kObjects});
  bytes.resize(bytes.size() + 8);
  Seal(bytes);
  const Result<CoverageCounts> read = PartFromBytes(bytes, "x");
  ASSERT_TRUE(read) << read.error().message();
  CoverageCounts counts = OneOfEach();
  counts.losses.causes[LossCause::kNoImage] = {.count = 1, .bytes = 0};
  EXPECT_EQ(*read, counts);
}

TEST(CoverageParts, ALaterCauseOfLossesCounts) {
  std::vector<uint8_t> losses(std::begin(kLosses), std::end(kLosses));
  losses[2] = 'N';
  std::vector<uint8_t> bytes = Laid("flowback-coverage 3\n", {kTotals, losses, kObjects});
  bytes.resize(bytes.size() + 8);
  Seal(bytes);
  const Result<CoverageCounts> read = PartFromBytes(bytes, "x");
  ASSERT_TRUE(read) << read.error().message();
  const KeptLosses::Sum told{.count = 1, .bytes = 16};
  EXPECT_EQ(read->losses.causes.at(LossCause::kToldByRecorder), told);
}

}  // namespace
}  // namespace flowback::testing
