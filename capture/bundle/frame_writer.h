// SPDX-License-Identifier: MIT
// Compresses bytes into zstd frames that end where the caller says, with a seek table behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

// [zstd, contrib/seekable_format/zstd_seekable_compression_format.md]
class FrameWriter {
 public:
  // Gets the compressed bytes, in order. Its errors end the work.
  using Sink = std::function<Status(Bytes)>;

  explicit FrameWriter(Sink sink);
  FrameWriter(FrameWriter&&) noexcept;
  ~FrameWriter();

  // Errors of all three: the sink's; kSystem where zstd has no memory.
  Status Write(Bytes bytes);
  // Ends the current frame, if one has begun: the next write begins another one.
  Status EndFrame();
  // Ends the frame at hand, and writes the seek table. Nothing may be written afterwards.
  Status Finish();

  uint64_t packed() const { return packed_; }      // compressed bytes so far
  uint64_t unpacked() const { return unpacked_; }  // bytes given so far

 private:
  struct Stream;
  struct Frame {
    uint32_t packed = 0;
    uint32_t unpacked = 0;
  };

  Status Compress(Bytes bytes, bool end);
  Status Put(Bytes bytes);

  Sink sink_;
  std::unique_ptr<Stream> stream_;
  std::vector<uint8_t> out_;
  std::vector<Frame> frames_;
  uint64_t packed_ = 0;
  uint64_t unpacked_ = 0;
  uint64_t frame_packed_ = 0;    // where the frame at hand begins
  uint64_t frame_unpacked_ = 0;  // the same for the given bytes
};

}  // namespace flowback::bundle
