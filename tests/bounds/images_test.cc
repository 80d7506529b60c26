// SPDX-License-Identifier: MIT
// Images, core dumps and descriptions in which few bytes ask for much work.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

template <class T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// 60,000 headers that all name the same 100,000 notes, none of which is a build-id.
std::string ManyNotes(uint16_t type) {
  constexpr uint16_t kHeaders = 60'000;
  Elf64_Nhdr note{};
  note.n_namesz = 4;
  note.n_type = 99;
  const std::string one = BytesOf(note) + std::string("XYZ\0", 4);
  std::string notes;
  for (int i = 0; i < 100'000; ++i) notes += one;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kHeaders;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_flags = PF_R;
  segment.p_offset = sizeof header + kHeaders * sizeof segment;
  segment.p_filesz = notes.size();
  segment.p_align = 4;
  std::string file = BytesOf(header);
  for (int i = 0; i < kHeaders; ++i) file += BytesOf(segment);
  return file + notes;
}

std::string Trace(const ScratchFolder& folder) {
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::PsbEnd{});
  trace.TipPge(0x401000);
  const std::vector<uint8_t> bytes = trace.Take();
  return folder.Write("pt.bin", {bytes.begin(), bytes.end()});
}

TEST(Images, WhoseHeadersNameTheSameNotes) {
  const ScratchFolder folder;
  const ProgramResult result = RunFlowback(
      {"info", "--raw-pt", Trace(folder), "--image", folder.Write("program", ManyNotes(ET_EXEC))});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 8) << result.err;
  EXPECT_TRUE(result.err.contains("no program header maps executable code")) << result.err;
}

TEST(Images, CoreDumpsWhoseHeadersNameTheSameNotes) {
  const ScratchFolder folder;
  const ProgramResult result = RunFlowback(
      {"info", "--raw-pt", Trace(folder), "--core", folder.Write("core", ManyNotes(ET_CORE))});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 8) << result.err;
  EXPECT_TRUE(result.err.contains("notes that overlap")) << result.err;
}

TEST(Descriptions, OfMillionsOfValues) {
  const ScratchFolder folder;
  std::string text = R"({"type": "intel-pt", "x": [0)";
  for (int i = 0; i < 3'000'000; ++i) text += ",0";
  const ProgramResult result =
      RunFlowback({"info", folder.Write("trace.json", text + "]}")}, {.memory_mib = 400});
  EXPECT_EQ(result.status, 8) << result.err;
  EXPECT_TRUE(result.err.contains("holds more than 1048576 values")) << result.err;
}

}  // namespace
}  // namespace flowback::test
