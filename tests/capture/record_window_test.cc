// SPDX-License-Identifier: MIT
// Records between pieces of AUX data, read without the file's mapping.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/descriptor.h"
#include "base/file_reader.h"
#include "base/sanitized.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_record_reader.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using perf::RecordReader;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::TemporaryFolder;
using Data = std::vector<uint8_t>;

// A reader's records of a file, with the records' bytes.
struct Told {
  uint32_t type = 0;
  uint64_t offset = 0;
  Data body;
  Data aux;
  uint64_t aux_offset = 0;
  uint64_t aux_zeros = 0;

  bool operator==(const Told&) const = default;
};

Data CopyOf(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<Told> ReadAll(RecordReader& reader, Bytes file) {
  std::vector<Told> all;
  for (perf::Record record; reader.Next(record);) {
    const std::less_equal<const uint8_t*> not_behind;
    const bool in_file = not_behind(file.data(), record.body.data()) &&
                         not_behind(record.body.data(), file.data() + file.size());
    EXPECT_TRUE(in_file || perf::MayBeCopied(record.type)) << record.type;
    all.push_back({record.type, record.offset, CopyOf(record.body), CopyOf(record.aux),
                   record.aux_offset, record.aux_zeros});
  }
  return all;
}

// AUX data of all sizes around the window's, with zeros behind it; between them no record, many, or
// one that is longer than the window.
struct Pieces {
  Data bytes;
  uint64_t begin = 0;  // of the records
};

Pieces ManyPieces(uint64_t seed) {
  std::mt19937_64 random(seed);
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const uint64_t begin = file.NextOffset();
  const support::Trailer trailer{1000, 42, 42, 1, 100};
  for (int i = 0; i < 40; ++i) {
    constexpr size_t kSizes[] = {0, 1, 6, 7, 8, 100, 400, 505, 512, 513, 1024, 5000};
    Data data(kSizes[random() % std::size(kSizes)], 0xa5);
    std::fill_n(data.rbegin(), std::min<size_t>(data.size(), random() % 12), uint8_t{0});
    for (uint64_t left = random() % 4; left != 0; --left)
      file.Comm(42, 42, std::string(random() % 3 == 0 ? random() % 900 : 5, 'x'), false, trailer);
    if (random() % 3 == 0)
      file.Record(perf::kRecordSample, 0, FieldWriter().Raw(Data(random() % 64 * 8, 7)));
    file.Aux(0, data.size(), 0, trailer);
    file.Auxtrace(0, 0, -1, 1, data, random() % 2 == 0);
  }
  return {.bytes = file.Build(), .begin = begin};
}

TEST(RecordWindow, TellsWhatTheMappingTells) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto [bytes, begin] = ManyPieces(seed);
    if (seed % 2 != 0) bytes.resize(bytes.size() - random() % 3000);  // cut
    const std::string path = folder.Write("recording", bytes);
    const auto mapped = MappedFile::Open(path);
    ASSERT_TRUE(mapped);
    const Bytes file = (*mapped)->bytes();
    const uint64_t anywhere = file.size() - std::min<uint64_t>(file.size(), random() % 9000);
    for (const uint64_t at : {begin, anywhere}) {
      RecordReader plain(file, at, file.size());
      RecordReader windowed(file, at, file.size(), ByteOrder::kLittle, mapped->get());
      const std::vector<Told> told = ReadAll(windowed, file);
      EXPECT_EQ(told, ReadAll(plain, file)) << seed << " from " << at;
      if (at == begin) {
        EXPECT_GT(told.size(), 60u) << seed;
      }
      EXPECT_EQ(windowed.damage(), plain.damage()) << seed << " from " << at;
    }
  }
}

uint64_t Faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

TEST(RecordWindow, TouchesNothingBetweenThePieces) {
  constexpr uint64_t kPieces = 2000;
  constexpr uint64_t kSize = 100 << 10;  // more than a fault maps
  const TemporaryFolder folder;
  const std::string path = folder.path() / "recording";
  {
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_GE(*file, 0);
    const Data header = FieldWriter()
                            .U32(perf::kRecordAuxtrace)
                            .U16(0)
                            .U16(perf::kAuxtraceSize)
                            .U64(kSize)
                            .Raw(Data(32))
                            .bytes;
    for (uint64_t i = 0; i < kPieces; ++i) {
      const auto at = static_cast<off_t>(i * (perf::kAuxtraceSize + kSize));
      ASSERT_EQ(pwrite(*file, header.data(), header.size(), at), std::ssize(header));
    }
    ASSERT_EQ(ftruncate(*file, kPieces * (perf::kAuxtraceSize + kSize)), 0);
  }
  const auto mapped = MappedFile::Open(path);
  ASSERT_TRUE(mapped);
  const Bytes file = (*mapped)->bytes();
  RecordReader reader(file, 0, file.size(), ByteOrder::kLittle, mapped->get());
  const uint64_t before = Faults();
  uint64_t pieces = 0;
  for (perf::Record record; reader.Next(record);) pieces += record.aux.size() == kSize;
  EXPECT_EQ(pieces, kPieces);
  // Touching them would fault at each. A sanitizer's own memory has pages, too.
  EXPECT_LT(Faults() - before, FLOWBACK_SANITIZED ? kPieces / 2 : kPieces / 10);
}

TEST(FileReader, ReadsTheFileThatIsMappedOrNone) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string("abcdef"));
  const auto mapped = MappedFile::Open(path);
  ASSERT_TRUE(mapped);
  uint8_t bytes[4] = {};
  const FileReader reader(**mapped);
  EXPECT_EQ(reader.Read(1, bytes), 4u);
  EXPECT_EQ(CopyOf(bytes), (Data{'b', 'c', 'd', 'e'}));
  EXPECT_EQ(reader.Read(4, bytes), 2u);
  EXPECT_EQ(reader.Read(100, bytes), 0u);
  std::filesystem::rename(folder.Write("other", std::string("ABCDEF")), path);
  EXPECT_EQ(FileReader(**mapped).Read(0, bytes), 0u);
  EXPECT_EQ(reader.Read(0, bytes), 4u);  // was opened before
}

}  // namespace
}  // namespace flowback
