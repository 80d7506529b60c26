// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "capture/formats/input/format.h"

namespace flowback {
namespace {

constexpr std::array kFormats = {
#define FLOWBACK_FORMAT(id, name) Format{name, Matches##id, Read##id},
#include "capture/formats/input/formats.def"
#undef FLOWBACK_FORMAT
};

constexpr std::string_view kAccepted =
    "give a perf.data file that `perf record -e intel_pt//u` or `flowback record` wrote, or name "
    "raw "
    "trace bytes with --raw-pt";

constexpr std::string_view kAcceptedJson =
    "the JSON that is read is an LLDB trace bundle's trace.json: it begins with {, without a byte "
    "order mark, and has \"type\": \"intel-pt\"";

// `7f 45 4c 46 ".ELF"`: the first bytes in both spellings.
std::string FirstBytes(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  std::string text;
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 8))) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
    hex += ' ';
    text += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
  }
  return hex + '"' + text + '"';
}

// Whether it begins as a JSON object does, perhaps behind a byte order mark.
bool IsLikeJson(Bytes bytes) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (StartsWith(bytes, kByteOrderMark)) bytes = bytes.subspan(kByteOrderMark.size());
  const auto is_space = [](uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  const auto first = std::ranges::find_if_not(bytes, is_space);
  return first != bytes.end() && *first == '{';
}

Error NotRecognised(const Candidate& candidate) {
  if (candidate.is_directory) {
    return Error(ErrorCode::kUnreadable,
                 candidate.path + ": is a directory without a file `data`, so it is no recording")
        .Remedy(std::string(kAccepted));
  }
  if (candidate.bytes.empty()) {
    return Error(ErrorCode::kUnreadable, candidate.path + ": is empty")
        .At(0)
        .Remedy("record again; an empty file is left when the recorder was killed at its start");
  }
  const std::string_view remedy = IsLikeJson(candidate.bytes) ? kAcceptedJson : kAccepted;
  return Error(ErrorCode::kUnreadable,
               candidate.path + ": is not a recording of a known format: it begins with " +
                   FirstBytes(candidate.bytes))
      .At(0)
      .Remedy(std::string(remedy));
}

}  // namespace

std::span<const Format> Formats() { return kFormats; }

bool StartsWith(Bytes bytes, std::string_view magic) {
  const auto same = [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; };
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), same);
}

Status CheckRecognised(const Candidate& candidate) {
  const bool matches = std::ranges::any_of(
      kFormats, [&](const Format& format) { return format.matches(candidate); });
  return matches ? Status() : Fail(NotRecognised(candidate));
}

Result<Recording> ReadCandidate(const Candidate& candidate) {
  for (const Format& format : kFormats) {
    if (!format.matches(candidate)) continue;
    Recording recording;
    recording.path = candidate.path;
    recording.file_size = candidate.bytes.size();
    recording.format = format.name;
    if (Status status = format.read(candidate, recording); !status) return Fail(status.error());
    return recording;
  }
  return Fail(NotRecognised(candidate));
}

void KeepWholeStreams(Recording& recording) {
  for (Stream& stream : recording.streams) {
    if (stream.joined == nullptr) continue;
    if (!stream.bytes.empty())
      stream.joined->Acquire(0, stream.joined->GranuleOf(stream.bytes.size() - 1) + 1);
    recording.storage.push_back(std::exchange(stream.joined, nullptr));
  }
}

}  // namespace flowback
