// SPDX-License-Identifier: MIT
// The two members of a bundle that describe the others, as JSON.
#pragma once

#include <string>
#include <vector>

#include "capture/bundle/bundle_format.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

// A member, and where it begins in the bundle's compressed bytes and in the tar archive.
struct IndexedMember : Member {
  uint64_t packed_offset = 0;
  uint64_t tar_offset = 0;
};

std::string ManifestJson(const Manifest& manifest);
std::string IndexJson(const std::vector<IndexedMember>& members);

// Errors: kUnreadable if the text is not such JSON or is of a later version, or if it has a name
// that no member may have. `path` is the bundle's, for messages.
Result<Manifest> ParseManifest(Bytes text, const std::string& path);
Result<std::vector<IndexedMember>> ParseIndex(Bytes text, const std::string& path);

}  // namespace flowback::bundle
