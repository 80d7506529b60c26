// SPDX-License-Identifier: MIT
// The table of input formats: how an input is recognised by its content and read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "capture/formats/input/samples.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// An input whose format is not known yet.
struct Candidate {
  std::string path;  // as the user named it
  bool is_directory = false;
  Bytes bytes;                         // the whole file; empty for a directory
  std::shared_ptr<const void> owner;   // keeps `bytes` alive
  const MappedFile* mapped = nullptr;  // has `bytes`; null: they are no mapped file's
  // With it nothing is read but samples of accesses to memory, which it gets.
  const SampleVisitor* visit_samples = nullptr;
};

struct Format {
  std::string_view name;
  bool (*matches)(const Candidate& candidate);
  // Fills `recording`, whose path and file_size are set. Errors: kUnreadable, kUnsupported.
  Status (*read)(const Candidate& candidate, Recording& recording);
};

// All formats, in the order in which they are tried.
std::span<const Format> Formats();

// Checks that a format matches the candidate, whose first 64 KiB are enough. Errors: kUnreadable.
Status CheckRecognised(const Candidate& candidate);

// Reads the candidate in the format that matches. Errors: as Format::read; kUnreadable when no
// format matches. Streams of many pieces have Stream::joined.
Result<Recording> ReadCandidate(const Candidate& candidate);

// From here on all bytes of the streams are in memory, for readers without windows, too.
void KeepWholeStreams(Recording& recording);

#define FLOWBACK_FORMAT(id, name)               \
  bool Matches##id(const Candidate& candidate); \
  Status Read##id(const Candidate& candidate, Recording& recording);
#include "capture/formats/input/formats.def"
#undef FLOWBACK_FORMAT

// True when `bytes` begin with the characters of `magic`.
bool StartsWith(Bytes bytes, std::string_view magic);

}  // namespace flowback
