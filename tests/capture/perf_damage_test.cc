// SPDX-License-Identifier: MIT
// Cut and lying perf.data files: a message with the place, and what was read before is kept.
#include <gtest/gtest.h>

#include <chrono>

#include "capture/formats/perf_records/perf_layout.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::ReadBytes;
using support::Trailer;
using support::Warns;
using Data = std::vector<uint8_t>;

constexpr Trailer kTrailer{1000, 42, 42, 1, 102};
constexpr uint64_t kAttrsAt = kFileHeaderSize + 16;  // behind the two events' ids
constexpr uint64_t kDataAt = kAttrsAt + 2 * 144;

PerfDataBuilder SmallFile() {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(42, 42, "program", true, kTrailer);
  file.Mmap2(42, 0x400000, 0x1000, 0, "/bin/program", kTrailer);
  file.Auxtrace(0, 0, -1, 1, Data(40, 7));
  file.Exit(42, 42, kTrailer);
  file.TextFeature(kFeatureHostname, "host");
  file.TextFeature(kFeatureCpuid, "GenuineIntel,6,94,3");
  return file;
}

void Store(Data& bytes, uint64_t at, uint64_t value, unsigned width) {
  ASSERT_LE(at + width, bytes.size());
  for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

Recording Read(const Data& bytes) {
  auto recording = ReadBytes(bytes);
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

Error Fails(const Data& bytes) {
  auto recording = ReadBytes(bytes);
  EXPECT_FALSE(recording);
  return recording ? Error(ErrorCode::kSystem, "") : recording.error();
}

TEST(PerfDamage, CutAtEveryByteOfTheHeader) {
  const Data whole = SmallFile().Build();
  for (size_t size = 4; size < kDataAt; ++size) {
    SCOPED_TRACE(size);
    const Error error = Fails({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    EXPECT_EQ(error.code(), ErrorCode::kUnreadable);
    EXPECT_TRUE(error.offset().has_value());
    EXPECT_NE(error.message().find("test.data: "), std::string::npos);
    EXPECT_FALSE(error.remedy().empty());
  }
}

// From the first record on, a cut costs what is behind it and nothing else.
TEST(PerfDamage, CutAtEveryByteOfTheData) {
  const Data whole = SmallFile().Build();
  const Recording complete = Read(whole);
  ASSERT_EQ(complete.streams.size(), 1u);
  ASSERT_TRUE(complete.warnings.empty());
  const uint64_t aux_end = complete.streams[0].file_offset + complete.streams[0].bytes.size();
  for (size_t size = kDataAt; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const Recording cut = Read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    EXPECT_FALSE(cut.warnings.empty());
    EXPECT_LE(cut.warnings.size(), 3u) << "more of the same helps nobody";
    for (const Warning& warning : cut.warnings) EXPECT_FALSE(warning.remedy.empty());
    EXPECT_LE(cut.sideband.size(), complete.sideband.size());
    if (size >= complete.streams[0].file_offset) {
      const uint64_t kept = std::min<uint64_t>(size, aux_end) - complete.streams[0].file_offset;
      ASSERT_EQ(cut.streams.size(), 1u);
      EXPECT_EQ(cut.streams[0].bytes.size(), kept);
      EXPECT_EQ(cut.sideband.size(), size < aux_end + 64 ? 2u : 3u);
    }
  }
}

TEST(PerfDamage, CutInsideAnAuxAreaNamesIt) {
  const Data whole = SmallFile().Build();
  const uint64_t at = Read(whole).streams[0].file_offset;
  const Data bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(at + 10));
  const Recording cut = Read(bytes);
  EXPECT_EQ(cut.streams.at(0).bytes.size(), 10u);
  EXPECT_TRUE(Warns(cut, "inside the AUX area of 40 bytes"));
}

TEST(PerfDamage, AuxSizePastTheEndOfTheData) {
  PerfDataBuilder file = SmallFile();
  file.Auxtrace(40, 0, -1, 1, Data(24, 9));
  for (const uint64_t size : {uint64_t{25}, uint64_t{1} << 40, ~uint64_t{0}}) {
    Data bytes = file.Build();
    Store(bytes, file.NextOffset() - 24 - kAuxtraceSize + kRecordHeaderSize, size, 8);
    const Recording recording = Read(bytes);
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 64u);
    EXPECT_EQ(recording.machine.hostname, "host");
    EXPECT_TRUE(Warns(recording, "inside the AUX area"));
  }
}

TEST(PerfDamage, AuxOffsetPastEverything) {
  for (const uint64_t offset : {uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 23}) {
    PerfDataBuilder file = SmallFile();
    file.Auxtrace(offset, 0, -1, 1, Data(24, 9));
    const Recording recording = Read(file.Build());
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 64u);
    EXPECT_EQ(recording.streams.at(0).gaps.size(), 1u);
  }
}

TEST(PerfDamage, AuxRecordWhoseEndWrapsRound) {
  PerfDataBuilder file = SmallFile();
  file.Aux(~uint64_t{0} - 3, 100, kAuxTruncated, kTrailer);
  file.Aux(8, ~uint64_t{0}, kAuxTruncated, kTrailer);
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
  EXPECT_LE(recording.streams.at(0).gaps.size(), 1u);
}

// Two AUX records and one piece with the same 40 bytes.
PerfDataBuilder FileWithAuxRecords(uint64_t piece_offset, uint64_t first_size,
                                   uint64_t second_offset) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Aux(0, first_size, 0, kTrailer);
  file.Aux(second_offset, 16, 0, kTrailer);
  file.Auxtrace(piece_offset, 0, -1, 1, Data(40, 7));
  file.Exit(42, 42, kTrailer);
  return file;
}

