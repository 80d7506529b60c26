// SPDX-License-Identifier: MIT
// Names of a stripped program's functions from its section .gnu_debugdata, and such sections that
// are damaged, or made to fill the memory.
#include "replay/symbols/elf/mini_debug.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "replay/symbols/elf/elf_symbols.h"
#include "tests/code/temporary_folder.h"

namespace flowback::symbols {
namespace {

constexpr const char* kSource =
    "static __attribute__((noinline)) int hidden(int a) { __asm__(\"\"); return a + 1; }\n"
    "int main(int argc, char** argv) { (void)argv; return hidden(argc) == 7; }\n";

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Packed(const std::string& bytes) {
  std::string packed(lzma_stream_buffer_bound(bytes.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(bytes.data()),
                bytes.size(), reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

class MiniDebugTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(File("p.c")) << kSource;
    ASSERT_TRUE(Run(SYMBOLS_CC " -O1 -o whole p.c && " SYMBOLS_STRIP
                               " -o bare whole && " SYMBOLS_OBJCOPY
                               " --only-keep-debug whole mini"));
  }

  std::string File(const std::string& name) const { return folder_ / name; }
  bool Run(const std::string& command) const {
    return std::system(("cd '" + folder_.path() + "' && " + command).c_str()) == 0;
  }

  // The stripped program with `section` as its .gnu_debugdata.
  std::unique_ptr<SymbolFile> Program(const std::string& section) const {
    std::ofstream(File("section"), std::ios::binary) << section;
    EXPECT_TRUE(Run(SYMBOLS_OBJCOPY " --add-section .gnu_debugdata=section bare program"));
    return SymbolFile::Open(File("program"));
  }

  TemporaryFolder folder_;
};

TEST_F(MiniDebugTest, NamesFunctions) {
  const auto whole = SymbolFile::Open(File("whole"));
  const auto program = Program(Packed(Contents(File("mini"))));
  ASSERT_TRUE(whole && program);
  ElfSymbols expected = ElfSymbols::Read(*whole, nullptr);
  ElfSymbols found = ElfSymbols::Read(*program, nullptr);
  size_t named = 0;
  for (const ElfSymbol& symbol : expected.symbols()) {
    const auto hit = found.Find(symbol.begin);
    ASSERT_TRUE(hit) << symbol.name;
    EXPECT_EQ(hit->name, expected.Find(symbol.begin)->name);
    named += symbol.name == "hidden" || symbol.name == "main" ? 1 : 0;
  }
  EXPECT_EQ(named, 2u);
}

TEST_F(MiniDebugTest, DamageCostsNamesOnly) {
  const std::string packed = Packed(Contents(File("mini")));
  for (size_t size = 0; size < packed.size(); size += 1 + packed.size() / 24)
    EXPECT_EQ(OpenMiniDebug(*Program(packed.substr(0, size))), nullptr) << size;
  for (size_t at = 0; at < packed.size(); at += 1 + packed.size() / 24) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto program = Program(damaged);
    ASSERT_NE(program, nullptr);
    OpenMiniDebug(*program);
    ElfSymbols::Read(*program, nullptr);
  }
  EXPECT_EQ(OpenMiniDebug(*Program(Packed("no ELF file"))), nullptr);
}

// 64 MB of zeros are 10 KB.
TEST_F(MiniDebugTest, IsNotUnpackedWhereItIsMadeToFillTheMemory) {
  std::string bytes = Contents(File("mini"));
  bytes.resize(size_t{64} << 20);
  const std::string packed = Packed(bytes);
  EXPECT_LT(packed.size(), size_t{20} << 10);
  EXPECT_EQ(OpenMiniDebug(*Program(packed)), nullptr);
}

}  // namespace
}  // namespace flowback::symbols
