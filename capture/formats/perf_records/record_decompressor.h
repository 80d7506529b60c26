// SPDX-License-Identifier: MIT
// Records that were compressed with zstd (`perf record -z`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback::perf {

// One zstd stream that runs through all compressed records of a file. A record of the kernel's may
// begin in one of them and end in the next. Holds a piece of the unpacked stream at a time.
class RecordDecompressor {
 public:
  // Takes whole records off the beginning of what it is given; returns how many bytes they were.
  // The rest comes again, with more behind it. Empty: it wants no more.
  using Consumer = std::function<std::optional<uint64_t>(Bytes unpacked)>;

  RecordDecompressor();
  ~RecordDecompressor();
  RecordDecompressor(RecordDecompressor&&) noexcept;
  RecordDecompressor& operator=(RecordDecompressor&&) noexcept;

  // Unpacks one compressed record's data. Errors: kUnreadable when it is no zstd stream, and when
  // it unpacks to more than such a file can hold (kUnsupported).
  Status Feed(Bytes compressed, const Consumer& consume);

  // Bytes of a record whose end has not come yet.
  uint64_t unfinished() const { return unpacked_.size(); }

 private:
  struct Stream;

  bool Deliver(const Consumer& consume);

  std::unique_ptr<Stream> stream_;
  std::vector<uint8_t> unpacked_;
  uint64_t taken_in_ = 0;
  uint64_t put_out_ = 0;
};

}  // namespace flowback::perf
