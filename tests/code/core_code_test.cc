// SPDX-License-Identifier: MIT
// Core dumps as a source of code: which bytes they may speak for, and which dumps are refused.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "decode/code/core/core_file.h"
#include "decode/code/images/image_store.h"
#include "flowback/decode/recording_code.h"
#include "tests/code/temporary_folder.h"
#include "tests/support/core_writer.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

const std::vector<uint8_t> kId = {0xaa, 0xbb, 0xcc, 0x01};
const std::vector<uint8_t> kOtherId = {0x11, 0x22, 0x33, 0x44};
constexpr int32_t kPid = 42;
constexpr uint64_t kBase = 0x555555554000;  // of the library's first page
constexpr uint64_t kText = kBase + 0x1000;
constexpr uint64_t kJit = 0x7f0000000000;

std::vector<uint8_t> Library(const std::vector<uint8_t>& build_id, uint8_t code) {
  ElfSpec spec;
  spec.position_independent = true;
  spec.build_id = build_id;
  spec.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x1000, code)}};
  return WriteElf(spec).bytes;
}

std::vector<uint8_t> FirstPage(const std::vector<uint8_t>& file) {
  return {file.begin(), file.begin() + 0x1000};
}

std::vector<uint8_t> Code(uint8_t code) { return std::vector<uint8_t>(0x1000, code); }

MmapRecord Mmap(const std::string& path, uint64_t address, uint64_t offset, uint64_t time = 1) {
  MmapRecord record;
  record.time = time;
  record.pid = record.tid = kPid;
  record.address = address;
  record.size = 0x1000;
  record.file_offset = offset;
  record.path = path;
  return record;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CoreCodeTest : public testing::Test {
 protected:
  CoreCodeTest() {
    search_.build_id_cache = folder_ / "cache";
    Stream stream;
    stream.pid = stream.tid = kPid;
    recording_.streams.push_back(stream);
    core_.segments = {{.address = kJit, .bytes = Code(0xc3)}};
  }

  std::string Save(const std::string& name, const std::vector<uint8_t>& bytes) {
    WriteFile(folder_ / name, bytes);
    return folder_ / name;
  }
  void Record(MmapRecord record, const std::vector<uint8_t>& build_id = {}) {
    record.build_id.bytes = build_id;
    recording_.sideband.push_back(std::move(record));
  }
  // The library as the dump knows it: its first page, and its text when `code` is not 0.
  void Dump(const std::string& path, const std::vector<uint8_t>& build_id, uint8_t code) {
    core_.files = {{kBase, 0x1000, 0, path}, {kText, 0x1000, 0x1000, path}};
    core_.segments.push_back(
        {.address = kBase, .bytes = FirstPage(Library(build_id, 0)), .executable = false});
    core_.segments.push_back({.address = kText,
                              .bytes = code == 0 ? std::vector<uint8_t>() : Code(code),
                              .size = 0x1000});
  }
  Result<RecordingCode> TryLoad() {
    search_.cores = {Save("core", WriteCore(core_))};
    return RecordingCode::Load(recording_, search_);
  }
  void Load() {
    auto loaded = TryLoad();
    ASSERT_TRUE(loaded) << loaded.error().message();
    code_ = std::move(*loaded);
  }
  std::string RefusedBecause() {
    const auto loaded = TryLoad();
    EXPECT_FALSE(loaded);
    if (loaded) return "";
    EXPECT_EQ(loaded.error().code(), ErrorCode::kUsage);
    EXPECT_FALSE(loaded.error().remedy().empty());
    return loaded.error().message();
  }
  const AddressSpace& Space(size_t epoch = 0) const {
    return *code_.ForStream(recording_.streams[0]).epochs.at(epoch).space;
  }
  int At(uint64_t address, size_t epoch = 0) const {
    uint8_t byte = 0;
    return Space(epoch).Read(address, &byte, 1) == 1 ? byte : -1;
  }
  const ImageStatus& StatusOf(const std::string& path) const {
    for (const ImageStatus& status : code_.images())
      if (status.path == path) return status;
    static const ImageStatus kNone;
    ADD_FAILURE() << "no image " << path;
    return kNone;
  }

  TemporaryFolder folder_;
  ImageSearch search_;
  Recording recording_;
  CoreSpec core_;
  RecordingCode code_;
};

TEST_F(CoreCodeTest, AnonymousCodeIsInTheDump) {
  Record(Mmap("//anon", kJit, 0));
  Load();
  EXPECT_EQ(At(kJit), 0xc3);
  EXPECT_EQ(At(kJit + 0xfff), 0xc3);
  EXPECT_EQ(At(kJit + 0x1000), -1);
  const ImageStatus& status = StatusOf("//anon");
  EXPECT_TRUE(status.usable);
  EXPECT_EQ(status.source, CodeSource::kCore);
  EXPECT_EQ(status.verification, Verification::kUnverified);
  EXPECT_TRUE(Contains(status.file, folder_ / "core"));
}

TEST_F(CoreCodeTest, WithoutADumpALossSaysWhatAnonymousMemoryIs) {
  Record(Mmap("//anon", kJit, 0));
  core_.segments[0].bytes.clear();
  core_.segments[0].size = 0x1000;  // not dumped either
  Load();
  EXPECT_EQ(At(kJit), -1);
  const std::string* why = Space().WhyNothing(kJit);
  ASSERT_NE(why, nullptr);
  EXPECT_TRUE(Contains(*why, "memory without a file")) << *why;
  EXPECT_TRUE(Contains(*why, "--core")) << *why;
  EXPECT_TRUE(Contains(*why, "--section FILE:OFFSET:0x1000:0x7f0000000000")) << *why;
  EXPECT_EQ(Space().WhyNothing(kJit + 0x1000), nullptr);
}

TEST_F(CoreCodeTest, MemoryThatNoRecordNames) {
  Record(Mmap("//anon", kJit + 0x10000, 0));
  Load();
  EXPECT_EQ(At(kJit), 0xc3) << "mapped before the recording, or its record was lost";
  EXPECT_EQ(code_.images().size(), 2u);
}

TEST_F(CoreCodeTest, WhatWasReplacedBeforeTheEndIsNotInTheDump) {
  Record(Mmap("//anon", kJit, 0, 10));
  Record(Mmap(Save("lib.so", Library({}, 0x90)), kJit, 0x1000, 20));
  Record(Mmap("//anon", kJit, 0, 30));
  Load();
  ASSERT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 2u);
  EXPECT_EQ(At(kJit, 0), 0x90);
  EXPECT_EQ(At(kJit, 1), 0xc3) << "from the last mapping on";
}

