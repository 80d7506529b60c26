// SPDX-License-Identifier: MIT
// Pipe mode, directory form, compressed and foreign files that are cut, lie, or are made to harm.
// tests/golden/containers_test.cc has the good ones.
#include <gtest/gtest.h>
#include <zstd.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::FileBytes;
using support::PerfDataBuilder;
using support::ReadBytes;
using support::TemporaryFolder;
using support::Trailer;
using support::Warns;

constexpr Trailer kTrailer{1000, 42, 42, 1, 102};

FileBytes SmallFile() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(42, 42, "program", true, kTrailer);
  file.Mmap2(42, 0x400000, 0x1000, 0, "/bin/program", kTrailer);
  file.Auxtrace(0, 0, -1, 1, FileBytes(40, 7));
  file.Exit(42, 42, kTrailer);
  file.TextFeature(kFeatureHostname, "host");
  return file.Build();
}

Recording Read(const FileBytes& bytes) {
  auto recording = ReadBytes(bytes);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

FileBytes Cut(const FileBytes& whole, size_t size) {
  return {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)};
}

// The part before the cut is kept, with a warning, unless the header was cut.
void ExpectCutsAreSaid(const FileBytes& whole, size_t first) {
  const Recording complete = Read(whole);
  EXPECT_TRUE(complete.warnings.empty());
  ASSERT_EQ(complete.sideband.size(), 3u);
  for (size_t size = first; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const auto cut = ReadBytes(Cut(whole, size));
    if (!cut) {
      EXPECT_EQ(cut.error().code(), ErrorCode::kUnreadable);
      EXPECT_FALSE(cut.error().remedy().empty());
      continue;
    }
    EXPECT_LE(cut->sideband.size(), 3u);
    const bool all = cut->sideband.size() == 3 && cut->streams.size() == 1 &&
                     cut->streams[0].bytes.size() == 40 && cut->machine.hostname == "host";
    EXPECT_TRUE(all || !cut->warnings.empty() || cut->sideband.size() < 3);
  }
}

TEST(ContainerDamage, PipeCutAtEveryByte) {
  ExpectCutsAreSaid(support::ToPipe(support::TakeApart(SmallFile())), 16);
}

TEST(ContainerDamage, CompressedFileCutAtEveryByte) {
  ExpectCutsAreSaid(support::ToCompressed(support::TakeApart(SmallFile()), 40), 8);
}

TEST(ContainerDamage, ForeignFileCutAtEveryByte) {
  ExpectCutsAreSaid(support::ToForeign(support::TakeApart(SmallFile())), 8);
}

TEST(ContainerDamage, PipeCutInItsHeader) {
  const FileBytes pipe = support::ToPipe(support::TakeApart(SmallFile()));
  for (size_t size = 8; size < 16; ++size) EXPECT_FALSE(ReadBytes(Cut(pipe, size))) << size;
  const Recording empty = Read(Cut(pipe, 16));
  EXPECT_TRUE(empty.streams.empty());
  EXPECT_TRUE(Warns(empty, "names no events"));
}

// Attributes that are longer than what we know, and than what perf knew when it was young.
TEST(Pipe, AttributesOfOtherSizes) {
  for (const uint32_t size : {64u, 96u, 128u, 136u, 200u}) {
    SCOPED_TRACE(size);
    FieldWriter attr;
    attr.U32(8).U32(size).U64(0x100f621).U64(1).U64(kSampleTid | kSampleTime).U64(0);
    attr.U64(kAttrSampleIdAll);
    attr.bytes.resize(size);
    attr.U64(100);
    FieldWriter file;
    file.Raw({kMagic, kMagic + 8}).U64(kPipeHeaderSize);
    file.U32(kRecordHeaderAttr).U16(0).U16(static_cast<uint16_t>(8 + attr.bytes.size()));
    file.Raw(attr.bytes);
    file.U32(kRecordSwitch).U16(0).U16(24).U32(42).U32(43).U64(77);
    const Recording recording = Read(file.bytes);
    ASSERT_EQ(recording.sideband.size(), 1u);
    EXPECT_EQ(std::get<SwitchRecord>(recording.sideband[0]).tid, 43);
    EXPECT_EQ(std::get<SwitchRecord>(recording.sideband[0]).time, 77u);
  }
}

FileBytes Packed(const FileBytes& plain) {
  FileBytes packed(ZSTD_compressBound(plain.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 19));
  return packed;
}

