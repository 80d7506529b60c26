// SPDX-License-Identifier: MIT
#include "capture/formats/raw_pt.h"

#include "base/mapped_file.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_data/perf_session.h"
#include "decode/pt/packets/packet.h"

namespace flowback {
namespace {

// A trace's first PSB is near its start; what precedes it is the cut packet of a ring buffer.
constexpr size_t kPsbSearch = 64 << 10;

Result<Stream> OpenStream(const std::string& path, Recording& recording) {
  auto file = MappedFile::Open(path);
  if (!file) {
    return Fail(std::move(file.error())
                    .Remedy("give --raw-pt a file of trace bytes, such as "
                            "`perf script -D` shows as AUX data"));
  }
  Stream stream;
  stream.index = static_cast<uint32_t>(recording.streams.size());
  stream.bytes = (*file)->bytes();
  stream.file = path;
  if (stream.bytes.empty()) {
    return Fail(
        Error(ErrorCode::kUnreadable, path + ": is empty: no trace bytes")
            .At(0)
            .Remedy("check how the file was written; a trace has at least one 16-byte PSB packet"));
  }
  recording.storage.push_back(*file);
  recording.files.push_back(*file);
  return stream;
}

}  // namespace

Result<Recording> ReadRawPt(const std::vector<std::string>& files) {
  Recording recording;
  recording.format = "raw Intel PT";
  recording.path = files.front();
  for (const std::string& path : files) {
    auto stream = OpenStream(path, recording);
    if (!stream) return Fail(stream.error());
    recording.file_size += stream->bytes.size();
    recording.streams.push_back(*std::move(stream));
  }
  return recording;
}

Status ReadRawSideband(const std::vector<std::string>& files, std::optional<uint64_t> sample_type,
                       Recording& recording) {
  perf::EventAttr attr;
  attr.sample_type = sample_type.value_or(0);
  attr.flags = sample_type ? perf::kAttrSampleIdAll : 0;
  perf::RecordingReader session({attr}, ByteOrder::kLittle, recording);
  if (files.size() > 1) session.IgnoreRounds();
  session.TakeSidebandOnly();
  for (const std::string& path : files) {
    auto file = MappedFile::Open(path);
    if (!file) {
      return Fail(std::move(file.error()).Remedy("give --pevent a file of raw perf records"));
    }
    const Bytes bytes = (*file)->bytes();
    perf::Record first;
    if (perf::ParseRecord(bytes, 0, ByteOrder::kLittle, first) != perf::RecordHead::kWhole) {
      return Fail(Error(ErrorCode::kUnreadable,
                        path + ": does not begin with a perf record: " +
                            (bytes.empty() ? "it is empty" : "its first one is cut or no record"))
                      .At(0)
                      .Remedy("give --pevent the records alone, without a perf.data header; a "
                              "perf.data file is an input of its own"));
    }
    recording.file_size += bytes.size();
    if (Status status = session.Read({path, bytes, 0, bytes.size()}); !status) return status;
    if (Status status = (*file)->CheckWhole(); !status) return status;
  }
  if (!sample_type) {
    recording.warnings.push_back(
        {"--pevent without --sample-type: the records' times are unknown, so all that they say is "
         "taken as true from the beginning",
         "name the events' sample_type with --sample-type"});
  }
  session.Finish();
  return {};
}

bool MatchesUnnamedRawPt(const Candidate& candidate) {
  const Bytes head = Slice(candidate.bytes, 0, kPsbSearch);
  return pt::FindPsb(head, 0) != head.size();
}

Status ReadUnnamedRawPt(const Candidate& candidate, Recording&) {
  return Fail(Error(ErrorCode::kUnreadable,
                    candidate.path + ": looks like raw Intel PT bytes: it holds a PSB packet, but "
                                     "neither images nor a CPU")
                  .Remedy("name it with --raw-pt, with --image and --cpu beside it"));
}

}  // namespace flowback
