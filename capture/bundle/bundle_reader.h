// SPDX-License-Identifier: MIT
// Reads a bundle from its begin to its end, member by member.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/bundle/bundle_format.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

// Gets the members in the bundle's order. An error ends the reading, and is its result.
class MemberVisitor {
 public:
  virtual ~MemberVisitor() = default;
  // `seconds`: of its last change, since 1970.
  virtual Status OnMember(const Member& member, int64_t seconds) = 0;
  // A part of its content, in order; what lies between parts is zeros. The last part of a member
  // that is whole is an empty one at its end.
  virtual Status OnContent(uint64_t offset, Bytes content) = 0;
};

// Whether the bytes begin with a compressed tar archive. A bundle does; what does may be another.
bool IsPackedArchive(Bytes head);

// Reads all members. If some cannot be read, returns the reason: the bundle was cut, or is damaged
// there. The visitor has then got the members before. A folder in the archive, as other programs
// write them, is passed over. Errors: the visitor's; kUnreadable for what no bundle has: a member
// that is a link or a device, or whose name leads elsewhere; two of one name; more members or bytes
// than are unpacked (bundle_format.h).
Result<std::optional<Error>> ReadBundle(Bytes packed, const std::string& path,
                                        MemberVisitor& visitor);

}  // namespace flowback::bundle
