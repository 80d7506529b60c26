// SPDX-License-Identifier: MIT
// The code of programs that are made here, so that it is known what they have.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "flowback/replay/static_code.h"
#include "tests/code/temporary_folder.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

using Source = StaticFunction::Source;

bool Shell(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

std::optional<StaticCode> CodeIn(const std::string& file, std::vector<uint64_t> executed = {}) {
  const auto image = ObjectImage::Open({.path = file, .build_id = {}}, file);
  if (!image) return std::nullopt;
  auto code = StaticCode::Of(*image, {}, executed);
  if (!code) return std::nullopt;
  return std::move(*code);
}

const StaticFunction* Named(const StaticCode& code, const std::string& name) {
  for (const StaticFunction& function : code.functions())
    if (function.name == name && code.functions().data() + function.whole == &function)
      return &function;
  return nullptr;
}

std::set<uint64_t> Starts(const StaticCode& code) {
  std::set<uint64_t> starts;
  for (const StaticInstruction& each : code.instructions()) starts.insert(each.address);
  return starts;
}

class CompiledTest : public ::testing::Test {
 protected:
  // Empty: this machine can't make it.
  std::string Compile(const std::string& compiler, const std::string& options,
                      const std::string& source) {
    const std::string file = folder_ / std::to_string(++made_) + ".so";
    const std::string command = compiler + " -nostdlib -fno-stack-protector " + options + " -o " +
                                file + " " PROGRAMS "/" + source;
    return !compiler.empty() && Shell(command) ? file : std::string();
  }
  static std::string Stripped(const std::string& file, const std::string& strip) {
    const std::string copy = file + ".stripped";
    return Shell(strip + " -o " + copy + " " + file) ? copy : std::string();
  }
  // Compiles hand-written code.
  StaticCode Odd() {
    const std::string file = Compile(COVERAGE_CXX, "-shared", "odd.s");
    auto code = CodeIn(file);
    if (!code) ADD_FAILURE() << "odd.s can't be compiled";
    return code ? std::move(*code) : StaticCode();
  }

  TemporaryFolder folder_;
  int made_ = 0;
};

struct Build {
  const char* compiler;
  const char* options;
  // Keeps the target of a computed goto on the stack, where it is not looked for.
  bool hides_goto = false;
  const char* strip = COVERAGE_STRIP;
};

constexpr const char* kArmGcc = "aarch64-linux-gnu-gcc";
constexpr const char* kArmStrip = "aarch64-linux-gnu-strip";

class SwitchesTest : public CompiledTest, public ::testing::WithParamInterface<Build> {};

TEST_P(SwitchesTest, AllCasesAreFound) {
  const std::string file = Compile(GetParam().compiler, GetParam().options, "switches.c");
  if (file.empty()) GTEST_SKIP() << "no such compiler";
  const auto code = CodeIn(file);
  ASSERT_TRUE(code);
  for (const char* name :
       {"dense", "letters", "masked", "interpreter", "computed", "many", "use"}) {
    const StaticFunction* function = Named(*code, name);
    ASSERT_NE(function, nullptr) << name;
    const bool hidden = GetParam().hides_goto && std::string(name) == "computed";
    EXPECT_EQ(function->uncertain_bytes != 0, hidden) << name;
    EXPECT_EQ(function->unresolved_jumps, hidden ? 1U : 0U) << name;
  }
  const auto without = CodeIn(Stripped(file, GetParam().strip));
  ASSERT_TRUE(without);
  EXPECT_EQ(Starts(*without), Starts(*code)) << "the same from the unwind table alone";
}

INSTANTIATE_TEST_SUITE_P(
    Compilers, SwitchesTest,
    ::testing::Values(
        Build{COVERAGE_CXX, "-x c -O0 -shared -fPIC"},
        Build{COVERAGE_CXX, "-x c -O2 -shared -fPIC"},
        Build{COVERAGE_CXX, "-x c -O3 -shared -fPIC -fcf-protection"},
        Build{COVERAGE_CXX, "-x c -O2 -static -no-pie -fno-pic -Wl,-e,dense"},
        Build{COVERAGE_CXX, "-x c -O0 -static -no-pie -fno-pic -Wl,-e,dense"},
        Build{COVERAGE_CXX, "-x c -O2 -m32 -shared -fPIC"},
        Build{COVERAGE_CXX, "-x c -O2 -m32 -static -no-pie -fno-pic -Wl,-e,dense"},
        Build{COVERAGE_CLANG, "-x c -O0 -shared -fPIC", true},
        Build{COVERAGE_CLANG, "-x c -O2 -shared -fPIC"},
        Build{COVERAGE_CLANG, "-x c -O2 -static -no-pie -fno-pic -Wl,-e,dense"},
        Build{COVERAGE_CLANG, "-x c -O2 -m32 -shared -fPIC"},
        Build{kArmGcc, "-x c -O0 -shared -fPIC", false, kArmStrip},
        Build{kArmGcc, "-x c -O2 -shared -fPIC", false, kArmStrip},
        Build{kArmGcc, "-x c -O3 -shared -fPIC -mbranch-protection=standard", false, kArmStrip},
        // By -fipa-ra a table's address stays where calls may change it.
        Build{kArmGcc, "-x c -O2 -fno-ipa-ra -static -no-pie -fno-pic -Wl,-e,dense", false,
              kArmStrip},
        Build{COVERAGE_CLANG, "--target=aarch64-linux-gnu -x c -O0 -shared -fPIC", true, kArmStrip},
        Build{COVERAGE_CLANG, "--target=aarch64-linux-gnu -x c -O2 -shared -fPIC", false,
              kArmStrip}));

TEST_F(CompiledTest, SymbolsOfNoSizeAndInsideOfOthers) {
  const StaticCode code = Odd();
  const StaticFunction* unsized = Named(code, "unsized");
  const StaticFunction* outer = Named(code, "outer");
  const StaticFunction* inner = Named(code, "inner");
  ASSERT_TRUE(unsized != nullptr && outer != nullptr && inner != nullptr);
  EXPECT_EQ(unsized->end, outer->begin);
  EXPECT_EQ(outer->end, inner->begin);
  const StaticFunction* part = code.FunctionAt(inner->end);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->name, "outer");
  EXPECT_EQ(&code.functions()[part->whole], outer);
  EXPECT_EQ(part->code_bytes, part->end - part->begin);
}

