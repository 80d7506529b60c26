// SPDX-License-Identifier: MIT
// Decompresses zstd frames, a piece at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::bundle {

class FrameReader {
 public:
  // `packed` must outlive it; `path` is for messages.
  FrameReader(Bytes packed, std::string path);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // The next bytes, valid until the next call; none at the end. Errors: kUnreadable, with the
  // offset, where the input ends within a frame, or a frame is damaged.
  Result<Bytes> Next();

 private:
  struct Stream;

  Error Damaged(const std::string& problem) const;

  Bytes packed_;
  std::string path_;
  std::unique_ptr<Stream> stream_;
  std::vector<uint8_t> out_;
  size_t at_ = 0;          // in the input
  bool in_frame_ = false;  // it has begun and not ended
  bool has_more_ = false;  // of what has been taken in
};

}  // namespace flowback::bundle