PerfDataBuilder WithCompressed(const FileBytes& packed) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  FieldWriter body;
  file.Record(kRecordCompressed, 0, body.Raw(packed));
  return file;
}

// 300 MB of well-formed records in some thirty kilobytes.
TEST(Bomb, OfCompressedRecordsIsRefusedAndNamesItsPlace) {
  FieldWriter switches;
  while (switches.bytes.size() < 300u << 20) {
    if (switches.bytes.empty()) switches.U32(kRecordThrottle).U16(0).U16(8);
    switches.bytes.insert(switches.bytes.end(), switches.bytes.begin(), switches.bytes.end());
  }
  const FileBytes packed = Packed(switches.bytes);
  ASSERT_LT(packed.size(), 0xff00u);
  PerfDataBuilder before = PerfDataBuilder::WithIntelPt();
  const uint64_t at = before.NextOffset();
  const Recording recording = Read(WithCompressed(packed).Build());
  ASSERT_TRUE(recording.refusal);
  EXPECT_EQ(recording.refusal->code(), ErrorCode::kUnreadable);
  EXPECT_EQ(recording.refusal->offset(), at);
  EXPECT_NE(recording.refusal->message().find("unpacks to more than"), std::string::npos);
  EXPECT_FALSE(recording.refusal->remedy().empty());
  EXPECT_TRUE(Warns(recording, "nothing is read from there on"));
}

TEST(Bomb, OfZerosEndsAtTheFirstRecord) {
  const Recording recording = Read(WithCompressed(Packed(FileBytes(100u << 20))).Build());
  EXPECT_TRUE(Warns(recording, "smaller than its own header"));
}

TEST(Compressed, DamageCostsTheCompressedRecordsOnly) {
  FieldWriter plain;
  plain.U32(kRecordSwitch).U16(0).U16(8);
  FileBytes packed = Packed(plain.bytes);
  packed[5] ^= 0xff;
  packed[0] ^= 0xff;
  PerfDataBuilder file = WithCompressed(packed);
  file.Auxtrace(0, 0, -1, 1, FileBytes(40, 7));
  file.Comm(42, 42, "after", false, kTrailer);
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
  EXPECT_EQ(recording.sideband.size(), 1u);
  EXPECT_TRUE(Warns(recording, "is no zstd stream"));
}

TEST(Compressed, NoTraceInsideAndNothingTwice) {
  for (const uint32_t type : {uint32_t{kRecordAuxtrace}, uint32_t{kRecordCompressed}}) {
    FieldWriter plain;
    plain.U32(type).U16(0).U16(48);
    plain.bytes.resize(96);
    const Recording recording = Read(WithCompressed(Packed(plain.bytes)).Build());
    EXPECT_TRUE(recording.streams.empty());
    EXPECT_TRUE(Warns(recording, "can't be"));
  }
}

TEST(Compressed, ARecordWithoutItsEndIsSaid) {
  FieldWriter plain;
  plain.U32(kRecordComm).U16(0).U16(64).U64(0);
  const Recording recording = Read(WithCompressed(Packed(plain.bytes)).Build());
  EXPECT_TRUE(Warns(recording, "end at offset"));
}

Result<Recording> OpenFolder(const TemporaryFolder& folder) {
  OpenOptions options;
  options.input = folder.path();
  return OpenRecording(options);
}

TEST(Directory, WithoutOtherFiles) {
  TemporaryFolder folder;
  folder.Write("data", SmallFile());
  const auto recording = OpenFolder(folder);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->sideband.size(), 3u);
  EXPECT_EQ(recording->file_size, SmallFile().size());
  EXPECT_TRUE(recording->kcore_dir.empty());
}

TEST(Directory, WhoseDataIsSomethingElse) {
  TemporaryFolder folder;
  folder.Write("data", "hello, world");
  const auto recording = OpenFolder(folder);
  ASSERT_FALSE(recording);
  EXPECT_NE(recording.error().message().find("data: is no perf.data file"), std::string::npos);
}

TEST(Directory, DamageInAnotherFileNamesIt) {
  TemporaryFolder folder;
  for (const auto& [name, bytes] : support::ToDirectory(support::TakeApart(SmallFile()))) {
    folder.Write(name, name == "data.1" ? Cut(bytes, bytes.size() - 3) : bytes);
  }
  const auto recording = OpenFolder(folder);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->sideband.size(), 2u);
  EXPECT_TRUE(Warns(*recording, "data.1: cut at offset"));
}

}  // namespace
}  // namespace flowback