TEST_F(CompiledTest, AJumpOverAPrefixMakesTwoInstructions) {
  const StaticCode code = Odd();
  const StaticFunction* unsized = Named(code, "unsized");
  ASSERT_NE(unsized, nullptr);
  std::vector<StaticCodeBlock> blocks(
      code.blocks().begin() + unsized->first_block,
      code.blocks().begin() + unsized->first_block + unsized->block_count);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[1].begin + 1, blocks[2].begin) << "with LOCK, and without";
  EXPECT_EQ(blocks[1].end, blocks[2].end);
  EXPECT_EQ(blocks[3].begin, blocks[2].end) << "control comes here from both";
  EXPECT_EQ(unsized->code_bytes, unsized->end - unsized->begin);
}

TEST_F(CompiledTest, OneFunctionOfSeveralNamesAndALabel) {
  const StaticCode code = Odd();
  EXPECT_NE(Named(code, "alias") == nullptr, Named(code, "twin") == nullptr);
  const StaticFunction* label = Named(code, "label");
  ASSERT_NE(label, nullptr);
  EXPECT_EQ(label->uncertain_bytes, 8U) << "the word behind UD2";
  const StaticFunction* hidden = Named(code, "hidden");
  ASSERT_NE(hidden, nullptr);
  EXPECT_EQ(hidden->unresolved_jumps, 1U);
  EXPECT_EQ(hidden->uncertain_bytes, 3U);
  const StaticFunction* last = Named(code, "last");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->end - last->begin, 1U) << "cut at the section's end";
}

TEST_F(CompiledTest, APointerInMemoryIsNoTable) {
  const StaticCode code = Odd();
  const StaticFunction* function = Named(code, "through_pointer");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function->unresolved_jumps, 1U);
  EXPECT_EQ(function->uncertain_bytes, 3U) << "where the pointer leads nothing proves";
}

