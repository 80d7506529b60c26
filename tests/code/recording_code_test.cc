// SPDX-License-Identifier: MIT
#include <elf.h>

#include <filesystem>

#include "tests/code/recording_fixture.h"

namespace flowback {
namespace {

TEST_F(RecordingCodeTest, RawStreamHasTheGivenCodeOnly) {
  recording_.streams[0].pid = recording_.streams[0].tid = -1;
  recording_.images.push_back({Save("lib.so", Library(kId, 0x90)), 0x7f0000001000});
  recording_.sections.push_back({Save("jit", {0xc3, 0xc3}), 1, 1, 0x2000});
  Load();
  EXPECT_EQ(At(0x7f0000001000), 0x90) << "the first loadable page holds the code";
  EXPECT_EQ(At(0x2000), 0xc3);
  EXPECT_EQ(At(0x2001), -1);
  EXPECT_EQ(Only().verification, Verification::kGiven);
  EXPECT_EQ(Only().found.bytes, kId);
}

TEST_F(RecordingCodeTest, SectionsLieOverImages) {
  recording_.streams[0].pid = -1;
  recording_.images.push_back({Save("lib.so", Library({}, 0x90)), 0x1000});
  recording_.sections.push_back({Save("patch", {0xcc}), 0, 1, 0x1010});
  Load();
  EXPECT_EQ(At(0x100f), 0x90);
  EXPECT_EQ(At(0x1010), 0xcc);
  EXPECT_EQ(At(0x1011), 0x90);
}

TEST_F(RecordingCodeTest, GivenCodeThatCanNotBeHonouredIsAnError) {
  recording_.sections.push_back({Save("jit", {0xc3}), 0, 2, 0x2000});
  const auto loaded = RecordingCode::Load(recording_, search_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kUnreadable);
  EXPECT_TRUE(Contains(loaded.error().message(), "jit"));
}

TEST_F(RecordingCodeTest, FileAtThePathWithoutBuildIdIsUnverified) {
  Record(Mmap(Save("lib.so", Library(kId, 0x90))));
  Load();
  EXPECT_EQ(At(kBase), 0x90);
  EXPECT_EQ(At(kBase + 0x40), -1) << "behind the file's end";
  EXPECT_TRUE(Only().usable);
  EXPECT_EQ(Only().verification, Verification::kUnverified);
  EXPECT_TRUE(Only().recorded.empty());
  EXPECT_EQ(Only().found.bytes, kId);
}

TEST_F(RecordingCodeTest, AgreeingBuildIdVerifies) {
  Record(Mmap(Save("lib.so", Library(kId, 0x90))), kId);
  Load();
  EXPECT_EQ(Only().verification, Verification::kBuildId);
  EXPECT_EQ(At(kBase), 0x90);
}

TEST_F(RecordingCodeTest, BuildIdOfTheHeadersTableCounts) {
  const std::string path = Save("lib.so", Library(kOtherId, 0x90));
  Record(Mmap(path));
  recording_.build_ids.emplace_back(path, BuildId{kId});
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_EQ(Only().recorded.bytes, kId);
}

TEST_F(RecordingCodeTest, AnotherBuildIsNeverUsedAndBothIdsAreNamed) {
  Record(Mmap(Save("lib.so", Library(kOtherId, 0x90))), kId);
  Load();
  EXPECT_EQ(At(kBase), -1);
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Only().rejected);
  EXPECT_TRUE(Contains(Only().problem, "aabbcc01")) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, "11223344")) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, "--symfs")) << "the remedy: " << Only().problem;
}

TEST_F(RecordingCodeTest, FileWithoutBuildIdIsAnotherBuildToo) {
  Record(Mmap(Save("lib.so", Library({}, 0x90))), kId);
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "has no build-id")) << Only().problem;
}

TEST_F(RecordingCodeTest, LooksOnForTheRightBuild) {
  const std::string path = Save("usr/lib/lib.so", Library(kOtherId, 0x90));
  Save("cache/.build-id/aa/bbcc01/elf", Library(kId, 0xf4));
  Record(Mmap(path), kId);
  Load();
  EXPECT_EQ(At(kBase), 0xf4);
  EXPECT_EQ(Only().verification, Verification::kBuildId);
  EXPECT_TRUE(Contains(Only().file, "cache"));
  EXPECT_EQ(Only().path, path);
}

