// SPDX-License-Identifier: MIT
// What the code itself says of its frames, against what the tables of the same files say.
#include "replay/symbols/frames/frame_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decode/instruction/classify.h"
#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/symbols/frames/unwind_table.h"
#include "tests/support/places.h"

namespace flowback::symbols {
namespace {

constexpr unsigned kStackPointer = 7;
constexpr unsigned kFramePointer = 6;

using Instructions = std::vector<std::vector<uint8_t>>;

std::vector<uint8_t> BytesOf(const Instructions& code) {
  std::vector<uint8_t> bytes;
  for (const auto& each : code) bytes.insert(bytes.end(), each.begin(), each.end());
  return bytes;
}

struct Sums {
  size_t compared = 0;
  size_t wrong = 0;
  size_t asked = 0;
};

// Compares the rules at some instructions of one function, whose entry is the usual one.
void CompareFunction(const UnwindTable& table, Bytes code, uint64_t file_offset, Sums& sums) {
  const auto at_begin = table.RulesAt(file_offset);
  if (!at_begin || at_begin->cfa_register != kStackPointer || at_begin->cfa_offset != 8) return;
  size_t number = 0;
  for (uint64_t at = 0; at < code.size();) {
    Instruction instruction;
    if (!Classify(code.subspan(at), CodeMode::kX86_64, instruction)) return;
    if (++number % 5 == 0) {
      ++sums.asked;
      const auto found = RulesFromBegin(code, at, CodeMode::kX86_64);
      const auto told = table.RulesAt(file_offset + at);
      if (found && told && told->cfa_register == found->cfa_register) {
        ++sums.compared;
        const FrameRule& own = found->registers[kFramePointer];
        const FrameRule& its = told->registers[kFramePointer];
        const bool saves = own.kind == FrameRule::Kind::kAtCfa && its.kind == own.kind;
        if (told->cfa_offset != found->cfa_offset || (saves && own.offset != its.offset))
          ++sums.wrong;
      }
    }
    at += instruction.length;
  }
}

// The plugin is compiled without sanitizers in every build. Their checks end in calls that never
// return, so in code with them fewer places can be compared.
TEST(FrameScan, SaysWhatTheTablesSay) {
  const std::string path = EmulatorPlugin();
  if (path.empty()) GTEST_SKIP() << "this build has no plugin for the emulator";
  const UnwindTable table = UnwindTable::Read(path);
  const auto file = SymbolFile::Open(path);
  if (file->machine() != EM_X86_64) GTEST_SKIP() << "not a program for x86-64";
  auto symbols = ElfSymbols::Read(*file, nullptr);
  Sums sums;
  size_t number = 0;
  for (const UnwindTable::Range& function : table.Functions()) {
    const auto offset = file->FileOffset(function.begin);
    const uint64_t size = function.end - function.begin;
    if (++number % 5 != 0 || !offset || size > 1000 || *offset + size > file->bytes().size())
      continue;
    // A split-off part is entered by jumps, and the program's begin by the kernel.
    const auto symbol = symbols.Find(*offset);
    if (!symbol || symbol->name.contains(".cold") || function.begin == file->entry()) continue;
    CompareFunction(table, file->bytes().subspan(*offset, size), *offset, sums);
  }
  RecordProperty("asked", static_cast<int>(sums.asked));
  RecordProperty("compared", static_cast<int>(sums.compared));
  RecordProperty("wrong", static_cast<int>(sums.wrong));
  EXPECT_GT(sums.compared, sums.asked / 2);
  EXPECT_EQ(sums.wrong, 0U);
}

// As crtbegin.o has it: push rbp; cmp; mov rbp,rsp; je; call; call; mov; pop rbp; ret.
const Instructions kDestructors = {{0x80, 0x3d, 1, 2, 0, 0, 0},
                                   {0x75, 0x20},
                                   {0x55},
                                   {0x48, 0x83, 0x3d, 1, 2, 0, 0, 0},
                                   {0x48, 0x89, 0xe5},
                                   {0x74, 5},
                                   {0xe8, 1, 2, 0, 0},
                                   {0xe8, 3, 4, 0, 0},
                                   {0xc6, 0x05, 1, 2, 0, 0, 1},
                                   {0x5d},
                                   {0xc3},
                                   {0xc3}};

TEST(FrameScan, FollowsADestructorsCaller) {
  const std::vector<uint8_t> code = BytesOf(kDestructors);
  const auto size_at = [&](uint64_t at) {
    const auto rules = RulesFromBegin(code, at, CodeMode::kX86_64);
    return rules ? rules->cfa_offset : -1;
  };
  EXPECT_EQ(size_at(0), 8);
  EXPECT_EQ(size_at(9), 8);    // ahead of the push
  EXPECT_EQ(size_at(10), 16);  // behind it
  EXPECT_EQ(size_at(25), 16);  // in the first call
  EXPECT_EQ(size_at(40), 16);
  EXPECT_EQ(size_at(41), 8);   // behind the pop
  EXPECT_EQ(size_at(42), -1);  // no way leads there
  const auto rules = RulesFromBegin(code, 28, CodeMode::kX86_64);
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->cfa_register, kStackPointer);
  EXPECT_EQ(rules->registers[kFramePointer].offset, -16);
  EXPECT_EQ(rules->registers[rules->return_register].offset, -8);
  EXPECT_TRUE(rules->from_code);
}

TEST(FrameScan, LooksBackForTheFramePointer) {
  const std::vector<uint8_t> code = BytesOf(kDestructors);
  const auto of = [&](size_t size) {
    return RulesFromFramePointer(Bytes(code).first(size), CodeMode::kX86_64);
  };
  EXPECT_FALSE(of(18));  // ahead of the instruction that makes it
  ASSERT_TRUE(of(28));
  EXPECT_EQ(of(28)->cfa_register, kFramePointer);
  EXPECT_EQ(of(28)->cfa_offset, 16);
  EXPECT_TRUE(of(33));
  EXPECT_FALSE(of(41));  // it was popped
  EXPECT_FALSE(of(42));  // another function may begin
}

TEST(FrameScan, SaysNothingWhereTheStackPointerIsNotUnderstood) {
  const auto at_end = [](const Instructions& code) {
    std::vector<uint8_t> bytes = BytesOf(code);
    bytes.push_back(0x90);
    return RulesFromBegin(bytes, bytes.size() - 1, CodeMode::kX86_64).has_value();
  };
  EXPECT_TRUE(at_end({{0x48, 0x83, 0xec, 0x18}}));                              // sub rsp,24
  EXPECT_FALSE(at_end({{0x48, 0x83, 0xe4, 0xf0}}));                             // and rsp,-16
  EXPECT_FALSE(at_end({{0x48, 0x89, 0xfc}}));                                   // mov rsp,rdi
  EXPECT_FALSE(at_end({{0x5c}}));                                               // pop rsp
  EXPECT_TRUE(at_end({{0x55}, {0x48, 0x89, 0xe5}, {0x48, 0x83, 0xe4, 0xf0}}));  // by rbp then
  EXPECT_FALSE(at_end({{0xc3}}));             // no way leads there
  EXPECT_FALSE(at_end({{0x75, 1}, {0x50}}));  // two ways, of which one has pushed
  EXPECT_FALSE(RulesFromBegin({}, 0, CodeMode::kX86_64));
  EXPECT_FALSE(RulesFromFramePointer({}, CodeMode::kX86_64));
}

}  // namespace
}  // namespace flowback::symbols
