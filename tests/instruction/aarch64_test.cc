// SPDX-License-Identifier: MIT
// AArch64's instructions. LLVM judges: llvm-objdump reads all code of Debian's libraries for arm64,
// and what the short way takes for an instruction LLVM must take for one, too.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/sanitized.h"
#include "decode/instruction/aarch64/disassemble.h"
#include "decode/instruction/accumulator.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/disassemble.h"
#include "flowback/model/execution.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;
using enum InstructionClass;

constexpr CodeMode kMode = CodeMode::kAArch64;
constexpr uint64_t kAddress = 0x401000;
constexpr const char* kLibraries = "/usr/aarch64-linux-gnu/lib";

std::vector<uint8_t> BytesOf(uint32_t word) {
  return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
          static_cast<uint8_t>(word >> 16), static_cast<uint8_t>(word >> 24)};
}

// Length 0: it is none.
Instruction Read(uint32_t word) {
  Instruction instruction;
  return Classify(BytesOf(word), kMode, instruction) ? instruction : Instruction{};
}

// The class of what LLVM calls so.
InstructionClass KindNamed(std::string_view name) {
  static const std::set<std::string_view> kIndirectJumps = {"br", "braa", "braaz", "brab", "brabz"};
  static const std::set<std::string_view> kIndirectCalls = {"blr", "blraa", "blraaz", "blrab",
                                                            "blrabz"};
  static const std::set<std::string_view> kConditionals = {"cbz", "cbnz", "tbz", "tbnz"};
  static const std::set<std::string_view> kFarCalls = {"svc", "hvc", "smc", "brk", "hlt", "udf"};
  static const std::set<std::string_view> kFarReturns = {"eret", "eretaa", "eretab", "drps"};
  if (name == "b") return kJump;
  if (name == "bl") return kCall;
  if (name.starts_with("b.") || name.starts_with("bc.")) return kConditional;
  if (name.starts_with("ret")) return kReturn;
  if (kConditionals.contains(name)) return kConditional;
  if (kIndirectJumps.contains(name)) return kIndirectJump;
  if (kIndirectCalls.contains(name)) return kIndirectCall;
  if (kFarCalls.contains(name)) return kFarCall;
  return kFarReturns.contains(name) ? kFarReturn : kOther;
}

struct Branch {
  uint32_t word;
  InstructionClass kind;
  int64_t distance;  // of the target, if the word has it
};