TEST_F(RecordingCodeTest, OlderCachesHoldTheFileItself) {
  Save("cache/.build-id/aa/bbcc01", Library(kId, 0xf4));
  Record(Mmap("/nowhere/lib.so"), kId);
  Load();
  EXPECT_EQ(At(kBase), 0xf4);
}

TEST_F(RecordingCodeTest, SymfsByWholePathAndByName) {
  Save("root/opt/a/lib.so", Library({}, 0x90));
  Save("root/flat.so", Library({}, 0xf4));
  search_.symfs = folder_ / "root";
  Record(Mmap("/opt/a/lib.so"));
  Record(Mmap("/somewhere/else/flat.so", kBase + 0x10000));
  Load();
  EXPECT_EQ(At(kBase), 0x90);
  EXPECT_EQ(At(kBase + 0x10000), 0xf4);
}

TEST_F(RecordingCodeTest, DebugDirectories) {
  Save("dbg/opt/lib.so", Library({}, 0x90));
  ElfSpec debug;
  debug.build_id = kId;
  debug.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x40, 0xee)}};
  debug.sections = debug.sections_without_bytes = true;
  Save("dbg/.build-id/aa/bbcc01.debug", WriteElf(debug).bytes);
  search_.debug_dirs = {folder_ / "dbg"};
  Record(Mmap("/opt/lib.so"));
  Record(Mmap("/opt/stripped.so", kBase + 0x10000), kId);
  Load();
  EXPECT_EQ(At(kBase), 0x90);
  EXPECT_EQ(At(kBase + 0x10000), -1) << "a debug file's offsets hold no code";
  EXPECT_TRUE(Contains(code_.images()[1].problem, "debug information only"));
}

TEST_F(RecordingCodeTest, MissingFileSaysWhereItWasLookedFor) {
  Record(Mmap("/nowhere/lib.so"));
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_FALSE(Only().rejected) << "there is no file";
  EXPECT_TRUE(Contains(Only().problem, "/nowhere/lib.so")) << Only().problem;
  EXPECT_TRUE(Contains(Only().problem, "--symfs")) << Only().problem;
}

TEST_F(RecordingCodeTest, GivenImageStandsInForAMappingOfItsName) {
  recording_.images.push_back({Save("copy/lib.so", Library({}, 0xf4)), {}});
  Record(Mmap("/nowhere/lib.so"));
  Load();
  EXPECT_EQ(At(kBase), 0xf4);
  EXPECT_EQ(Only().verification, Verification::kGiven);
  EXPECT_EQ(At(0x1000), -1) << "where its headers say, nothing was mapped";
}

TEST_F(RecordingCodeTest, GivenImageStandsInForItsBuildIdUnderAnyName) {
  recording_.images.push_back({Save("renamed", Library(kId, 0xf4)), {}});
  Record(Mmap("/nowhere/lib.so"), kId);
  Load();
  EXPECT_EQ(At(kBase), 0xf4);
  EXPECT_EQ(Only().verification, Verification::kBuildId);
}

TEST_F(RecordingCodeTest, GivenImageOfAnotherBuildIsNotUsedEvenAtItsAddress) {
  // The user insists on the address, but the recording knows better (law 4).
  recording_.images.push_back({Save("copy/lib.so", Library(kOtherId, 0xf4)), kBase});
  Record(Mmap("/nowhere/lib.so"), kId);
  Load();
  EXPECT_EQ(At(kBase), -1);
  ASSERT_EQ(code_.images().size(), 2u);
  for (const ImageStatus& status : code_.images()) {
    EXPECT_FALSE(status.usable);
    EXPECT_FALSE(status.problem.empty());
  }
}

