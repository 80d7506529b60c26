// SPDX-License-Identifier: MIT
// Snapshots: of each stream only the latest bytes are kept, until someone asks for them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/record/output/recording_sink.h"

namespace flowback::record {

constexpr const char* kNoCrash =
    "the program did not die of a signal: no trace of its end is kept (--on-crash)";

// The latest bytes of one stream.
class TraceHistory {
 public:
  explicit TraceHistory(uint64_t size) : size_(size) {}

  void Add(Bytes bytes);
  // What a snapshot takes: from the first PSB of the latest `size` bytes on. Empty when nothing
  // came since the last one, or when there is no PSB.
  struct Part {
    Bytes bytes;
    uint64_t offset = 0;  // in the stream
  };
  Part Take();
  void Clear();
  uint64_t held() const { return bytes_.size(); }
  // How many of the stream's bytes no part has had so far.
  uint64_t overwritten() const { return end() - kept_; }

 private:
  uint64_t end() const { return begin_ + bytes_.size(); }

  const uint64_t size_;
  std::vector<uint8_t> bytes_;  // twice `size_` at most
  uint64_t begin_ = 0;          // where they begin in the stream
  uint64_t taken_ = 0;          // where the last snapshot ended
  uint64_t kept_ = 0;           // bytes that parts had, each counted once
  uint64_t kept_until_ = 0;     // where the last part ended
};

// Hands sideband on as it comes and trace when asked: each snapshot holds the latest `size` bytes
// of each stream, less what comes before the first PSB in them. A stream that ends is taken then;
// if only a crash is of interest, the streams are taken in the end, and only if the command died of
// a signal. The latest 64 MB of streams that ended earlier wait for that.
class SnapshotSink : public RecordingSink {
 public:
  SnapshotSink(std::unique_ptr<RecordingSink> next, uint64_t size, bool only_of_crash)
      : next_(std::move(next)), size_(size), only_of_crash_(only_of_crash) {}

  Status AddStream(const RecordedStream& stream) override;
  Status AddSideband(const SidebandRecord& record) override { return next_->AddSideband(record); }
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) override;
  Status AddCode(const MemoryCode& code) override { return next_->AddCode(code); }
  void AddImage(const MmapRecord& record, const MappedImage& image) override {
    next_->AddImage(record, image);
  }
  Status EndStream(const RecordedStream& stream) override;
  Status TakeSnapshot(uint64_t tsc) override;
  Status Finish(const RecordSummary& summary) override;
  uint64_t file_size() const override { return next_->file_size(); }
  uint64_t overwritten_bytes() const override;

 private:
  struct Kept {
    RecordedStream info;
    TraceHistory history;
    uint64_t tsc = 0;  // when the latest bytes came
  };

  static constexpr uint64_t kMostWaiting = uint64_t{64} << 20;

  Status Take(Kept& stream, uint64_t tsc);
  void LetWait(size_t index);

  std::unique_ptr<RecordingSink> next_;
  const uint64_t size_;
  const bool only_of_crash_;
  std::vector<std::optional<Kept>> streams_;  // by index
  std::deque<size_t> waiting_;                // streams that have ended
  uint64_t waiting_bytes_ = 0;
};

}  // namespace flowback::record