// Encodings from the architecture's manual, "C4.1.3 Branches, Exception Generating and System".
TEST(AArch64, EachTransferOfControl) {
  constexpr Branch kBranches[] = {
      {0x14000001, kJump, 4},          // b
      {0x17ffffff, kJump, -4},         //
      {0x15ffffff, kJump, 0x7fffffc},  // the furthest
      {0x16000000, kJump, -0x8000000},
      {0x94000002, kCall, 8},          // bl
      {0x54000040, kConditional, 8},   // b.eq
      {0x54ffffe1, kConditional, -4},  // b.ne
      {0x54800000, kConditional, -0x100000},
      {0x54000050, kConditional, 8},        // bc.eq
      {0xb4000040, kConditional, 8},        // cbz x0
      {0x35ffffe0, kConditional, -4},       // cbnz w0
      {0x36000040, kConditional, 8},        // tbz w0, #0
      {0xb707ffe0, kConditional, -4},       // tbnz x0, #32
      {0x36040000, kConditional, -0x8000},  //
      {0xd61f0000, kIndirectJump, 0},       // br x0
      {0xd71f0a11, kIndirectJump, 0},       // braa x16, x17
      {0xd61f0e1f, kIndirectJump, 0},       // brabz x16
      {0xd63f0000, kIndirectCall, 0},       // blr x0
      {0xd73f0a11, kIndirectCall, 0},       // blraa
      {0xd63f0a1f, kIndirectCall, 0},       // blraaz
      {0xd65f03c0, kReturn, 0},             // ret
      {0xd65f0000, kReturn, 0},             // ret x0
      {0xd65f0bff, kReturn, 0},             // retaa
      {0xd65f0fff, kReturn, 0},             // retab
      {0x5500001f, kReturn, 0},             // retaasppc
      {0xd65f0be0, kReturn, 0},             // retaasppcr x0
      {0xd69f03e0, kFarReturn, 0},          // eret
      {0xd69f0bff, kFarReturn, 0},          // eretaa
      {0xd6bf03e0, kFarReturn, 0},          // drps
      {0xd4000001, kFarCall, 0},            // svc
      {0xd4000002, kFarCall, 0},            // hvc
      {0xd4000003, kFarCall, 0},            // smc
      {0xd4200000, kFarCall, 0},            // brk
      {0xd4400000, kFarCall, 0},            // hlt
      {0x00000000, kFarCall, 0},            // udf
      {0x0000ffff, kFarCall, 0},            //
  };
  for (const auto& [word, kind, distance] : kBranches) {
    SCOPED_TRACE(Disassembler().Text(BytesOf(word), kAddress, kMode));
    const Instruction instruction = Read(word);
    EXPECT_EQ(instruction.length, 4);
    EXPECT_STREQ(Name(instruction.kind), Name(kind));
    if (!IsDirect(kind)) continue;
    EXPECT_EQ(instruction.Target(kAddress), kAddress + static_cast<uint64_t>(distance));
  }
  EXPECT_NE(Read(0xd4000001).flags & kFlagSyscall, 0);
  EXPECT_EQ(Read(0xd4200000).flags & kFlagSyscall, 0);
  EXPECT_NE(Read(0x94000001).flags & kFlagZeroCall, 0);
}

TEST(AArch64, WordsThatAreNoInstruction) {
  for (const uint32_t word : {0x00010000u, 0x02000000u, 0x06000000u, 0xd61f0001u, 0xd4000004u,
                              0xd67f0000u, 0xd65f0800u, 0x7fffffffu, 0x72e00000u ^ 0x40000000u})
    EXPECT_EQ(Read(word).length, 0) << std::hex << word;
  Instruction out;
  EXPECT_FALSE(Classify(Bytes(BytesOf(0xd503201f)).first(3), kMode, out)) << "three bytes of NOP";
}

TEST(AArch64, Text) {
  const auto text = [](uint32_t word) {
    return Disassembler().Text(BytesOf(word), kAddress, kMode);
  };
  if (!LlvmDisassembler(aarch64::kLlvmTarget).usable()) GTEST_SKIP() << "libLLVM 19 is absent";
  EXPECT_EQ(text(0x54000041), "b.ne 0x401008");
  EXPECT_EQ(text(0x97ffffff), "bl 0x400ffc");
  EXPECT_EQ(text(0xb707ffe0), "tbnz x0, #0x20, 0x400ffc");
  EXPECT_EQ(text(0xd65f03c0), "ret");
  EXPECT_EQ(text(0x90000bd0), "adrp x16, 0x579000");
  EXPECT_EQ(text(0x10000040), "adr x0, #8");
  EXPECT_EQ(text(0xf947fe11), "ldr x17, [x16, #0xff8]");
  EXPECT_EQ(text(0x4e20a820), "cmlt v0.16b, v1.16b, #0");
  EXPECT_EQ(text(0x02000000), "(bad)");
}