TEST_F(RecordingCodeTest, GivenCodeFillsWhatTheRecordingLacks) {
  MmapRecord jit = Mmap("//anon", 0x7f0000000000);
  jit.file_offset = 0;
  Record(jit);
  Record(Mmap(Save("lib.so", Library({}, 0x90))));
  recording_.sections.push_back({Save("jit", {0xc3}), 0, 1, 0x7f0000000000});
  recording_.sections.push_back({Save("no", {0xcc}), 0, 1, kBase});
  Load();
  EXPECT_EQ(At(0x7f0000000000), 0xc3);
  EXPECT_EQ(At(kBase), 0x90) << "the recorded file is there";
  EXPECT_TRUE(code_.images()[0].usable);
  EXPECT_EQ(code_.images()[0].verification, Verification::kGiven);
}

TEST_F(RecordingCodeTest, AnonymousMemoryAsksForASection) {
  MmapRecord jit = Mmap("//anon", 0x7f0000000000);
  Record(jit);
  jit.address += 0x100000;
  Record(jit);
  Load();
  ASSERT_EQ(code_.images().size(), 2u) << "each piece is another one";
  EXPECT_TRUE(Contains(code_.images()[0].problem, "--section FILE:OFFSET:0x1000:0x7f0000000000"))
      << code_.images()[0].problem;
}

TEST_F(RecordingCodeTest, ThirtyTwoBitFileAtASixtyFourBitAddress) {
  ElfSpec spec;
  spec.bits = 32;
  spec.machine = EM_386;
  spec.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x40, 0x90)}};
  const std::string path = Save("lib32.so", WriteElf(spec).bytes);
  Record(Mmap(path));
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "32-bit file")) << Only().problem;
  recording_.sideband.clear();
  Record(Mmap(path, 0xf7000000));
  Load();
  EXPECT_EQ(At(0xf7000000), 0x90);
}

TEST_F(RecordingCodeTest, OtherMachinesCodeIsNotUsed) {
  ElfSpec spec;
  spec.machine = EM_AARCH64;
  spec.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x40, 0x90)}};
  Record(Mmap(Save("arm.so", WriteElf(spec).bytes)));
  Load();
  EXPECT_TRUE(Contains(Only().problem, "no x86 code")) << Only().problem;
}

TEST_F(RecordingCodeTest, CutFileIsUsedAsFarAsItGoes) {
  std::vector<uint8_t> bytes = Library(kId, 0x90);
  bytes.resize(0x1020);
  Record(Mmap(Save("cut.so", bytes)), kId);
  Load();
  EXPECT_EQ(At(kBase + 0x1f), 0x90);
  EXPECT_EQ(At(kBase + 0x20), -1);
  EXPECT_TRUE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "cut short")) << Only().problem;
}

TEST_F(RecordingCodeTest, FileShorterThanTheMappingsOffset) {
  Record(Mmap(Save("tiny", {1, 2, 3})));
  Load();
  EXPECT_FALSE(Only().usable);
  EXPECT_TRUE(Contains(Only().problem, "0x3 bytes")) << Only().problem;
}

TEST_F(RecordingCodeTest, FilesThatAreNoElfAreTakenByTheirBytes) {
  Record(Mmap(Save("program.exe", std::vector<uint8_t>(0x1100, 0x90))));
  Load();
  EXPECT_EQ(At(kBase), 0x90);
  EXPECT_EQ(Only().verification, Verification::kUnverified);
}

TEST_F(RecordingCodeTest, DirectoriesAndDamagedFilesDoNoHarm) {
  std::filesystem::create_directories(folder_ / "dir.so");
  Record(Mmap(folder_ / "dir.so"));
  std::vector<uint8_t> damaged = Library({}, 0x90);
  damaged[4] = 77;  // neither 32 nor 64 bits
  Record(Mmap(Save("damaged.so", damaged), kBase + 0x10000));
  Load();
  EXPECT_TRUE(Contains(code_.images()[0].problem, "directory")) << code_.images()[0].problem;
  EXPECT_TRUE(Contains(code_.images()[1].problem, "damaged")) << code_.images()[1].problem;
}

TEST_F(RecordingCodeTest, MappingsAcrossTheEndOfTheAddressSpace) {
  MmapRecord record = Mmap(Save("lib.so", Library({}, 0x90)), ~uint64_t{0} - 0xf);
  record.size = ~uint64_t{0};
  Record(record);
  record.size = 0;
  record.address = 0x1000;
  Record(record);
  Load();
  EXPECT_EQ(At(~uint64_t{0}), 0x90);
  EXPECT_EQ(At(0), -1);
}

