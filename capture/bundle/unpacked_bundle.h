// SPDX-License-Identifier: MIT
// A bundle's members as files, for as long as a reader needs them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "capture/bundle/bundle_format.h"
#include "flowback/base/error.h"

namespace flowback {
class MappedFile;  // base/mapped_file.h
}

namespace flowback::bundle {

// Where bundles are unpacked.
struct UnpackPlace {
  // The cache's folder, in which what was unpacked stays for later commands. Empty: a folder for
  // temporary files, which goes with the object.
  std::string cache;
  // Size limit: bundles used longest ago are removed while all but the newest exceed it.
  uint64_t cache_bytes = 0;
};

// Whether the file at the path is a bundle by its content; false for what can be read once only.
bool IsBundle(const std::string& path);

class UnpackedBundle {
 public:
  // Errors: kUnreadable where it is no bundle, or none of its recording can be read; kSystem where
  // there is no room to unpack it.
  static Result<std::shared_ptr<const UnpackedBundle>> Open(const std::string& path,
                                                            const UnpackPlace& place);
  ~UnpackedBundle();
  UnpackedBundle(const UnpackedBundle&) = delete;
  UnpackedBundle& operator=(const UnpackedBundle&) = delete;

  const std::string& path() const { return path_; }        // the bundle's
  uint64_t packed_bytes() const { return packed_bytes_; }  // its size
  const Manifest& manifest() const { return manifest_; }
  const std::vector<Member>& members() const { return members_; }
  // The damage, if part of it cannot be read; empty: it is whole.
  const std::optional<Error>& damage() const { return damage_; }
  // Whether the member, or the folder of members, was unpacked.
  bool Has(const std::string& member) const;
  // Where it stands.
  std::string FileOf(const std::string& member) const { return folder_ + "/" + member; }

 private:
  UnpackedBundle() = default;
  Status Unpack(const UnpackPlace& place);
  Status UnpackInto(const std::string& folder, const MappedFile& file);
  bool FindKept(const std::string& folder);
  void KeepAs(const std::string& folder);
  Status ReadManifest();

  std::string path_;
  uint64_t packed_bytes_ = 0;
  std::string folder_;
  bool removes_ = false;  // the folder goes with the object
  Descriptor lock_;       // held while the files are in use
  Manifest manifest_;
  std::vector<Member> members_;
  std::optional<Error> damage_;
};

}  // namespace flowback::bundle
