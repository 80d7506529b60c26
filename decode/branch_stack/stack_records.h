// SPDX-License-Identifier: MIT
// A stream's records, as many at a time as fit into the nearest cache. Where the stream is made of
// what a file has (Stream::joined), that is all that there ever is of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/recorded/branch_records.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/model/recording.h"

namespace flowback::branch_stack {

class StackRecords {
 public:
  StackRecords(Bytes bytes, std::shared_ptr<JoinedBytes> joined)
      : stream_(bytes, std::move(joined)), records_(kRecords) {}
  explicit StackRecords(const Stream& stream) : StackRecords(stream.bytes, stream.joined) {}

  // The record at `offset`, valid until another one is asked for than that before it. REQUIRES: all
  // of it lies in the stream, and `offset` is one of a record.
  const BranchRecord& At(uint64_t offset) {
    if (offset - begin_ >= size_) Load(offset);
    return records_[(offset - begin_) / kBranchRecordSize];
  }

 private:
  static constexpr size_t kRecords = 256;

  // Loads the record with the one before it, and earlier ones for readers that go backward.
  [[gnu::noinline]] void Load(uint64_t offset) {
    constexpr uint64_t kBytes = kRecords * kBranchRecordSize;
    const bool backward = size_ != 0 && offset < begin_;
    const uint64_t behind = offset + kBranchRecordSize;
    begin_ =
        backward ? behind - std::min(behind, kBytes) : offset - std::min(offset, kBranchRecordSize);
    const uint64_t most = backward ? behind - begin_ : kBytes;
    size_ = stream_.Copy(begin_, {reinterpret_cast<uint8_t*>(records_.data()), most});
    size_ -= size_ % kBranchRecordSize;
  }

  StreamWindow stream_;
  std::vector<BranchRecord> records_;
  uint64_t begin_ = 0;
  uint64_t size_ = 0;
};

}  // namespace flowback::branch_stack
