// SPDX-License-Identifier: MIT
//
// A perf.data file: header, attributes of the events, records, features.
//
//      header -> attrs      which events; how their records end
//             -> data       records: what the kernel said, and AUXTRACE with the trace itself
//             -> features   machine, command line, build-ids (behind the data)
//
// Reading is one pass over the records, in which AUX data is only pointed at; then the sideband is
// sorted by time and the streams are joined.
#include <map>
#include <optional>
#include <string_view>

#include "capture/formats/format.h"
#include "capture/formats/perf_auxtrace.h"
#include "capture/formats/perf_features.h"
#include "capture/formats/perf_header.h"
#include "capture/formats/perf_pt_config.h"
#include "capture/formats/perf_record_reader.h"
#include "capture/formats/perf_sample_id.h"
#include "capture/formats/perf_sideband.h"
#include "capture/formats/stream_owner.h"
#include "capture/formats/text.h"

namespace flowback {
namespace perf {
namespace {

std::string_view NameOfType(uint32_t type) {
  switch (type) {
#define FLOWBACK_PERF_RECORD(constant, number, name) \
  case number:                                       \
    return name;
#include "capture/formats/perf_records.def"
#undef FLOWBACK_PERF_RECORD
    default:
      return "unknown";
  }
}

std::unexpected<Error> Compressed(const std::string& path) {
  return Fail(Error(ErrorCode::kUnsupported,
                    path + ": is a perf.data file with zstd-compressed records (`perf record -z`), "
                           "which is not read yet")
                  .Remedy("unpack it: `perf inject -i " + path +
                          " -o plain.data`, or record "
                          "without -z"));
}

// What one pass over the records leaves behind, beside the sideband.
struct Contents {
  std::optional<AuxtraceInfo> info;
  StreamCollector streams;
  std::map<std::string_view, uint64_t> counts;
  uint64_t malformed = 0;  // sideband records too short for their fields
  uint64_t first_malformed = 0;
  bool compressed = false;
};

void TakeSideband(const Record& record, const SampleIdParser& ids, Contents& contents,
                  Recording& recording) {
  if (auto sideband = ToSideband(record, ids.Parse(record))) {
    if (const auto* aux = std::get_if<AuxRecord>(&*sideband)) contents.streams.AddRecord(*aux);
    recording.sideband.push_back(*std::move(sideband));
  } else if (contents.malformed++ == 0) {
    contents.first_malformed = record.offset;
  }
}

void TakeRecord(const Record& record, const SampleIdParser& ids, Contents& contents,
                Recording& recording) {
  ++contents.counts[NameOfType(record.type)];
  switch (record.type) {
    case kRecordAuxtraceInfo:
      if (!contents.info) contents.info = ParseAuxtraceInfo(record);
      break;
    case kRecordAuxtrace:
      contents.streams.AddData(record);
      break;
    case kRecordTimeConv:
      ApplyTimeConv(record, recording.pt);
      break;
    case kRecordCompressed:
    case kRecordCompressed2:
      contents.compressed = true;
      break;
    default:
      if (IsSideband(record.type)) TakeSideband(record, ids, contents, recording);
  }
}

Contents ReadRecords(Bytes file, const FileSection& data, const SampleIdParser& ids,
                     Recording& recording) {
  Contents contents;
  RecordReader reader(file, data.offset, data.offset + data.size);
  for (Record record; !contents.compressed && reader.Next(record);) {
    if (record.type == kRecordHeaderFeature) ReadFeatureRecord(file, record, recording);
    TakeRecord(record, ids, contents, recording);
  }
  if (!reader.damage().empty()) recording.warnings.push_back(reader.damage());
  if (contents.malformed != 0) {
    recording.warnings.push_back(Dec(contents.malformed) +
                                 " records are too short for their fields and left out; the first "
                                 "is at offset " +
                                 Hex(contents.first_malformed));
  }
  for (const auto& [name, count] : contents.counts) {
    recording.record_counts.emplace_back(name, count);
  }
  return contents;
}

// Other hardware's AUX data is not ours to decode. Without an AUXTRACE_INFO, which stands first in
// every recording, the data is taken for Intel PT, and said so.
bool HasPtStreams(const Contents& contents, std::vector<std::string>& warnings) {
  if (contents.streams.empty()) return false;
  if (!contents.info) {
    warnings.push_back(
        "there is AUX data but no AUXTRACE_INFO record that says of which hardware: taken for "
        "Intel "
        "PT with unknown settings");
    return true;
  }
  if (contents.info->is_intel_pt()) return true;
  warnings.push_back("the AUX data is of hardware type " + Dec(contents.info->type) +
                     ", not of Intel PT (1): not decoded");
  return false;
}

void WarnOfSampledAux(const std::vector<EventAttr>& attrs, std::vector<std::string>& warnings) {
  for (const EventAttr& attr : attrs) {
    if (!(attr.sample_type & kSampleAux)) continue;
    warnings.push_back("samples carry AUX data (`--aux-sample`), which is not read yet");
    return;
  }
}

}  // namespace
}  // namespace perf

bool MatchesPerfDataFile(const Candidate& candidate) {
  const std::string_view magic = perf::kMagic;
  const bool cut_magic = candidate.bytes.size() >= 4 && candidate.bytes.size() < magic.size() &&
                         StartsWith(candidate.bytes, magic.substr(0, candidate.bytes.size()));
  return cut_magic || (StartsWith(candidate.bytes, magic) && !MatchesPerfDataPipe(candidate));
}

Status ReadPerfDataFile(const Candidate& candidate, Recording& recording) {
  using namespace perf;
  const Bytes file = candidate.bytes;
  std::vector<std::string>& warnings = recording.warnings;

  const auto header = ReadFileHeader(file, candidate.path, warnings);
  if (!header) return Fail(header.error());
  if (header->Has(kFeatureCompressed)) return Compressed(candidate.path);
  const std::vector<EventAttr> attrs = ReadAttrs(file, *header, warnings);
  ReadFeatures(file, *header, recording);
  WarnOfSampledAux(attrs, warnings);

  const SampleIdParser ids(attrs, warnings);
  Contents contents = ReadRecords(file, header->data, ids, recording);
  if (contents.compressed) return Compressed(candidate.path);
  if (contents.info && contents.info->is_intel_pt()) {
    ApplyPtInfo(*contents.info, attrs, recording.pt, warnings);
  }

  // From here on the sideband is complete and in time order.
  SortByTime(recording.sideband);
  if (HasPtStreams(contents, warnings)) std::move(contents.streams).Finish(recording);
  AssignOwners(recording);
  return {};
}

}  // namespace flowback