// Where AUX and AUXTRACE records contradict each other, the one that is alone lies.
TEST(PerfDamage, AuxRecordsThatContradictTheData) {
  EXPECT_TRUE(Read(FileWithAuxRecords(0, 24, 24).Build()).warnings.empty());
  for (const uint64_t lie : {uint64_t{1} << 50, ~uint64_t{0} - 3, uint64_t{41}}) {
    const Recording recording = Read(FileWithAuxRecords(0, 24, lie).Build());
    EXPECT_TRUE(Warns(recording, "the AUX record at offset 0x"));
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
    EXPECT_TRUE(recording.streams.at(0).gaps.empty()) << "a lie is no loss";
  }
  const Recording size = Read(FileWithAuxRecords(0, uint64_t{1} << 50, 24).Build());
  EXPECT_TRUE(Warns(size, "the AUX record at offset 0x"));
  EXPECT_TRUE(size.streams.at(0).gaps.empty());
}

// What follows on a record may well be data that is missing.
TEST(PerfDamage, AuxRecordOfMissingDataIsBelieved) {
  PerfDataBuilder file = FileWithAuxRecords(0, 24, 24);
  file.Aux(40, 60, 0, kTrailer);
  file.Aux(100, 60, 0, kTrailer);
  const Recording recording = Read(file.Build());
  EXPECT_TRUE(recording.warnings.empty());
  ASSERT_EQ(recording.streams.at(0).gaps.size(), 1u);
  EXPECT_TRUE(recording.streams[0].gaps[0].reason.contains("120 bytes"));
}

TEST(PerfDamage, AuxtraceOffsetThatContradictsTheAuxRecords) {
  for (const uint64_t lie : {uint64_t{1} << 40, ~uint64_t{0} - 3, uint64_t{40}}) {
    const Recording recording = Read(FileWithAuxRecords(lie, 24, 24).Build());
    EXPECT_TRUE(Warns(recording, "the AUXTRACE record at offset 0x"));
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
    EXPECT_TRUE(recording.streams.at(0).gaps.empty());
  }
}

