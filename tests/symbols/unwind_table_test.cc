// SPDX-License-Identifier: MIT
// The tables of a program built here, sound and damaged. Where exceptions really land is for
// tests/calls/own_stacks_test.cc.
#include "replay/symbols/unwind_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace flowback::symbols {
namespace {

std::string Program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[gnu::noinline]] int MayThrow(int value) {
  if (value > 1'000'000) throw value;
  return value + 1;
}

struct Code {
  uint64_t begin = 0;  // file offsets
  uint64_t end = 0;
};

Code CodeOf(const std::string& path) {
  const auto file = SymbolFile::Open(path);
  const FileSection* text = file->Find(".text");
  return {text->header.sh_offset, text->header.sh_offset + text->header.sh_size};
}

TEST(UnwindTable, KnowsFunctionsAndLandingPads) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  const UnwindTable table = UnwindTable::Read(path);
  const Code code = CodeOf(path);
  size_t inside = 0;
  size_t pads = 0;
  for (uint64_t at = code.begin; at < code.end; ++at) {
    const auto range = table.Find(at);
    inside += range ? 1 : 0;
    if (range) {
      ASSERT_LE(range->begin, at);
      ASSERT_GT(range->end, at);
    }
    const auto pad = table.LandingPad(at);
    if (!pad) continue;
    ++pads;
    ASSERT_GE(*pad, code.begin);
    ASSERT_LT(*pad, code.end);
  }
  EXPECT_GT(inside, (code.end - code.begin) / 2);
  EXPECT_GT(pads, 100u);
  try {
    EXPECT_EQ(MayThrow(2'000'000), 0);
  } catch (int value) {
    EXPECT_EQ(value, 2'000'000);
  }
}

TEST(UnwindTable, OfFilesThatHaveNone) {
  for (const char* path : {"/etc/passwd", "/no/such/file", "/", "/dev/null"}) {
    const UnwindTable table = UnwindTable::Read(path);
    EXPECT_FALSE(table.Find(0));
    EXPECT_FALSE(table.LandingPad(100));
    EXPECT_FALSE(table.IsLandingPad(100));
  }
}

// Nothing but answers, whatever the bytes are.
TEST(UnwindTable, Damaged) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  const std::string sound = Program();
  const auto file = SymbolFile::Open(path);
  const std::string copy = testing::TempDir() + "/flowback_unwind_" + std::to_string(getpid());
  uint64_t random = 5;
  const auto next = [&](uint64_t most) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return (random >> 33) % most;
  };
  for (int round = 0; round < 30; ++round) {
    std::string bytes = sound;
    for (const char* name : {".eh_frame", ".gcc_except_table"}) {
      const FileSection* section = file->Find(name);
      ASSERT_NE(section, nullptr);
      for (int i = 0; i < 200; ++i)
        bytes[section->header.sh_offset + next(section->header.sh_size)] =
            static_cast<char>(next(256));
    }
    std::ofstream(copy, std::ios::binary) << bytes;
    const UnwindTable table = UnwindTable::Read(copy);
    for (int i = 0; i < 20000; ++i) {
      const uint64_t at = next(bytes.size() + 100);
      table.Find(at);
      table.LandingPad(at);
      table.IsLandingPad(at);
    }
  }
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace flowback::symbols
