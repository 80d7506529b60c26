// SPDX-License-Identifier: MIT
// The tables of a program built here, sound and damaged. Where exceptions really land is for
// tests/calls/own_stacks_test.cc.
#include "replay/symbols/frames/unwind_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "replay/symbols/frames/frame_expression.h"
#include "tests/support/places.h"

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

// readelf's name of an x86-64 register, as it prints rules.
std::string RegisterName(unsigned number) {
  constexpr const char* kNames[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"};
  if (number < std::size(kNames)) return kNames[number];
  return number == 16 ? "ra" : "r" + std::to_string(number);
}

std::string Signed(int64_t offset) { return (offset < 0 ? "" : "+") + std::to_string(offset); }

// As readelf puts it; empty: it says nothing that can be compared.
std::string TextOf(const FrameRule& rule) {
  switch (rule.kind) {
    case FrameRule::Kind::kAtCfa:
      return "c" + Signed(rule.offset);
    case FrameRule::Kind::kIsCfa:
      return "v" + Signed(rule.offset);
    case FrameRule::Kind::kAtExpression:
      return "exp";
    case FrameRule::Kind::kIsExpression:
      return "vexp";
    case FrameRule::Kind::kRegister:
      return RegisterName(static_cast<unsigned>(rule.offset));
    case FrameRule::Kind::kSame:
    case FrameRule::Kind::kUndefined:
      return "u";
  }
  return "";
}

// Every row that readelf prints of the file's tables is ours; returns how many there are.
size_t CompareWithReadelf(const std::string& path) {
  const UnwindTable table = UnwindTable::Read(path);
  const auto file = SymbolFile::Open(path);
  FILE* pipe = popen(("readelf --debug-dump=frames-interp " + path + " 2>/dev/null").c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  if (pipe == nullptr) return 0;
  std::vector<std::string> columns;
  bool of_frame = false;
  size_t rows = 0;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream words(line);
    std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.empty()) continue;
    if (std::ranges::count(fields, "FDE") != 0) of_frame = true;
    if (std::ranges::count(fields, "CIE") != 0) of_frame = false;
    if (fields[0] == "LOC") {
      columns = fields;
    } else if (of_frame && fields[0].size() == 16 && fields.size() == columns.size()) {
      const auto offset = file->FileOffset(std::stoull(fields[0], nullptr, 16));
      const auto rules = offset ? table.RulesAt(*offset) : std::nullopt;
      EXPECT_TRUE(rules) << path << ": " << line;
      if (!rules) continue;
      ++rows;
      const std::string cfa = rules->cfa_expression.empty()
                                  ? RegisterName(rules->cfa_register) + Signed(rules->cfa_offset)
                                  : "exp";
      EXPECT_EQ(cfa, fields[1]) << path << ": " << line;
      for (unsigned reg = 0; reg <= 16; ++reg) {
        const auto column = std::ranges::find(columns, RegisterName(reg));
        const std::string wanted =
            column == columns.end() ? "u" : fields[static_cast<size_t>(column - columns.begin())];
        EXPECT_EQ(TextOf(rules->registers[reg]), wanted == "s" ? "u" : wanted)
            << path << ", " << RegisterName(reg) << ": " << line;
      }
    }
  }
  pclose(pipe);
  return rows;
}

#define FLOWBACK_NEEDS_READELF()                                       \
  if (std::system("command -v readelf >/dev/null 2>&1") != 0)          \
    GTEST_SKIP() << "no readelf";                                      \
  else if (SymbolFile::Open("/proc/self/exe")->machine() != EM_X86_64) \
  GTEST_SKIP() << "the names are those of x86-64"

