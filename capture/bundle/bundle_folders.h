// SPDX-License-Identifier: MIT
// The folders that bundles are unpacked into.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

// A folder of unpacked bundles in the cache. As with all of the cache, it is used only if it is the
// user's own and no other user may write to it. A bundle's folder is locked while its files are in
// use, and goes only when it is not.
class BundleFolders {
 public:
  // `cache`: the cache's folder; empty: no cache is used.
  BundleFolders(const std::string& cache, uint64_t most_bytes);

  // Makes it where it is absent. False: nothing can be kept there.
  bool IsUsable() const;
  const std::string& folder() const { return folder_; }
  // A folder, in use as long as the lock is held, even if it is renamed.
  struct Locked {
    std::string path;
    Descriptor lock;
  };
  // A new folder in it, or one for temporary files, for the user alone. Removes folders that killed
  // programs left. Errors: kSystem.
  Result<Locked> New() const;
  static Result<Locked> NewTemporary();
  // Removes those used longest ago, but not `newest`, while there are more bytes than there may be.
  void Trim(const std::string& newest) const;

  // Negative: there is no such folder.
  static Descriptor LockForUse(const std::string& folder);

 private:
  std::string folder_;
  uint64_t most_bytes_;
};

}  // namespace flowback::bundle