// The dump says whether memory that replaced a file's text holds that text.
TEST_F(CoreCodeTest, TextThatWasMovedIsTheFilesIfTheDumpHasTheSameBytes) {
  for (const int byte : {0xc3, 0x90}) {
    recording_.sideband.clear();
    Record(Mmap(Save("lib.so", Library(kId, static_cast<uint8_t>(byte))), kJit, 0x1000, 20), kId);
    Record(Mmap("//anon", kJit, 0, 30));
    Load();
    const CodeMapping* last =
        code_.ForStream(recording_.streams[0]).epochs.back().space->Find(kJit);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->section->name() == folder_ / "lib.so", byte == 0xc3) << byte;
    EXPECT_EQ(last->section->verification(), Verification::kUnverified);
    EXPECT_EQ(At(kJit, 1), 0xc3);
  }
}

TEST_F(CoreCodeTest, AnotherProgramsCodeIsNotInTheDump) {
  Record(Mmap(Save("sh", Library({}, 0x90)), kBase, 0x1000, 10));
  CommRecord exec;
  exec.time = 20;
  exec.pid = kPid;
  exec.exec = true;
  recording_.sideband.push_back(exec);
  Load();
  ASSERT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 2u);
  EXPECT_EQ(At(kJit, 0), -1);
  EXPECT_EQ(At(kJit, 1), 0xc3);
}

TEST_F(CoreCodeTest, AForkedChildsDumpShowsWhatItInherited) {
  MmapRecord parents = Mmap("//anon", kJit, 0);
  parents.pid = 7;
  Record(parents);
  ForkRecord fork;
  fork.time = 20;
  fork.pid = fork.tid = kPid;
  fork.parent_pid = fork.parent_tid = 7;
  recording_.sideband.push_back(fork);
  Load();
  EXPECT_EQ(At(kJit), 0xc3);
  EXPECT_EQ(StatusOf("//anon").source, CodeSource::kCore);
  uint8_t byte = 0;
  EXPECT_EQ(code_.OfProcess(7)->epochs[0].space->Read(kJit, &byte, 1), 0u)
      << "the dump says nothing of the parent";
}

TEST_F(CoreCodeTest, VerifiedFileStays) {
  const std::string path = Save("lib.so", Library(kId, 0x90));
  Record(Mmap(path, kText, 0x1000), kId);
  Dump(path, kId, 0xcc);  // a debugger's breakpoints
  Load();
  EXPECT_EQ(At(kText), 0x90);
  EXPECT_EQ(StatusOf(path).verification, Verification::kBuildId);
  EXPECT_EQ(StatusOf(path).source, CodeSource::kFile);
}

