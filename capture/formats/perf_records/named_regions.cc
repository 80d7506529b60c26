// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/named_regions.h"

#include <utility>

#include "capture/formats/input/format.h"
#include "capture/formats/perf_records/named_region.h"
#include "capture/formats/perf_records/perf_header.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_record_reader.h"

namespace flowback {
namespace {

using namespace perf;

// In a pipe there are zeros behind the last one, up to a multiple of eight bytes.
void TakeRegions(FieldReader fields, std::vector<NamedRegion>& regions) {
  constexpr size_t kUnit = 8;
  while (fields.remaining() >= kUnit) {
    NamedRegion region;
    if (!ReadNamedRegion(fields, region)) return;
    regions.push_back(std::move(region));
  }
}

void TakeOfFile(Bytes file, const std::string& path, std::vector<NamedRegion>& regions) {
  std::vector<Warning> told_before;
  const auto header = ReadFileHeader(file, path, told_before);
  if (!header || !header->Has(kFeatureRegions)) return;
  FieldReader table(Slice(file, header->feature_table, kFeatureBits * kSectionSize), header->order);
  for (unsigned bit = 0; bit < kFeatureRegions; ++bit)
    if (header->Has(bit)) table.Skip(kSectionSize);
  const uint64_t offset = table.U64();
  const uint64_t size = table.U64();
  if (table.ok()) TakeRegions(FieldReader(Slice(file, offset, size), header->order), regions);
}

void TakeOfPipe(Bytes file, std::vector<NamedRegion>& regions) {
  RecordReader reader(file, kPipeHeaderSize, file.size());
  for (Record record; reader.Next(record);) {
    if (record.type != kRecordHeaderFeature) continue;
    FieldReader fields = record.Fields();
    if (fields.U64() == kFeatureRegions) TakeRegions(fields, regions);
  }
}

}  // namespace

// The only recorders with named regions write this machine's byte order.
std::vector<NamedRegion> NamedRegions(const Recording& recording) {
  std::vector<NamedRegion> regions;
  if (recording.files.empty()) return regions;
  const Candidate candidate{recording.path, false, recording.files.front()->bytes(),
                            recording.files.front()};
  if (MatchesPerfDataPipe(candidate) && StartsWith(candidate.bytes, kMagic))
    TakeOfPipe(candidate.bytes, regions);
  else if (MatchesPerfDataFile(candidate))
    TakeOfFile(candidate.bytes, recording.path, regions);
  return regions;
}

}  // namespace flowback
