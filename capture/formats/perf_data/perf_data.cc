// SPDX-License-Identifier: MIT
//
// A perf.data file: header, attributes of the events, records, features.
//
//      header -> attrs      which events; how their records end
//             -> data       records: what the kernel said, and AUXTRACE with the trace itself
//             -> features   machine, command line, build-ids (behind the data)
//
// The directory form (`perf record --kcore`, `--threads`) is a folder with such a file `data`, with
// more records in files data.0, data.1, ..., which have no header, and with the kernel's code in
// kcore_dir.
#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_data/perf_session.h"
#include "capture/formats/perf_records/perf_features.h"
#include "capture/formats/perf_records/perf_header.h"

namespace flowback {
namespace perf {
namespace {

namespace fs = std::filesystem;

// More records of a directory form; `file` names them in messages.
Status ReadFiles(const std::vector<RecordSection>& files, RecordingReader& session) {
  for (const RecordSection& file : files) {
    if (Status status = session.Read(file); !status) return status;
  }
  return {};
}

// A recorder that fears to be killed says who it is in front of the data, too: the header's
// features come at the end.
void ReadLeadingFeatures(const RecordSection& section, ByteOrder order, Recording& recording) {
  constexpr int kMostRecords = 64;
  RecordReader reader = section.Records(order);
  FeatureDamage damage;
  Record record;
  for (int i = 0; i < kMostRecords && reader.Next(record); ++i)
    if (record.type == kRecordHeaderFeature) ReadFeatureRecord(record, recording, damage);
  damage.Report(recording);
}

// Our recorder keeps the size of the data true while it writes; the features come last.
void TellWhetherItEnded(const FileHeader& header, Bytes file, Recording& recording) {
  const bool has_features = std::ranges::any_of(header.features, [](uint64_t w) { return w != 0; });
  if (has_features || !recording.machine.recorder.starts_with("flowback")) return;
  const uint64_t left_over = file.size() - header.data.offset - header.data.size;
  recording.warnings.push_back(
      {"the header has no features: the recorder did not end properly; the recording goes as far "
       "as "
       "it was written, " +
           ByteCount(left_over) + " of an unfinished record excepted",
       "record again, and end the recorder with SIGINT, not SIGKILL"});
}

// The main file and, in the directory form, the others.
Status TakeWithHeader(const Candidate& candidate, const std::vector<RecordSection>& others,
                      Recording& recording) {
  const std::string& path = candidate.path;
  const Bytes file = candidate.bytes;
  const auto header = ReadFileHeader(file, path, recording.warnings);
  if (!header) return Fail(header.error());
  std::vector<EventAttr> attrs = ReadAttrs(file, *header, recording.warnings);
  const RecordSection records{path, file, header->data.offset,
                              header->data.offset + header->data.size, candidate.mapped};
  const bool told = !recording.warnings.empty();  // already, by the header's data size
  ReadLeadingFeatures(records, header->order, recording);
  if (!told) TellWhetherItEnded(*header, file, recording);
  const Bytes tracing_data = ReadFeatures(file, *header, recording);
  RecordingReader session(std::move(attrs), header->order, recording);
  session.VisitSamples(candidate.visit_samples);
  session.UseTracingData(tracing_data);
  if (!others.empty()) session.IgnoreRounds();
  if (Status status = session.Read(records); !status) return status;
  if (Status status = ReadFiles(others, session); !status) return status;
  session.Finish();
  return {};
}

// data.0, data.1, ... as long as there are any.
Result<std::vector<RecordSection>> OpenOthers(const fs::path& folder, Recording& recording) {
  std::vector<RecordSection> files;
  std::error_code ignored;
  for (unsigned number = 0;; ++number) {
    const fs::path path = folder / ("data." + std::to_string(number));
    if (!fs::exists(path, ignored)) return files;
    auto file = MappedFile::Open(path);
    if (!file) return Fail(std::move(file.error()).Remedy("copy the whole folder again"));
    recording.storage.push_back(*file);
    recording.files.push_back(*file);
    recording.file_size += (*file)->bytes().size();
    files.push_back({path, (*file)->bytes(), 0, (*file)->bytes().size(), file->get()});
  }
}

}  // namespace
}  // namespace perf

bool MatchesPerfDataFile(const Candidate& candidate) {
  const std::string_view magic = perf::kMagic;
  const bool cut_magic = candidate.bytes.size() >= 4 && candidate.bytes.size() < magic.size() &&
                         StartsWith(candidate.bytes, magic.substr(0, candidate.bytes.size()));
  return cut_magic || ((StartsWith(candidate.bytes, magic) ||
                        StartsWith(candidate.bytes, perf::kForeignMagic)) &&
                       !MatchesPerfDataPipe(candidate));
}

Status ReadPerfDataFile(const Candidate& candidate, Recording& recording) {
  return perf::TakeWithHeader(candidate, {}, recording);
}

bool MatchesPerfDataDirectory(const Candidate& candidate) {
  std::error_code ignored;
  return candidate.is_directory &&
         std::filesystem::exists(std::filesystem::path(candidate.path) / perf::kFolderData,
                                 ignored);
}

Status ReadPerfDataDirectory(const Candidate& candidate, Recording& recording) {
  const std::filesystem::path folder = candidate.path;
  const std::string path = folder / perf::kFolderData;
  auto file = MappedFile::Open(path);
  if (!file) return Fail(std::move(file.error()).Remedy("copy the whole folder again"));
  const Candidate data{path, false, (*file)->bytes(), *file, file->get(), candidate.visit_samples};
  if (!MatchesPerfDataFile(data)) {
    return Fail(Error(ErrorCode::kUnreadable, path + ": is no perf.data file, so the folder is no "
                                                     "recording")
                    .At(0)
                    .Remedy("name the folder that `perf record -o` was given"));
  }
  recording.storage.push_back(*file);
  recording.files.push_back(*file);
  recording.file_size = data.bytes.size();
  const auto others = perf::OpenOthers(folder, recording);
  if (!others) return Fail(others.error());
  std::error_code ignored;
  const std::filesystem::path kcore = folder / perf::kFolderKernel;
  if (std::filesystem::is_directory(kcore, ignored)) recording.kcore_dir = kcore;
  return perf::TakeWithHeader(data, *others, recording);
}

}  // namespace flowback
