// SPDX-License-Identifier: MIT
// The rest of a redacted core dump: a real one, and damaged ones.
#include "replay/session/redacted_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "decode/code/core/core_file.h"
#include "tests/support/core_writer.h"

namespace flowback {
namespace {

bool Has(Bytes bytes, std::string_view text) {
  return std::ranges::search(bytes, text).begin() != bytes.end();
}

// A core of two threads: a heap with a secret, a stack of each thread with words above and below
// the stack pointer, a page of a mapped ELF file with code behind it.
struct SomeCore {
  static constexpr uint64_t kHeap = 0x10000000, kStack = 0x7fff0000, kFile = 0x400000;
  static constexpr uint64_t kPage = 4096;

  SomeCore() {
    CoreSpec spec;
    spec.tids = {42, 43};
    std::vector<uint8_t> heap(3 * kPage, 'h'), stack(8 * kPage, 'u'), file(2 * kPage, 'c');
    Put("a password", heap, 100);
    Put("below the stack", stack, kPage);
    Put("in use", stack, 6 * kPage);
    Put("\x7f"
        "ELF",
        file, 0);
    Put("code of the file", file, kPage + 10);
    spec.segments = {{.address = kFile, .bytes = file},
                     {.address = kHeap, .bytes = heap, .executable = false},
                     {.address = kStack, .bytes = stack, .executable = false}};
    bytes = WriteCore(spec);
    SetStackPointers(kStack + 5 * kPage + 8);
  }

  static void Put(std::string_view text, std::vector<uint8_t>& at, size_t offset) {
    std::copy(text.begin(), text.end(), at.begin() + static_cast<ptrdiff_t>(offset));
  }
  // The writer leaves registers at zero.
  void SetStackPointers(uint64_t value) {
    constexpr size_t kThreadAt = 32, kStackPointerAt = 112 + 19 * 8, kStatusSize = 336;
    for (const uint32_t tid : {42u, 43u}) {
      for (size_t at = 0; at + kStatusSize < bytes.size(); ++at) {
        // A note's header: five bytes of name, the size, the type NT_PRSTATUS, "CORE".
        if (bytes[at] != 5 || bytes[at + 8] != 1 || !Has(Bytes(bytes).subspan(at + 12, 4), "CORE"))
          continue;
        const size_t content = at + 20;
        if (bytes[content + kThreadAt] != tid) continue;
        for (unsigned i = 0; i < 8; ++i)
          bytes[content + kStackPointerAt + i] = static_cast<uint8_t>(value >> (8 * i));
      }
    }
  }

  std::vector<uint8_t> bytes;
};

TEST(RedactedCore, HasStacksAndNoOtherMemory) {
  const SomeCore core;
  const auto redacted = RedactCore(core.bytes, "core");
  ASSERT_TRUE(redacted) << redacted.error().message();
  EXPECT_TRUE(Has(core.bytes, "a password"));
  EXPECT_FALSE(Has(*redacted, "a password"));
  EXPECT_FALSE(Has(*redacted, "below the stack"));
  EXPECT_FALSE(Has(*redacted, "code of the file"));
  EXPECT_TRUE(Has(*redacted, "in use"));
  const auto before = ReadCore(core.bytes, "core");
  const auto after = ReadCore(*redacted, "core");
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(after->tids, before->tids);
  EXPECT_EQ(after->pid, before->pid);
  uint8_t word[6];
  EXPECT_EQ(after->Read(SomeCore::kStack + 6 * SomeCore::kPage, word, sizeof word), sizeof word);
  EXPECT_TRUE(Has(word, "in use"));
  EXPECT_EQ(after->Read(SomeCore::kHeap + 100, word, sizeof word), 0u);
  EXPECT_EQ(after->Read(SomeCore::kFile, word, 4), 4u);
}

// Hundreds of segments that all name the memory of the first one.
TEST(RedactedCore, HasNoByteOfTheDumpTwice) {
  constexpr size_t kSegments = 300, kHeader = 64, kRow = 56;
  CoreSpec spec;
  for (uint64_t i = 0; i < kSegments; ++i)
    spec.segments.push_back({.address = 0x10000000 + (i << 16), .bytes = {}, .size = 4096});
  spec.segments[0].bytes.assign(2 * SomeCore::kPage, 1);
  SomeCore::Put(
      "\x7f"
      "ELF",
      spec.segments[0].bytes, 0);
  std::vector<uint8_t> bytes = WriteCore(spec);
  constexpr ptrdiff_t kFirst = kHeader + kRow, kOffset = 8, kSize = 32;
  for (ptrdiff_t i = 1; i < ptrdiff_t{kSegments}; ++i)
    for (const ptrdiff_t field : {kOffset, kSize})
      std::copy_n(bytes.begin() + kFirst + field, 8,
                  bytes.begin() + kFirst + i * ptrdiff_t{kRow} + field);
  ASSERT_TRUE(ReadCore(bytes, "core"));
  const auto redacted = RedactCore(bytes, "core");
  ASSERT_FALSE(redacted) << redacted->size() << " of " << bytes.size();
  EXPECT_TRUE(redacted.error().message().contains("more than once")) << redacted.error().message();
}

// As where there are more headers than the ELF header has room for.
TEST(RedactedCore, CountsHeadersWhereTheDumpDoes) {
  CoreSpec spec;
  spec.count_elsewhere = true;
  spec.segments.resize(70'000);
  for (uint64_t i = 0; i < spec.segments.size(); ++i)
    spec.segments[i] = {.address = 0x10000000 + (i << 12), .bytes = {}, .size = 4096};
  for (const size_t segments : {70'000u, 2u}) {
    spec.segments.resize(segments);
    const auto redacted = RedactCore(WriteCore(spec), "core");
    ASSERT_TRUE(redacted) << redacted.error().message();
    const auto after = ReadCore(*redacted, "core");
    ASSERT_TRUE(after) << after.error().message();
    EXPECT_EQ(after->segments.size(), spec.segments.size());
    EXPECT_EQ(after->tids, spec.tids);
  }
}

TEST(RedactedCore, IsOfWholeCoresOnly) {
  const SomeCore core;
  for (size_t size = 0; size < core.bytes.size(); size += 97) {
    const auto redacted = RedactCore(Bytes(core.bytes).first(size), "core");
    if (redacted)
      EXPECT_FALSE(Has(*redacted, "a password")) << size;
    else
      EXPECT_FALSE(redacted.error().message().empty());
  }
  EXPECT_FALSE(RedactCore({}, "core"));
}

}  // namespace
}  // namespace flowback
