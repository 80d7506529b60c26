// SPDX-License-Identifier: MIT
// Counts as bytes, to be kept in a file and added to others: docs/reference/coverage-parts.md has
// the layout. Equal counts are equal bytes. So sums are equal bytes, too, however they were ordered
// and grouped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/replay/coverage_counts.h"

namespace flowback {

std::vector<uint8_t> PartToBytes(const CoverageCounts& counts);
// `name` is the file's, for messages. Errors: kUnreadable where these are no part, or it is of
// another version, cut or damaged.
Result<CoverageCounts> PartFromBytes(Bytes bytes, const std::string& name);
// Errors: the same, and those of MappedFile::Open.
Result<CoverageCounts> ReadPart(const std::string& path);
// Returns whether the file begins as a part does. Returns false for a file that cannot be read, and
// for a pipe, whose bytes could be read only once.
bool LooksLikePart(const std::string& path);

}  // namespace flowback
