// SPDX-License-Identifier: MIT
// Writes a bundle, member by member, to wherever the bytes go.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "capture/bundle/bundle_format.h"
#include "capture/bundle/frame_writer.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

//   BundleWriter writer(manifest, sink);
//   writer.AddFile("recording/perf.data", "perf.data");
//   writer.Finish();
class BundleWriter {
 public:
  explicit BundleWriter(FrameWriter::Sink sink);
  BundleWriter(BundleWriter&&) noexcept;
  ~BundleWriter();

  // Comes first. Errors of all: the sink's; kSystem.
  Status AddManifest(const Manifest& manifest);
  // The content is the pieces, one behind the other. `seconds`: of its last change, since 1970.
  // REQUIRES: IsMemberName(name); no other member has it.
  Status Add(const std::string& name, std::span<const Bytes> pieces, int64_t seconds);
  // Errors: also kUnreadable and kPermission where the file cannot be read to its end.
  Status AddFile(const std::string& name, const std::string& path);
  // The index and the seek table. Errors: also kUnsupported if the bundle has become too large to
  // unpack (MostUnpacked).
  Status Finish();

  uint64_t packed() const;   // bytes of the bundle so far
  uint64_t content() const;  // bytes of the members' content so far

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback::bundle
