// SPDX-License-Identifier: MIT
// The code of whole programs and libraries, held against what objdump shows of them.
#include "flowback/replay/static_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

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

class WithObjdump : public ::testing::TestWithParam<const char*> {};

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
                         ::testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6",
                                           "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                           "/usr/lib/x86_64-linux-gnu/libm.so.6",
                                           "/usr/bin/python3", "/bin/gzip", "/bin/sh"));

std::vector<uint8_t> Content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Part {
  size_t begin = 0;
  size_t size = 0;
};

// Where a section lies in an ELF file of 64 bits.
Part SectionOf(const std::vector<uint8_t>& elf, const std::string& wanted) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), elf.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& each : sections)
    if (wanted == reinterpret_cast<const char*>(elf.data() + sections[header.e_shstrndx].sh_offset +
                                                each.sh_name))
      return {each.sh_offset, each.sh_size};
  return {};
}

// Without symbols the functions are those of the unwind table. Whatever that says, what is made of
// it is as the header promises, of code that there is, and nothing runs away.
TEST(StaticCode, OfDamagedUnwindTablesIsSound) {
  const std::vector<uint8_t> whole = Content("/bin/gzip");
  if (whole.size() < sizeof(Elf64_Ehdr) || SectionOf(whole, ".eh_frame").size == 0)
    GTEST_SKIP() << "no /bin/gzip of 64 bits with an unwind table";
  const auto undamaged = CodeOf("/bin/gzip");
  ASSERT_TRUE(undamaged);
  const TemporaryFolder folder;
  const std::string file = folder / "damaged";
  size_t others = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes = whole;
    const Part part = SectionOf(whole, seed % 3 == 0 ? ".eh_frame_hdr" : ".eh_frame");
    const size_t count = seed % 5 == 0 ? part.size / 2 : 1 + random() % 40;
    for (size_t i = 0; i < count; ++i)
      bytes[part.begin + random() % part.size] =
          static_cast<uint8_t>(seed % 2 == 0 ? random() : 0xff * (random() % 2));
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const auto code = CodeOf(file);
    ASSERT_TRUE(code);
    ExpectSound(*code);
    others += code->functions().size() != undamaged->functions().size();
  }
  EXPECT_GT(others, 20U) << "the damage does nothing";
}

}  // namespace
}  // namespace flowback
