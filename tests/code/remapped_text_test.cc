// SPDX-License-Identifier: MIT
#include "decode/code/remapped_text.h"

#include "tests/code/recording_fixture.h"

namespace flowback {
namespace {

constexpr uint64_t kPage = 4096;

// A library of four pages of code, each of other bytes.
std::vector<uint8_t> FourPages() {
  ElfSpec spec;
  spec.position_independent = true;
  spec.build_id = kId;
  std::vector<uint8_t> code;
  for (uint8_t page = 0; page < 4; ++page) code.insert(code.end(), kPage, 0x90 + page);
  spec.segments = {{.address = 0x1000, .bytes = code}};
  return WriteElf(spec).bytes;
}

class RemappedText : public RecordingCodeTest {
 protected:
  RemappedText() {
    MmapRecord file = Mmap(Save("lib.so", FourPages()));
    file.size = 4 * kPage;
    Record(file, kId);
  }
  void Anonymous(uint64_t address, uint64_t size, bool executable = true,
                 const std::string& path = "//anon") {
    MmapRecord record = Mmap(path, address, 2 + recording_.sideband.size());
    record.size = size;
    record.file_offset = 0;
    record.executable = executable;
    Record(record);
  }
  const CodeMapping* Last(uint64_t address) const {
    return code_.ForStream(recording_.streams[0]).epochs.back().space->Find(address);
  }
  // Memory whose bytes the recording has, in a file as recorders write it.
  void Kept(uint64_t address, const std::vector<uint8_t>& bytes) {
    ElfSpec spec;
    spec.position_independent = true;
    spec.segments = {{.address = 0x1000, .bytes = bytes}};
    MmapRecord record = Mmap(Save("perf.data.code", WriteElf(spec).bytes), address, 9);
    record.size = bytes.size();
    Record(record);
  }
};

TEST_F(RemappedText, MemoryOverTextIsTheFilesAndUnverified) {
  for (const char* path :
       {"//anon", "/anon_hugepage (deleted)", "/memfd:x (deleted)", "/dev/hugepages/x (deleted)"}) {
    recording_.sideband.resize(1);
    Anonymous(kBase + kPage, 2 * kPage, false, path);  // to be written to
    Anonymous(kBase + kPage, 2 * kPage, true, path);
    Load();
    const CodeMapping* moved = Last(kBase + kPage + 5);
    ASSERT_NE(moved, nullptr) << path;
    EXPECT_EQ(moved->section->name(), folder_ / "lib.so");
    EXPECT_EQ(moved->FileBase(), kBase - 0x1000);
    EXPECT_EQ(moved->section->verification(), Verification::kUnverified);
    EXPECT_EQ(Last(kBase)->section->verification(), Verification::kBuildId);
    ASSERT_EQ(code_.images().size(), 2u);
    EXPECT_TRUE(code_.images()[1].usable);
    EXPECT_EQ(code_.images()[1].verification, Verification::kUnverified);
    EXPECT_EQ(code_.images()[1].source, CodeSource::kMovedText);
  }
}

TEST_F(RemappedText, AHugePageMayBeginBeforeTheText) {
  Anonymous(kBase - kPage, 8 * kPage);
  Load();
  ASSERT_NE(Last(kBase), nullptr);
  EXPECT_EQ(Last(kBase)->section->name(), folder_ / "lib.so");
  EXPECT_EQ(Last(kBase - 1), nullptr);
}

TEST_F(RemappedText, WhatIsMuchLargerThanTheTextIsOther) {
  Anonymous(kBase - (uint64_t{16} << 20), uint64_t{32} << 20);
  Load();
  EXPECT_EQ(Last(kBase), nullptr);
}

TEST_F(RemappedText, AnotherFilesDataEndsIt) {
  Anonymous(kBase, 4 * kPage, false, "/usr/lib/other");
  Anonymous(kBase, 4 * kPage);
  Load();
  EXPECT_EQ(Last(kBase), nullptr);
}

TEST_F(RemappedText, AnotherProgramHasNoneOfIt) {
  CommRecord exec;
  exec.pid = exec.tid = kPid;
  exec.time = 5;
  exec.exec = true;
  recording_.sideband.emplace_back(exec);
  Anonymous(kBase, 4 * kPage);
  Load();
  EXPECT_EQ(Last(kBase), nullptr);
}

TEST_F(RemappedText, PagesOfTheSameBytesAreTheFilesAndOthersTheirOwn) {
  std::vector<uint8_t> bytes(kPage, 0x91);
  bytes.insert(bytes.end(), kPage, 0x92);
  bytes[kPage + 7] = 0xcc;
  Kept(kBase + kPage, bytes);
  Load();
  EXPECT_EQ(Last(kBase + kPage)->section->name(), folder_ / "lib.so");
  EXPECT_EQ(Last(kBase + kPage)->section->verification(), Verification::kBuildId);
  EXPECT_EQ(Last(kBase + 2 * kPage)->section->name(), folder_ / "perf.data.code");
  EXPECT_EQ(Last(kBase + 3 * kPage)->section->name(), folder_ / "lib.so");
  ASSERT_EQ(code_.replaced_text().size(), 1u);
  EXPECT_EQ(code_.replaced_text()[0].file_offset, 0x1000 + 2 * kPage);
  EXPECT_EQ(code_.replaced_text()[0].size, kPage);
  EXPECT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 2u);
}

TEST_F(RemappedText, TheSameBytesChangeNothing) {
  Kept(kBase, std::vector<uint8_t>(kPage, 0x90));
  Load();
  EXPECT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 1u);
  EXPECT_TRUE(code_.replaced_text().empty());
}

TEST_F(RemappedText, NoMoreIsComparedThanIsAllowed) {
  Load();
  const AddressSpace& text = *code_.ForStream(recording_.streams[0]).epochs.back().space;
  const CodeMapping same = *text.Find(kBase);
  uint64_t most = kPage;
  const TextParts parts = CompareWithText(same, text, most);
  EXPECT_EQ(most, 0u);
  ASSERT_EQ(parts.of_files.size(), 1u);
  EXPECT_EQ(parts.of_files[0].size, kPage);
  ASSERT_EQ(parts.own.size(), 1u);
  EXPECT_EQ(parts.own[0].size, 3 * kPage);
}

}  // namespace
}  // namespace flowback