TEST_F(CompiledTest, WhatExecutedIsCode) {
  const std::string file = Compile(COVERAGE_CXX, "-shared", "odd.s");
  const auto before = CodeIn(file);
  ASSERT_TRUE(before);
  const uint64_t behind = Named(*before, "hidden")->begin + 2;
  EXPECT_EQ(before->InstructionAt(behind), nullptr);
  const auto code = CodeIn(file, {behind, behind + 2});
  ASSERT_TRUE(code);
  EXPECT_NE(code->InstructionAt(behind), nullptr);
  EXPECT_NE(code->InstructionAt(behind + 2), nullptr);
  EXPECT_EQ(Named(*code, "hidden")->uncertain_bytes, 0U);
  EXPECT_EQ(Named(*code, "hidden")->block_count, 2U) << "one for each way in, not each address";
}

TEST_F(CompiledTest, PaddingBehindACallThatNeverCameBackIsNoCode) {
  const std::string file = Compile(COVERAGE_CXX, "-shared", "odd.s");
  const auto unknown = CodeIn(file);
  ASSERT_TRUE(unknown);
  const StaticFunction* quits = Named(*unknown, "quits");
  ASSERT_NE(quits, nullptr);
  const uint64_t padding = quits->begin + 9;
  EXPECT_EQ(quits->left_out_bytes, 0U) << "nothing tells that it does not come back";
  EXPECT_NE(unknown->InstructionAt(padding), nullptr);
  const auto never = CodeIn(file, {padding - 5});
  ASSERT_TRUE(never);
  EXPECT_EQ(Named(*never, "quits")->left_out_bytes, 6U);
  EXPECT_EQ(Named(*never, "quits")->uncertain_bytes, 0U);
  EXPECT_EQ(Named(*never, "quits")->block_count, 3U);
  EXPECT_EQ(never->InstructionAt(padding), nullptr);
  EXPECT_NE(never->InstructionAt(padding + 6), nullptr);
  const auto back = CodeIn(file, {padding - 5, padding, padding + 5, padding + 6});
  ASSERT_TRUE(back);
  EXPECT_NE(back->InstructionAt(padding), nullptr);
  EXPECT_NE(back->InstructionAt(padding + 5), nullptr);
  EXPECT_EQ(Named(*back, "quits")->left_out_bytes, 0U);
}

TEST_F(CompiledTest, WithoutSectionHeadersTheSegmentIsLeft) {
  const std::string file = Compile(COVERAGE_CXX, "-x c -O2 -shared -fPIC", "switches.c");
  std::ifstream stream(file, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)), {});
  ASSERT_GT(bytes.size(), 64U);
  for (size_t at = 0x28; at < 0x30; ++at) bytes[at] = 0;  // e_shoff
  for (size_t at = 0x3a; at < 0x40; ++at) bytes[at] = 0;  // sizes and numbers
  WriteFile(file, bytes);
  const auto code = CodeIn(file);
  ASSERT_TRUE(code);
  for (const StaticFunction& function : code->functions())
    EXPECT_EQ(function.source, Source::kWholeSection);
}

TEST_F(CompiledTest, DamageAnywhereIsSurvived) {
  const std::string file = Compile(COVERAGE_CXX, "-x c -O2 -shared -fPIC", "switches.c");
  std::ifstream stream(file, std::ios::binary);
  const std::vector<uint8_t> whole((std::istreambuf_iterator<char>(stream)), {});
  ASSERT_GT(whole.size(), 1000U);
  uint64_t state = 18;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  unsigned read = 0;
  for (unsigned round = 0; round < 400; ++round) {
    std::vector<uint8_t> bytes = whole;
    for (unsigned i = 0; i < 1 + round % 30; ++i)
      bytes[random(bytes.size())] = static_cast<uint8_t>(random(2) == 0 ? 0xff : random(256));
    if (round % 5 == 0) bytes.resize(random(bytes.size()));
    WriteFile(file, bytes);
    const auto code = CodeIn(file);
    if (!code) continue;
    ++read;
    for (const StaticFunction& function : code->functions())
      ASSERT_EQ(function.code_bytes + function.left_out_bytes + function.uncertain_bytes,
                function.end - function.begin);
  }
  EXPECT_GT(read, 100U);
}

}  // namespace
}  // namespace flowback
