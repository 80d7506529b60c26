// SPDX-License-Identifier: MIT
// Writes a bundle's members into a folder.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "capture/bundle/bundle_reader.h"

namespace flowback::bundle {

// The folder must be new, and no other user may write to it: then a member whose name is one of a
// member (IsMemberName) stays in it.
class MemberFiles final : public MemberVisitor {
 public:
  explicit MemberFiles(std::string folder) : folder_(std::move(folder)) {}
  ~MemberFiles() override;

  // Errors of both: kSystem.
  Status OnMember(const Member& member, int64_t seconds) override;
  // Zeros take no room on the disk.
  Status OnContent(uint64_t offset, Bytes content) override;
  // The last one is whole, too. Errors: kSystem.
  Status Finish();

  const std::vector<Member>& members() const { return members_; }

 private:
  Error CannotWrite() const;

  std::string folder_;
  std::vector<Member> members_;
  Descriptor file_;  // of the last member
  int64_t seconds_ = 0;
};

}  // namespace flowback::bundle
