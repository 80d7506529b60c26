// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "base/recorded/pt_config.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/tsc_reference.h"
#include "capture/formats/raw_pt.h"
#include "capture/formats/raw_stream_owner.h"
#include "flowback/capture/open.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;
using File = std::shared_ptr<const MappedFile>;

// A recording is read in many places, so a pipe's content is copied first, but only if it is a
// recording: other content may have no end.
Result<File> OpenPipe(const std::string& path) {
  auto file = MappedFile::Spool(path, [&](Bytes head) {
    Candidate candidate;
    candidate.path = path;
    candidate.bytes = head;
    return CheckRecognised(candidate);
  });
  if (file || !file.error().remedy().empty()) return file;
  return Fail(std::move(file.error()).Remedy("save the input as a file and name that"));
}

// Files in /proc and /sys say that they have no bytes and may have any number when they are read.
bool IsReallyEmpty(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.get();
  return file.eof() && !file.bad();
}

Result<File> OpenFile(const std::string& path, fs::file_type type) {
  if (type == fs::file_type::fifo || type == fs::file_type::socket) return OpenPipe(path);
  if (type == fs::file_type::character)
    return Fail(Error(ErrorCode::kUnreadable, path + ": is a terminal or another device")
                    .Remedy("name a perf.data file, or send one through a pipe: `... | flowback "
                            "info -`"));
  auto file = MappedFile::Open(path);
  if (file && (*file)->bytes().empty() && !IsReallyEmpty(path))
    return Fail(Error(ErrorCode::kUnreadable,
                      path + ": is no ordinary file: its size is 0, but it is not empty")
                    .Remedy("name a perf.data file; what the kernel shows in /proc and /sys has to "
                            "be copied to a file first"));
  if (file) return file;
  const bool refused = file.error().code() == ErrorCode::kPermission;
  return Fail(std::move(file.error())
                  .Remedy(refused
                              ? "change its permissions, or run as the user who recorded it"
                              : "check the name, or record it: `flowback record -o FILE -- CMD`"));
}

Result<Recording> OpenByContent(const std::string& path) {
  Candidate candidate;
  candidate.path = path;
  File whole;
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  candidate.is_directory = type == fs::file_type::directory;
  if (!candidate.is_directory) {
    auto file = OpenFile(path, type);
    if (!file) return Fail(file.error());
    candidate.bytes = (*file)->bytes();
    candidate.owner = *file;
    candidate.mapped = file->get();
    whole = *file;
  }
  auto recording = ReadCandidate(candidate);
  if (whole == nullptr) return recording;
  // A problem may come from a cut of the file meanwhile.
  if (Status status = whole->CheckWhole(); !status) return Fail(status.error());
  if (!recording) return recording;
  recording->storage.push_back(whole);
  recording->files.push_back(whole);
  return recording;
}

Result<Recording> OpenInput(const OpenOptions& options) {
  if (options.input.empty() == options.raw_pt.empty()) {
    const char* problem =
        options.input.empty() ? "no input is named" : "a recording and --raw-pt are both named";
    return Fail(Error(ErrorCode::kUsage, problem)
                    .Remedy("name one recording, or one or more --raw-pt files"));
  }
  if (!options.input.empty() && !options.pevent.empty()) {
    return Fail(Error(ErrorCode::kUsage,
                      "--pevent is named beside a recording that has its own "
                      "sideband")
                    .Remedy("--pevent goes with --raw-pt"));
  }
  if (!options.input.empty()) return OpenByContent(options.input);
  auto recording = ReadRawPt(options.raw_pt);
  if (!recording || options.pevent.empty()) return recording;
  Status status = ReadRawSideband(options.pevent, options.sample_type, *recording);
  if (!status) return Fail(status.error());
  return recording;
}

// What the user says goes before what the recording says.
void OverridePt(const OpenOptions& options, PtConfig& config) {
  if (options.tsc_ctc_denominator != 0) {
    config.tsc_ctc_numerator = options.tsc_ctc_numerator;
    config.tsc_ctc_denominator = options.tsc_ctc_denominator;
  }
  if (options.mtc_shift) config.mtc_shift = options.mtc_shift;
  if (options.nominal_ratio != 0) config.nominal_ratio = options.nominal_ratio;
  if (!options.filter) return;
  config.address_filter = options.filter->set;
  config.filter_ranges = options.filter->ranges;
}

void Override(const OpenOptions& options, Recording& recording) {
  if (options.cpu) recording.machine.cpu = *options.cpu;
  if (options.time_conversion) recording.time = *options.time_conversion;
  // Another kind's settings stay what they are: also those of samples without a trace.
  const bool no_trace = recording.streams.empty() && recording.config.As<PtConfig>() == nullptr;
  if (recording.source != kIntelPt || no_trace) return;
  PtConfig& config = recording.config.Make<PtConfig>();
  config.cpu = recording.machine.cpu;
  OverridePt(options, config);
  ChooseTscReference(recording, config);
}

}  // namespace

Result<Recording> OpenRecording(const OpenOptions& options) {
  auto recording = OpenInput(options);
  if (!recording) return recording;
  if (!options.bundle.empty()) recording->path = options.bundle;
  recording->sections = options.sections;
  // After the recording's own, so that they lie over them.
  recording->images.insert(recording->images.end(), options.images.begin(), options.images.end());
  for (const Stream& stream : recording->streams)
    if (stream.joined != nullptr) stream.joined->SetLimits(options.join);
  Override(options, *recording);
  if (!options.pevent.empty()) AssignRawStreams(*recording);
  if (options.whole_streams) KeepWholeStreams(*recording);
  return recording;
}

}  // namespace flowback