// The number of a system call stands in X8.
TEST(AArch64, NumberOfASystemCall) {
  const auto number = [](const std::vector<uint32_t>& words) {
    std::vector<uint8_t> code;
    for (const uint32_t word : words)
      for (const uint8_t byte : BytesOf(word)) code.push_back(byte);
    const std::vector<uint8_t> lengths(words.size(), 4);
    return AccumulatorBehind(code, lengths, kMode);
  };
  EXPECT_EQ(number({0xd2800ba8}), 93u);                          // mov x8, #93
  EXPECT_EQ(number({0x52800ba8, 0xd2800000, 0xaa0103e2}), 93u);  // ...; mov x0, #0; mov x2, x1
  EXPECT_EQ(number({0xd2800ba8, 0xaa0103e8}), std::nullopt);     // mov x8, x1
  EXPECT_EQ(number({0xd2800ba8, 0xf8408d09}), std::nullopt);     // ldr x9, [x8, #8]!
  EXPECT_EQ(number({0xd2800ba8, 0xa94023e0}), std::nullopt);     // ldp x0, x8, [sp]
  EXPECT_EQ(number({0xd2800ba0}), std::nullopt);                 // mov x0, #93
  EXPECT_EQ(number({}), std::nullopt);
}

// LDTR X0, [X0]: LLVM takes it for one that changes its base, too, which it does not. Linux reads
// from programs by it.
bool IsUnprivilegedOfItsBase(uint32_t word) {
  return (word & 0x3f200c00) == 0x38000800 && (word & 31) == (word >> 5 & 31);
}

// Whatever the short way says LLVM must say, of words of every kind.
TEST(AArch64, TheShortWayIsRight) {
  LlvmDisassembler llvm(aarch64::kLlvmTarget);
  if (!llvm.usable()) GTEST_SKIP() << "libLLVM 19 is absent";
  std::mt19937 random(19);
  constexpr unsigned kEach = FLOWBACK_SANITIZED ? 1'000 : 20'000;
  unsigned wrong = 0;
  unsigned instructions = 0;
  for (uint32_t part = 0; part < 128; ++part) {  // bits 31 to 25
    for (unsigned i = 0; i < kEach && wrong < 20; ++i) {
      const uint32_t word = part << 25 | (random() & 0x1ffffff);
      const std::vector<uint8_t> code = BytesOf(word);
      Instruction ours;
      if (!ClassifyCommonForm(code, kMode, ours)) continue;
      ++instructions;
      std::string text;
      const bool known = llvm.Run(code, 0, &text) == 4;
      const std::string name = text.substr(0, text.find(' '));
      if (known ? ours.kind == KindNamed(name) : IsUnprivilegedOfItsBase(word)) continue;
      ++wrong;
      ADD_FAILURE() << std::hex << word << ": " << Name(ours.kind) << ", but LLVM: " << text;
    }
  }
  EXPECT_GT(instructions, 128 * kEach / 4);
}

// What transfers control to LLVM must do so to us: all words of that part are tried whose other
// fields are of the values at their ends.
TEST(AArch64, NoTransferIsMissed) {
  LlvmDisassembler llvm(aarch64::kLlvmTarget);
  if (!llvm.usable()) GTEST_SKIP() << "libLLVM 19 is absent";
  constexpr uint32_t kEnds[] = {0, 1, 2, 30, 31};
  constexpr uint32_t kStep = FLOWBACK_SANITIZED ? 7 : 1;
  unsigned wrong = 0;
  for (uint32_t high = 0; high < 1 << 11; ++high)
    for (uint32_t second = 0; second < 1 << 6; second += kStep)
      for (const uint32_t middle : kEnds)
        for (const uint32_t base : kEnds)
          for (const uint32_t last : kEnds) {
            if ((high >> 4 & 7) != 0b101 && high >> 5 != 0b010101 && high >> 5 != 0) continue;
            const uint32_t word = high << 21 | middle << 16 | second << 10 | base << 5 | last;
            const std::vector<uint8_t> code = BytesOf(word);
            std::string text;
            if (llvm.Run(code, 0, &text) != 4) continue;
            const InstructionClass theirs = KindNamed(text.substr(0, text.find(' ')));
            if (Read(word).kind == theirs) continue;
            if (++wrong < 20) ADD_FAILURE() << std::hex << word << ": LLVM: " << text;
          }
  EXPECT_EQ(wrong, 0u);
}

