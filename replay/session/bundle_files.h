// SPDX-License-Identifier: MIT
// Which files a bundle of a recording has: all that reading it here takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/bundle/bundle_format.h"
#include "flowback/base/error.h"
#include "flowback/session.h"

namespace flowback {

enum class PackedKind : uint8_t { kRecording, kImage, kDebugFile, kSource, kCore, kKernel };
inline constexpr size_t kPackedKinds = 6;
// "recording", "images", ...
const char* Name(PackedKind kind);

struct PackedFile {
  std::string member;
  std::string path;  // of the file; empty: it is `content`
  PackedKind kind = PackedKind::kRecording;
  std::vector<uint8_t> content = {};
};

struct BundleFiles {
  bundle::Manifest manifest;
  std::vector<PackedFile> files;  // in the order in which they are packed
  std::vector<std::string>
      problems;  // files that reading needs but that are not packed, a sentence each
};

struct BundleChoice {
  bool sources = true;
  bool cores = true;
};

// The session's recording, or its raw traces; the images that were found, under the names by which
// a later session finds them (decode/code/images/kept_images.h); separate debug files; the sources
// that the images' DWARF names, as far as they are here; core dumps, kernel symbols and memory that
// its options name. REQUIRES: the session has code. Errors: kUnsupported where a file cannot be
// named in a bundle.
Result<BundleFiles> FilesForBundle(const Session& session, const BundleChoice& choice);

}  // namespace flowback