TEST_F(CoreCodeTest, MissingFileWithTheDumpsBuildIdIsVerified) {
  Record(Mmap("/nowhere/lib.so", kText, 0x1000), kId);
  Dump("/nowhere/lib.so", kId, 0xf4);
  Load();
  EXPECT_EQ(At(kText), 0xf4);
  EXPECT_EQ(StatusOf("/nowhere/lib.so").verification, Verification::kBuildId);
  EXPECT_EQ(StatusOf("/nowhere/lib.so").source, CodeSource::kCore);
}

TEST_F(CoreCodeTest, TheDumpsBuildIdVerifiesAFileThatTheRecordingCanNot) {
  const std::string path = Save("lib.so", Library(kId, 0x90));
  Record(Mmap(path, kText, 0x1000));
  Dump(path, kId, 0);  // text is not dumped
  Load();
  EXPECT_EQ(At(kText), 0x90);
  EXPECT_EQ(StatusOf(path).verification, Verification::kBuildId);
}

TEST_F(CoreCodeTest, TheDumpsBuildIdRefusesAnotherBuild) {
  const std::string path = Save("lib.so", Library(kOtherId, 0x90));
  Record(Mmap(path, kText, 0x1000));
  Dump(path, kId, 0);
  Load();
  EXPECT_EQ(At(kText), -1);
  const ImageStatus& status = StatusOf(path);
  EXPECT_TRUE(status.rejected);
  EXPECT_TRUE(Contains(status.problem, "aabbcc01")) << status.problem;
  EXPECT_TRUE(Contains(status.problem, "11223344")) << status.problem;
  EXPECT_TRUE(Contains(status.problem, "core dump")) << status.problem;
}

TEST_F(CoreCodeTest, FileWithTheDumpsBytesStays) {
  const std::string path = Save("lib.so", Library({}, 0x90));
  Record(Mmap(path, kText, 0x1000));
  Dump(path, {}, 0x90);
  Load();
  EXPECT_EQ(At(kText), 0x90);
  EXPECT_EQ(StatusOf(path).source, CodeSource::kFile);
  EXPECT_TRUE(Contains(StatusOf(path).problem, "those in the core dump"));
}

TEST_F(CoreCodeTest, FileWithOtherBytesThanTheDumpIsNotWhatRan) {
  const std::string path = Save("lib.so", Library({}, 0x90));
  Record(Mmap(path, kText, 0x1000));
  Dump(path, {}, 0xf4);
  Load();
  ASSERT_EQ(code_.ForStream(recording_.streams[0]).epochs.size(), 1u);
  EXPECT_EQ(At(kText), 0xf4);
  const ImageStatus& status = StatusOf(path);
  EXPECT_EQ(status.source, CodeSource::kCore);
  EXPECT_TRUE(status.rejected);
  EXPECT_TRUE(Contains(status.problem, "differ")) << status.problem;
}

TEST_F(CoreCodeTest, GivenBytesGoBeforeTheDump) {
  Record(Mmap("//anon", kJit, 0));
  recording_.sections.push_back({Save("jit", {0x90}), 0, 1, kJit});
  Load();
  EXPECT_EQ(At(kJit), 0x90);
  EXPECT_EQ(At(kJit + 1), 0xc3);
}

TEST_F(CoreCodeTest, DeletedFileIsInTheDump) {
  const std::string path = Save("lib.so", Library({}, 0x90)) + " (deleted)";
  Record(Mmap(path, kText, 0x1000));
  Dump(path, {}, 0xf4);
  Load();
  EXPECT_EQ(At(kText), 0xf4) << "not the successor of that name";
}

TEST_F(CoreCodeTest, RawStreamTakesTheFilesThatTheDumpNames) {
  recording_.streams[0].pid = recording_.streams[0].tid = -1;
  const std::string path = Save("lib.so", Library(kId, 0x90));
  Dump(path, kId, 0);
  Load();
  EXPECT_EQ(At(kText), 0x90);
  EXPECT_EQ(At(kJit), 0xc3);
  EXPECT_EQ(StatusOf(path).verification, Verification::kBuildId);
  Save("lib.so", Library(kOtherId, 0x90));
  Load();
  EXPECT_EQ(At(kText), -1) << "another build";
}

TEST_F(CoreCodeTest, DumpOfNoRecordedProcessIsRefused) {
  Record(Mmap("//anon", kJit, 0));
  core_.pid = 99;
  const std::string message = RefusedBecause();
  EXPECT_TRUE(Contains(message, "process 99 (program)")) << message;
  EXPECT_TRUE(Contains(message, "the recording has 42")) << message;
}

