// SPDX-License-Identifier: MIT
// Names and debug information that are small in a file and large in memory.
#include <gtest/gtest.h>

#include "decode/pt/packets/packet_writer.h"
#include "tests/bounds/hostile_elf.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

// One walk over three NOPs, up to a SYSCALL.
constexpr char kCode[] = "\x90\x90\x90\x0f\x05";

ProgramResult List(const HostileElf& elf, const std::string& kind, size_t memory_mib) {
  const ScratchFolder folder;
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  trace.TipPge(HostileElf::kAddress);
  trace.TipPgd(std::nullopt);
  const std::vector<uint8_t> bytes = trace.Take();
  return RunFlowback({"decode", "--as", kind, "--threads", "1", "--no-cache", "--raw-pt",
                      folder.Write("pt.bin", {bytes.begin(), bytes.end()}), "--image",
                      folder.Write("program", elf.Build())},
                     {.memory_mib = memory_mib});
}

HostileElf WithCode() {
  HostileElf elf;
  elf.code = std::string(kCode, 5);
  elf.strings = std::string(1, '\0');
  return elf;
}

// 20,000 symbols whose names are the same 500 KB, each from another place on.
TEST(Names, ThatShareTheirBytes) {
  HostileElf elf = WithCode();
  elf.strings += std::string(500'000, 'a') + '\0';
  for (uint32_t i = 0; i < 20'000; ++i)
    elf.symbols.push_back({i + 1, HostileElf::kAddress + i % 3});
  const ProgramResult result = List(elf, "instructions", 256);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Lines(result.out).size(), 4u);
  EXPECT_LT(result.out.size(), size_t{100} << 10);
}

std::string Number(size_t n) {
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (n == 0) return "S_";
  std::string text = "_";
  for (--n; text.size() == 1 || n != 0; n /= 36) text.insert(text.begin(), kDigits[n % 36]);
  return "S" + text;
}

// f(A, B<A, A>, C<B<A, A>, B<A, A>>, ...): each step doubles what it says.
std::string Doubling(size_t steps) {
  std::string name = "_Z1f1A";
  size_t last = 0;
  for (size_t i = 0; i < steps; ++i) {
    name += "2B" + std::string(1, static_cast<char>('a' + i % 26)) + "I" + Number(last) +
            Number(last) + "E";
    last = 2 * (i + 1);
  }
  return name;
}

TEST(Names, ThatDoubleWhatTheySay) {
  HostileElf elf = WithCode();
  const std::string name = Doubling(22);
  elf.strings += name + '\0' + Doubling(4) + '\0';
  elf.symbols = {{1, HostileElf::kAddress},
                 {static_cast<uint32_t>(2 + name.size()), HostileElf::kAddress + 1}};
  const ProgramResult result = List(elf, "instructions", 256);
  EXPECT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].contains(name)) << lines[0];
  // Four steps are soon said.
  EXPECT_TRUE(lines[1].contains("f(A, Ba<A, A>, Bb<Ba<A, A>, Ba<A, A> >")) << lines[1];
}

// The process that reads DWARF says so; the instructions are there.
TEST(Names, CompressedDebugSectionsThatUnpackToGigabytes) {
  HostileElf elf = WithCode();
  elf.unpacked = uint64_t{1500} << 20;
  const ProgramResult result = List(elf, "lines", 1024);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("its compressed sections unpack to more than 16 times"))
      << result.err;
  EXPECT_EQ(Lines(List(elf, "instructions", 256).out).size(), 4u);
}

TEST(Names, CompressedDebugSectionsThatAreSound) {
  HostileElf elf = WithCode();
  elf.unpacked = uint64_t{32} << 20;
  EXPECT_FALSE(List(elf, "lines", 1024).err.contains("compressed"));
}

}  // namespace
}  // namespace flowback::test