// The pieces stay in the file's order, which is the program's.
TEST(PerfDamage, PieceWithALyingOffsetKeepsItsPlace) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Data(8, 1));
  file.Auxtrace(uint64_t{1} << 40, 0, -1, 1, Data(8, 2));
  file.Auxtrace(16, 0, -1, 1, Data(8, 3));
  file.Aux(0, 24, 0, kTrailer);
  const Recording recording = Read(file.Build());
  const Bytes bytes = recording.streams.at(0).bytes;
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[8], 2);
  EXPECT_EQ(bytes[16], 3);
  ASSERT_EQ(recording.streams[0].gaps.size(), 1u);
  EXPECT_EQ(recording.streams[0].gaps[0].offset, 8u);
}

// The AUX records show where the data ends when its size goes past the section: what follows are
// other records, not trace.
TEST(PerfDamage, AuxSizeThatLiesIsBoundedByTheAuxRecords) {
  const PerfDataBuilder file = FileWithAuxRecords(0, 24, 24);
  const uint64_t at = Read(file.Build()).streams.at(0).file_offset;
  for (const uint64_t size : {uint64_t{1} << 62, ~uint64_t{0}}) {
    Data bytes = file.Build();
    Store(bytes, at - kAuxtraceSize + kRecordHeaderSize, size, 8);
    const Recording recording = Read(bytes);
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
    EXPECT_TRUE(Warns(recording, "inside the AUX area"));
    EXPECT_TRUE(Warns(recording, "AUX records describe 40 bytes"));
  }
}

TEST(PerfDamage, RecordSizesThatLie) {
  PerfDataBuilder file = SmallFile();
  const uint64_t at = file.NextOffset();
  file.Comm(42, 42, "unreached", false, kTrailer);
  for (const uint16_t size : {0, 1, 7, 0xffff}) {
    Data bytes = file.Build();
    Store(bytes, at + 6, size, 2);
    const Recording recording = Read(bytes);
    EXPECT_EQ(recording.sideband.size(), 3u) << size;
    EXPECT_EQ(recording.streams.size(), 1u);
    EXPECT_EQ(recording.machine.hostname, "host");
    EXPECT_TRUE(Warns(recording, "nothing is read from there on")) << size;
  }
}

TEST(PerfDamage, ShortAuxtraceRecord) {
  PerfDataBuilder file = SmallFile();
  file.Record(kRecordAuxtrace, 0, FieldWriter().U64(8));
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.streams.size(), 1u);
  EXPECT_TRUE(Warns(recording, "too short to say where its data ends"));
}

TEST(PerfDamage, RecordsOfNoLength) {
  PerfDataBuilder file = SmallFile();
  for (uint32_t type = 0; type < 90; ++type) {
    if (type == kRecordCompressed || type == kRecordCompressed2 || type == kRecordAuxtrace)
      continue;
    file.Record(type, 0xffff, FieldWriter());
  }
  EXPECT_TRUE(Warns(Read(file.Build()), "too short for their fields"));
}

TEST(PerfDamage, HeaderFieldsThatLie) {
  const Data whole = SmallFile().Build();
  struct Lie {
    uint64_t at;
    uint64_t value;
    const char* says;
  };
  constexpr uint64_t kHuge = ~uint64_t{0};
  for (const Lie& lie :
       {Lie{8, 105, "size field"}, Lie{8, kHuge, "size field"}, Lie{16, 0, "attributes take"},
        Lie{16, 79, "attributes take"}, Lie{24, kHuge, "attributes at"},
        Lie{32, kHuge, "attributes at"}, Lie{40, kHuge, "data section"},
        Lie{40, whole.size() + 1, "data section"}}) {
    Data bytes = whole;
    Store(bytes, lie.at, lie.value, 8);
    const Error error = Fails(bytes);
    EXPECT_EQ(error.code(), ErrorCode::kUnreadable);
    EXPECT_NE(error.message().find(lie.says), std::string::npos) << error.message();
    EXPECT_TRUE(error.offset().has_value());
  }
}

