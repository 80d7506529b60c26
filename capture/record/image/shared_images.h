// SPDX-License-Identifier: MIT
// Copies of files for recordings, which the recordings of one user share.
//
// A copy shares its extents with the original where the file system can do that (FICLONE); what
// changes one of them leaves the other as it was. It is a hard link to another copy, never to the
// original: that may be written to in place, a copy is read-only and never written to. The copies
// lie in a folder of the user's, by content; one whose only name is that one is in no recording any
// more, and goes when there are too many. The folder and what is taken from it must be the user's
// own, with nobody else allowed to write, as in any cache (decode/code/cache/disk_cache.h); and
// before two recordings share a copy the bytes are compared.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "flowback/base/error.h"

namespace flowback::record {

// Not thread-safe; several processes may use one folder.
class SharedImages {
 public:
  // An empty `folder`: nothing is shared.
  SharedImages(std::string folder, uint64_t most_unused_bytes)
      : folder_(std::move(folder)), most_unused_bytes_(most_unused_bytes) {}

  struct Copy {
    uint64_t size = 0;
    uint64_t hash = 0;    // ImageHash
    bool shared = false;  // it was there already
  };
  // The content of the open file, at `target`, where nothing is. Errors: kSystem, without a remedy.
  Result<Copy> Put(int file, const std::string& target);
  // Removes the copies no recording has, those used longest ago first, as far as they are too many.
  void Trim() const;
  // Why the folder is not used, where others have a hand in it. Empty: it may be.
  const std::string& refusal() const { return refusal_; }

 private:
  bool IsUsable(const std::string& target);
  std::string PathOf(uint64_t size, uint64_t hash) const;
  bool Take(int file, const Copy& copy, const std::string& target);
  Result<Copy> Add(int file, const std::string& target);

  const std::string folder_;
  const uint64_t most_unused_bytes_;
  std::string refusal_;
};

}  // namespace flowback::record