struct Lines {
  explicit Lines(const std::string& command) : pipe(popen(command.c_str(), "r"), pclose) {}
  bool Next(std::string& line) {
    char* text = nullptr;
    size_t room = 0;
    const ssize_t size = getline(&text, &room, pipe.get());
    if (size > 0) line.assign(text, static_cast<size_t>(size));
    std::free(text);
    return size > 0;
  }
  std::unique_ptr<FILE, int (*)(FILE*)> pipe;
};

std::vector<fs::path> Arm64Files() {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kLibraries, none))
    if (entry.path().filename().string().contains(".so.") && entry.is_regular_file() &&
        !entry.is_symlink())
      files.push_back(entry.path());
  // More of them, with colons between: a python3 for arm64, say.
  if (const char* more = std::getenv("FLOWBACK_ARM64_FILES")) {
    std::istringstream words(more);
    for (std::string word; std::getline(words, word, ':');) files.emplace_back(word);
  }
  return files;
}

struct Sweep {
  unsigned instructions = 0;
  unsigned of_the_short_way = 0;
  unsigned branches = 0;
  unsigned unknown = 0;  // to LLVM: data that lies in code
  unsigned wrong = 0;
};

// "   27240: a9bf7bf0     \tstp\tx16, x30, [sp, #-0x10]!", "... \tb.ne\t0x27300 <name>".
void Check(const std::string& line, Sweep& sweep) {
  const size_t colon = line.find(": ");
  const size_t tab = line.find('\t');
  if (colon == line.npos || tab == line.npos || line[0] != ' ' || tab < colon + 10) return;
  const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
  const auto word = static_cast<uint32_t>(std::strtoul(&line[colon + 2], nullptr, 16));
  const std::string name = line.substr(tab + 1, line.find_first_of("\t\n", tab + 1) - tab - 1);
  if (name.starts_with('.')) return;  // the file says that it is data
  const Instruction ours = Read(word);
  const bool unknown = name == "<unknown>";
  bool right = (ours.length == 0) == unknown;
  if (!unknown) right = ours.length == 4 && ours.kind == KindNamed(name);
  if (right && IsDirect(ours.kind)) {
    // The target is the last operand.
    const size_t operand = line.rfind("0x", line.find(" <", tab));
    right = std::strtoull(&line[operand], nullptr, 16) == ours.Target(address);
  }
  Instruction same;
  sweep.of_the_short_way += ClassifyCommonForm(BytesOf(word), kMode, same);
  sweep.instructions += !unknown;
  sweep.unknown += unknown;
  sweep.branches += ours.kind != kOther;
  if (!right && ++sweep.wrong < 20) ADD_FAILURE() << "we: " << Name(ours.kind) << "; " << line;
}

TEST(AArch64, DebiansLibrariesAreReadAsLlvmReadsThem) {
  const std::vector<fs::path> files = Arm64Files();
  if (files.empty())
    GTEST_SKIP() << "no libraries for arm64 in " << kLibraries << ": install libc6-arm64-cross and "
                 << "libstdc++6-arm64-cross";
  if (std::system("command -v llvm-objdump-19 >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "llvm-objdump-19 is absent";
  Sweep sweep;
  for (const fs::path& file : files) {
    if (FLOWBACK_SANITIZED && file.filename() != "libc.so.6") continue;
    Lines lines("llvm-objdump-19 -d '" + file.string() + "'");
    std::string line;
    while (sweep.wrong < 20 && lines.Next(line)) Check(line, sweep);
  }
  std::printf("%zu files: %u instructions, %u by the short way, %u branches, %u words of data\n",
              files.size(), sweep.instructions, sweep.of_the_short_way, sweep.branches,
              sweep.unknown);
  EXPECT_EQ(sweep.wrong, 0u);
  EXPECT_GT(sweep.instructions, 250'000u) << "Debian's libc alone has more";
  EXPECT_GT(sweep.of_the_short_way, sweep.instructions / 100 * 90);
}

}  // namespace
}  // namespace flowback