TEST_F(RecordingCodeTest, EpochsFollowTheRecords) {
  const std::string one = Save("one.so", Library({}, 1));
  const std::string two = Save("two.so", Library({}, 2));
  Record(Mmap(one, kBase, 10));
  Record(Mmap(two, kBase, 20));
  CommRecord exec;
  exec.time = 30;
  exec.pid = kPid;
  exec.exec = true;
  recording_.sideband.push_back(exec);
  Record(Mmap(one, kBase + 0x10000, 31));
  Load();
  ASSERT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 3u);
  EXPECT_EQ(At(kBase, 0), 1);
  EXPECT_EQ(At(kBase, 1), 2);
  EXPECT_EQ(At(kBase, 2), -1);
  EXPECT_EQ(At(kBase + 0x10000, 2), 1);
}

TEST_F(RecordingCodeTest, NonExecutableMappingHidesCode) {
  Record(Mmap(Save("lib.so", Library({}, 0x90)), kBase, 10));
  MmapRecord data = Mmap("/data", kBase, 20);
  data.executable = false;
  Record(data);
  Load();
  EXPECT_EQ(At(kBase, 0), 0x90);
  EXPECT_EQ(At(kBase, 1), -1);
  EXPECT_EQ(code_.images().size(), 1u) << "data files are no images";
}

TEST_F(RecordingCodeTest, ChildrenHaveTheirParentsCode) {
  Record(Mmap(Save("lib.so", Library({}, 0x90)), kBase, 10));
  ForkRecord fork;
  fork.time = 20;
  fork.pid = fork.tid = 77;
  fork.parent_pid = fork.parent_tid = kPid;
  recording_.sideband.push_back(fork);
  Stream child;
  child.index = 1;
  child.pid = 77;
  recording_.streams.push_back(child);
  Load();
  EXPECT_EQ(At(kBase, 0, 1), 0x90);
}

TEST_F(RecordingCodeTest, StreamOfACpuBelongsToTheTracedProcess) {
  Record(Mmap(Save("lib.so", Library({}, 0x90)), kBase, 10));
  ItraceStartRecord start;
  start.pid = start.tid = kPid;
  start.cpu = 3;
  recording_.sideband.push_back(start);
  recording_.streams[0].pid = recording_.streams[0].tid = -1;
  recording_.streams[0].cpu = 3;
  Load();
  EXPECT_EQ(At(kBase), 0x90);
  recording_.streams[0].tid = kPid;  // the thread is known, the process is not
  Load();
  EXPECT_EQ(At(kBase), 0x90);
}

TEST_F(RecordingCodeTest, KernelMappingsAreNoImages) {
  MmapRecord kernel = Mmap("[kernel.kallsyms]_text", 0xffffffff81000000);
  kernel.kernel = true;
  kernel.pid = -1;
  Record(kernel);
  Load();
  EXPECT_TRUE(code_.images().empty());
}

TEST_F(RecordingCodeTest, SameFileIsOneSectionHoweverOftenItIsMapped) {
  const std::string path = Save("lib.so", Library(kId, 0x90));
  Record(Mmap(path, kBase), kId);
  Record(Mmap(path, kBase + 0x10000), kId);
  Load();
  const auto& space = *code_.ForStream(recording_.streams[0]).epochs[0].space;
  EXPECT_EQ(space.Find(kBase)->section, space.Find(kBase + 0x10000)->section);
  EXPECT_EQ(code_.images().size(), 1u);
}

TEST_F(RecordingCodeTest, AHundredThousandMappingsAreFast) {
  const std::string path = Save("lib.so", Library(kId, 0x90));
  for (uint64_t i = 0; i < 100'000; ++i)
    Record(Mmap(path, kBase + (i * 7919 % 100'000) * 0x2000, i + 1), kId);
  Load();
  EXPECT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 1u);
  EXPECT_EQ(At(kBase + 12345 * 0x2000), 0x90);
}

}  // namespace
}  // namespace flowback
