// SPDX-License-Identifier: MIT
// The code of whole programs and libraries, held against what objdump shows of them.
#include "flowback/replay/static_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "tests/code/temporary_folder.h"

namespace flowback {
namespace {

std::optional<StaticCode> CodeOf(const std::string& file, std::vector<uint64_t> executed = {}) {
  const auto image = ObjectImage::Open({.path = file, .build_id = {}}, file);
  if (!image) return std::nullopt;
  auto code = StaticCode::Of(*image, {}, executed);
  if (!code) return std::nullopt;
  return std::move(*code);
}

struct ClosePipe {
  void operator()(FILE* pipe) const { pclose(pipe); }
};

std::unordered_set<uint64_t> ShownByObjdump(const std::string& file) {
  std::unordered_set<uint64_t> starts;
  const std::string command = "objdump -dw --no-show-raw-insn '" + file + "'";
  const std::unique_ptr<FILE, ClosePipe> text(popen(command.c_str(), "r"));
  char* line = nullptr;
  size_t size = 0;
  while (text != nullptr && getline(&line, &size, text.get()) > 0) {
    char* end = nullptr;
    const uint64_t address = std::strtoull(line, &end, 16);
    if (line[0] == ' ' && end != nullptr && *end == ':') starts.insert(address);
  }
  std::free(line);
  return starts;
}

// What the header promises of every object.
void ExpectSound(const StaticCode& code) {
  uint64_t end = 0;
  uint32_t block = 0;
  for (uint32_t i = 0; i < code.functions().size(); ++i) {
    const StaticFunction& function = code.functions()[i];
    ASSERT_GE(function.begin, end);
    end = function.end;
    ASSERT_EQ(function.first_block, block);
    block += function.block_count;
    ASSERT_LT(function.whole, code.functions().size());
    ASSERT_EQ(code.functions()[function.whole].whole, function.whole) << function.name;
    ASSERT_EQ(function.code_bytes + function.left_out_bytes + function.uncertain_bytes,
              function.end - function.begin)
        << function.name;
  }
  ASSERT_EQ(block, code.blocks().size());
  uint32_t next = 0;
  for (const StaticCodeBlock& each : code.blocks()) {
    ASSERT_EQ(each.first, next);
    next += each.count;
    uint64_t at = each.begin;
    for (uint32_t i = each.first; i < next; ++i) {
      const StaticInstruction& instruction = code.instructions()[i];
      ASSERT_EQ(instruction.address, at);
      ASSERT_TRUE(i + 1 == next || instruction.kind == InstructionClass::kOther);
      at += instruction.length;
    }
    ASSERT_EQ(at, each.end);
    const StaticFunction& function = code.functions()[each.function];
    ASSERT_TRUE(each.begin >= function.begin && each.begin < function.end);
  }
  ASSERT_EQ(next, code.instructions().size());
}

class WithObjdump : public testing::TestWithParam<const char*> {};

TEST_P(WithObjdump, EveryInstructionIsOneThatItShows) {
  if (!std::filesystem::exists(GetParam())) GTEST_SKIP() << GetParam() << " is not installed";
  const auto image = ObjectImage::Open({.path = GetParam(), .build_id = {}}, GetParam());
  ASSERT_TRUE(image);
  const auto code = CodeOf(GetParam());
  ASSERT_TRUE(code);
  ExpectSound(*code);
  const std::unordered_set<uint64_t> shown = ShownByObjdump(GetParam());
  if (shown.empty()) GTEST_SKIP() << "there is no objdump";
  uint64_t others = 0;
  uint64_t uncertain = 0;
  uint64_t bytes = 0;
  for (const StaticInstruction& each : code->instructions()) {
    if (shown.contains(each.address)) continue;
    // Shown as one: FWAIT with the instruction behind it, and one with a LOCK prefix that a branch
    // jumps over.
    uint8_t byte = 0;
    ASSERT_EQ(image->space().Read(each.address - 1, &byte, 1), 1U);
    ASSERT_TRUE(byte == 0x9b || byte == 0xf0) << std::hex << each.address;
    ++others;
  }
  for (const StaticFunction& function : code->functions()) {
    uncertain += function.uncertain_bytes;
    bytes += function.end - function.begin;
  }
  EXPECT_LE(others, code->instructions().size() / 2000);
  EXPECT_LE(uncertain, bytes / 200) << "0.31 % of the C library's are the most";
}

INSTANTIATE_TEST_SUITE_P(Debian, WithObjdump,
                         testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/bin/python3",
                                         "/bin/gzip", "/bin/sh"));

}  // namespace
}  // namespace flowback