TEST(PerfDamage, DataSizeThatLies) {
  for (const uint64_t size : {~uint64_t{0}, uint64_t{1} << 62, uint64_t{0}}) {
    Data bytes = SmallFile().Build();
    Store(bytes, 48, size, 8);
    const Recording recording = Read(bytes);
    EXPECT_EQ(recording.sideband.size(), 3u);
    EXPECT_EQ(recording.streams.at(0).bytes.size(), 40u);
    EXPECT_TRUE(Warns(recording, size == 0 ? "did not end properly" : "is cut by the file's end"));
  }
}

TEST(PerfDamage, AttributeSizeLargerThanTheSection) {
  Data bytes = SmallFile().Build();
  Store(bytes, 16, uint64_t{1} << 60, 8);
  EXPECT_TRUE(Warns(Read(bytes), "names no events"));
}

TEST(PerfDamage, IdsThatLie) {
  Data bytes = SmallFile().Build();
  Store(bytes, kAttrsAt + 128, ~uint64_t{0} - 7, 8);
  EXPECT_TRUE(Warns(Read(bytes), "more than the file holds"));
  bytes = SmallFile().Build();
  Store(bytes, kAttrsAt + 136, uint64_t{1} << 40, 8);
  EXPECT_TRUE(Warns(Read(bytes), "more than the file holds"));
}

// Thousands of events that all claim the whole file as their ids must not cost its square.
TEST(PerfDamage, SharedIdsCostNoMoreThanTheFile) {
  PerfDataBuilder file;
  for (int i = 0; i < 5000; ++i) file.AddEvent({8, 0, kSampleTid, true, {}});
  Data bytes = file.Build();
  for (size_t i = 0; i < 5000; ++i) {
    Store(bytes, kFileHeaderSize + i * 144 + 128, 0, 8);
    Store(bytes, kFileHeaderSize + i * 144 + 136, bytes.size() / 8 * 8, 8);
  }
  EXPECT_TRUE(Warns(Read(bytes), "more than the file holds"));
}

// Many buffers and many AUX records: the work must not be their product.
TEST(PerfDamage, ManyBuffersAndRecords) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    file.Auxtrace(0, static_cast<uint32_t>(i), -1, i, Data(8, 1));
    file.Aux(0, 8, kAuxTruncated, {1000, 42, 42, i, 102});
  }
  const auto begin = std::chrono::steady_clock::now();
  const Recording recording = Read(file.Build());
  EXPECT_EQ(recording.streams.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(recording.streams.back().gaps.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(PerfDamage, FeatureTableThatIsCut) {
  Data bytes = SmallFile().Build();
  for (size_t at = 72; at < 104; ++at) bytes[at] = at == 75 ? 0xf7 : 0xff;  // all but COMPRESSED
  EXPECT_TRUE(Warns(Read(bytes), "table of the header's features"));
}

TEST(PerfDamage, FeaturesOutsideTheFile) {
  const PerfDataBuilder file = SmallFile();
  Data bytes = file.Build();
  Store(bytes, file.NextOffset(), ~uint64_t{0}, 8);
  Store(bytes, file.NextOffset() + 24, ~uint64_t{0}, 8);
  const Recording recording = Read(bytes);
  EXPECT_TRUE(Warns(recording, "host name"));
  EXPECT_TRUE(Warns(recording, "CPU id"));
  EXPECT_EQ(recording.streams.size(), 1u);
}

// Every single flipped byte: an error or a recording, never a crash (the sanitizers watch).
TEST(PerfDamage, EveryByteFlipped) {
  const Data whole = SmallFile().Build();
  size_t opened = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const uint8_t mask : {0x01, 0x80, 0xff}) {
      Data bytes = whole;
      bytes[at] ^= mask;
      const auto recording = ReadBytes(bytes);
      opened += recording.has_value();
      EXPECT_TRUE(recording || !recording.error().message().empty());
    }
  }
  EXPECT_GT(opened, whole.size());
}

}  // namespace
}  // namespace flowback