TEST(UnwindTable, RulesAreThoseThatReadelfPrints) {
  FLOWBACK_NEEDS_READELF();
  size_t rows = 0;
  for (const std::string& path : {std::string("/lib/x86_64-linux-gnu/libc.so.6"),
                                  std::filesystem::read_symlink("/proc/self/exe").string()})
    if (std::filesystem::exists(path)) rows += CompareWithReadelf(path);
  EXPECT_GT(rows, 5'000u);
}

// Programs that are built without tables for exceptions.
std::vector<std::string> FramePrograms() {
  std::vector<std::string> paths;
  for (const char* name :
       {"frames_plain", "frames_packed", "frames_packed_before", "frames_kept", "frames_large"}) {
    const std::string path = BuildFolder() + "/tests/symbols/" + name;
    if (std::filesystem::exists(path)) paths.push_back(path);
  }
  return paths;
}

TEST(UnwindTable, RulesForDebuggersTakeThePlaceOfThoseForExceptions) {
  FLOWBACK_NEEDS_READELF();
  const std::vector<std::string> paths = FramePrograms();
  EXPECT_GE(paths.size(), 4U);
  for (const std::string& path : paths) {
    EXPECT_GT(CompareWithReadelf(path), 15U) << path;
    const auto file = SymbolFile::Open(path);
    const UnwindTable table = UnwindTable::Read(path);
    const FileSection* text = file->Find(".text");
    size_t known = 0;
    for (uint64_t at = 0; at < text->header.sh_size; ++at)
      known += table.RulesAt(text->header.sh_offset + at) ? 1 : 0;
    EXPECT_GT(known, text->header.sh_size / 2) << path << ": what the linker added has none";
  }
}

// What a procedure linkage table has: 16 bytes for each entry, which pushes at its byte 11.
TEST(FrameExpression, OfAProcedureLinkageTable) {
  constexpr uint8_t kExpression[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
                                     0x3b, 0x2a, 0x33, 0x24, 0x22};
  uint64_t counter = 0x1000;
  const ExpressionInput input = {
      .register_value = [&](unsigned reg) -> std::optional<uint64_t> {
        if (reg == 7) return 0x7000;
        return reg == 16 ? std::optional(counter) : std::nullopt;
      },
      .memory = [](uint64_t, unsigned) -> std::optional<uint64_t> { return std::nullopt; }};
  EXPECT_EQ(Evaluate(kExpression, std::nullopt, input), 0x7008u);
  counter = 0x100b;
  EXPECT_EQ(Evaluate(kExpression, std::nullopt, input), 0x7010u);
}

TEST(FrameExpression, OtherOperationsAndDamage) {
  const ExpressionInput input = {
      .register_value = [](unsigned) -> std::optional<uint64_t> { return std::nullopt; },
      .memory = [](uint64_t address, unsigned width) -> std::optional<uint64_t> {
        return address * 10 + width;
      }};
  const auto of = [&](std::vector<uint8_t> code) { return Evaluate(code, 5, input); };
  EXPECT_EQ(of({}), 5u);
  EXPECT_EQ(of({0x06}), 58u);                                // deref
  EXPECT_EQ(of({0x94, 4}), 54u);                             // deref_size
  EXPECT_EQ(of({0x23, 0x80, 0x01}), 133u);                   // plus_uconst 128
  EXPECT_EQ(of({0x09, 0xff, 0x22}), 4u);                     // const1s -1, plus
  EXPECT_EQ(of({0x12, 0x1e}), 25u);                          // dup, mul
  EXPECT_EQ(of({0x31, 0x16, 0x1c}), uint64_t{0} - 4);        // lit1, swap, minus
  EXPECT_EQ(of({0x31, 0x28, 0x01, 0x00, 0x13, 0x3f}), 15u);  // branch over a drop
  EXPECT_EQ(of({0x31, 0x14, 0x15, 0x02}), 5u);               // lit1, over, pick 2
  EXPECT_FALSE(of({0x2f, 0xfd, 0xff})) << "a loop without end";
  EXPECT_FALSE(of({0x2f, 0x00, 0x7f})) << "a jump to nowhere";
  EXPECT_FALSE(of({0x13, 0x13})) << "nothing to drop";
  EXPECT_FALSE(of({0x13})) << "nothing left";
  EXPECT_FALSE(of({0x77, 0x00})) << "a register that is not known";
  EXPECT_FALSE(of({0x0e, 0x01})) << "cut";
  EXPECT_FALSE(of({0xff})) << "no operation";
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; second += 5)
      of({static_cast<uint8_t>(first), static_cast<uint8_t>(second), static_cast<uint8_t>(first)});
}

// Nothing but answers, whatever the bytes are.
void ExpectAnswers(const std::string& sound, const std::vector<const char*>& damaged,
                   const SymbolFile& file) {
  const std::string copy = testing::TempDir() + "/flowback_unwind_" + std::to_string(getpid());
  uint64_t random = 5;
  const auto next = [&](uint64_t most) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return (random >> 33) % most;
  };
  for (int round = 0; round < 30; ++round) {
    std::string bytes = sound;
    for (const char* name : damaged) {
      const FileSection* section = file.Find(name);
      ASSERT_NE(section, nullptr) << name;
      const uint64_t changes = std::min<uint64_t>(200, section->header.sh_size / 4);
      for (uint64_t i = 0; i < changes; ++i)
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
      if (i % 4 == 0) table.RulesAt(at);
    }
  }
  std::filesystem::remove(copy);
}

TEST(UnwindTable, Damaged) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  ExpectAnswers(Program(), {".eh_frame", ".gcc_except_table"}, *SymbolFile::Open(path));
}

TEST(UnwindTable, DamagedForDebuggers) {
  for (const std::string& path : FramePrograms()) {
    std::ifstream file(path, std::ios::binary);
    const std::string sound{std::istreambuf_iterator<char>(file), {}};
    const char* name = path.ends_with("_before") ? ".zdebug_frame" : ".debug_frame";
    ExpectAnswers(sound, {name}, *SymbolFile::Open(path));
  }
}

}  // namespace
}  // namespace flowback::symbols