TEST_F(CoreCodeTest, DumpWithoutAProcessIsKnownByItsThreads) {
  Record(Mmap("//anon", kJit, 0));
  core_.pid = 0;
  Load();
  EXPECT_EQ(At(kJit), 0xc3);
  core_.tids = {};
  EXPECT_TRUE(Contains(RefusedBecause(), "does not say"));
}

TEST_F(CoreCodeTest, DumpOfAnotherRunIsRefused) {
  Record(Mmap("/usr/lib/lib.so", kText, 0x1000), kOtherId);
  Dump("/usr/lib/lib.so", kId, 0xf4);
  const std::string by_id = RefusedBecause();
  EXPECT_TRUE(Contains(by_id, "aabbcc01") && Contains(by_id, "11223344")) << by_id;

  recording_.sideband.clear();
  Record(Mmap("/usr/lib/other.so", kText, 0x1000));
  const std::string by_name = RefusedBecause();
  EXPECT_TRUE(Contains(by_name, "other.so") && Contains(by_name, "/lib.so")) << by_name;

  recording_.sideband.clear();
  Record(Mmap("/usr/lib/lib.so", kText + 0x100000, 0x1000));
  EXPECT_TRUE(Contains(RefusedBecause(), "none of the files")) << "at another address";
}

TEST_F(CoreCodeTest, FilesOfAnEarlierProgramNeedNotBeInTheDump) {
  Record(Mmap("/usr/bin/sh", kText + 0x100000, 0x1000, 10));
  CommRecord exec;
  exec.time = 20;
  exec.pid = kPid;
  exec.exec = true;
  recording_.sideband.push_back(exec);  // the records after it were lost
  Dump("/usr/lib/lib.so", kId, 0xf4);
  Load();
  EXPECT_EQ(At(kText, 1), 0xf4);
}

TEST_F(CoreCodeTest, TwoDumpsOfOneProcess) {
  Record(Mmap("//anon", kJit, 0));
  search_.cores = {Save("core1", WriteCore(core_)), Save("core2", WriteCore(core_))};
  const auto loaded = RecordingCode::Load(recording_, search_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::kUsage);
  search_.cores = {folder_ / "missing"};
  EXPECT_EQ(RecordingCode::Load(recording_, search_).error().code(), ErrorCode::kUnreadable);
}

// A child maps a page of code, writes its address, and dies.
[[noreturn]] void DieWithCode(const std::string& folder, int out) {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &unlimited);
  void* page =
      mmap(nullptr, 0x1000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(page, 0xf4, 0x1000);
  const bool told = write(out, &page, sizeof page) == sizeof page;
  if (!told || chdir(folder.c_str()) != 0) _exit(1);
  signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
  _exit(1);
}

TEST_F(CoreCodeTest, RealDump) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const std::string folder = folder_ / "";
  const pid_t child = fork();
  if (child == 0) DieWithCode(folder, pipes[1]);
  close(pipes[1]);
  uint64_t page = 0;
  const ssize_t got = read(pipes[0], &page, sizeof page);
  close(pipes[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(got, static_cast<ssize_t>(sizeof page));
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    if (entry.path().filename().string().starts_with("core")) path = entry.path();
  if (!WIFSIGNALED(status) || path.empty())
    GTEST_SKIP() << "this system's core_pattern writes no file here";

  ImageStore store;
  const auto file = store.Open(path);
  ASSERT_TRUE(file);
  const auto core = ReadCore((*file)->bytes, path);
  ASSERT_TRUE(core) << core.error().message();
  EXPECT_EQ(core->pid, child);
  EXPECT_EQ(core->tids, std::vector<int32_t>{child});
  uint8_t bytes[0x1000] = {};
  EXPECT_EQ(core->Read(page, bytes, sizeof bytes), sizeof bytes);
  EXPECT_EQ(bytes[0xfff], 0xf4);
  const CoreMappedFile* program = core->FileAt(reinterpret_cast<uint64_t>(&DieWithCode));
  ASSERT_NE(program, nullptr);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(program->path, self);
  const auto own = store.Open(self);
  ASSERT_TRUE(own && (*own)->elf);
  EXPECT_EQ(core->BuildIdOf(*program), (*own)->elf->build_id);
  EXPECT_TRUE(core->vdso == 0 || !core->BuildIdAt(core->vdso).empty());

  search_.cores = {path};
  recording_.streams[0].pid = recording_.streams[0].tid = -1;
  auto loaded = RecordingCode::Load(recording_, search_);
  ASSERT_TRUE(loaded) << loaded.error().message();
  code_ = std::move(*loaded);
  EXPECT_EQ(At(page), 0xf4);
  EXPECT_NE(At(reinterpret_cast<uint64_t>(&DieWithCode)), -1) << "from the program's file";
}

}  // namespace
}  // namespace flowback
