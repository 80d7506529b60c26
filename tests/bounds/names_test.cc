// SPDX-License-Identifier: MIT
// Names and debug information that are small in a file and large in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decode/pt/packets/packet_writer.h"
#include "tests/bounds/hostile_elf.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

// One walk over three NOPs, up to a SYSCALL.
constexpr char kCode[] = "\x90\x90\x90\x0f\x05";

// Runs a command on a trace from `begin` up to the SYSCALL.
ProgramResult Tell(const HostileElf& elf, uint64_t begin, std::vector<std::string> words,
                   size_t memory_mib) {
  const ScratchFolder folder;
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  trace.TipPge(begin);
  trace.TipPgd(std::nullopt);
  const std::vector<uint8_t> bytes = trace.Take();
  words.insert(words.end(), {"--threads", "1", "--no-cache", "--raw-pt",
                             folder.Write("pt.bin", {bytes.begin(), bytes.end()}), "--image",
                             folder.Write("program", elf.Build())});
  return RunFlowback(words, {.memory_mib = memory_mib});
}

ProgramResult List(const HostileElf& elf, const std::string& kind, size_t memory_mib) {
  return Tell(elf, HostileElf::kAddress, {"decode", "--as", kind}, memory_mib);
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
bool IsHarmless(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\n' || (byte >= 0x20 && byte < 0x7f);
  });
}

// A trace of one instruction, in a function whose name is 60 KB of what terminals, JSON and pages
// are ruled by: commands that print calls print it harmlessly.
TEST(Names, OfSixtyKilobytesInATraceOfOneInstruction) {
  HostileElf elf = WithCode();
  std::string name;
  while (name.size() < 60'000) name += "\"'\\\n\r\t\x1b[31m</script><!--&amp;\x07\xff{";
  elf.strings += name + '\0';
  constexpr uint64_t kLast = HostileElf::kAddress + 3;  // the SYSCALL
  elf.symbols = {{1, kLast}};
  const auto told = [&](const std::vector<std::string>& words) {
    ProgramResult result = Tell(elf, kLast, words, 512);
    EXPECT_EQ(result.status, 0) << result.err.substr(0, 500);
    EXPECT_LT(result.out.size(), size_t{2} << 20) << words[0];
    EXPECT_TRUE(IsHarmless(result.err)) << words[0];
    return result.out;
  };
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"stack", "--at", "#0"}, {"decode", "--as", "calls"}, {"timeline"}}) {
    const std::string text = told(words);
    EXPECT_TRUE(IsHarmless(text)) << words[0];
    const bool is_short = words[0] == "stack";  // it leaves out what stands in <...>
    EXPECT_TRUE(text.contains(is_short ? R"(\x1b[31m<...>)" : R"(\x1b[31m</script>)"))
        << text.substr(0, 500);
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"stack", "--at", "#0", "--json"}, {"decode", "--as", "calls", "--json"}}) {
    size_t named = 0;
    for (const std::string& line : Lines(told(words))) {
      const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(object.is_object()) << line.substr(0, 500);
      named += line.contains("</script>") ? 1 : 0;
    }
    EXPECT_GE(named, 1u);
  }
  const nlohmann::json timeline =
      nlohmann::json::parse(told({"timeline", "--json"}), nullptr, false);
  ASSERT_TRUE(timeline.is_object());
  EXPECT_EQ(timeline["paths"][0]["instructions"], 1);
  const std::string page = told({"timeline", "--html", "-"});
  size_t ends = 0;
  for (size_t at = 0; (at = page.find("</script", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2u);  // of the page's own: the data and the program
}

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
