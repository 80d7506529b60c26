// SPDX-License-Identifier: MIT
// Counts the bytes that go to the outputs, for the display of progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "capture/record/output/recording_sink.h"

namespace flowback::record {

// Written by the recording thread, read by any.
struct Meter {
  std::atomic<uint64_t> instructions = 0;
  std::atomic<uint64_t> trace_bytes = 0;
  std::atomic<uint64_t> file_bytes = 0;
  std::atomic<uint64_t> threads = 0;
  std::atomic<uint64_t> losses = 0;    // places where the flow is not known
  std::atomic<bool> complete = false;  // the outputs are finished
  // The output can't be written any more; `failure`, which does not change after that, says why.
  std::atomic<bool> failed = false;
  std::string failure;
  std::atomic<uint64_t> left_running = 0;  // processes, though the program has ended
};

// Passes everything on to `inner`. Once the file has `max_size` bytes, it calls `on_full`.
class MeteredSink : public RecordingSink {
 public:
  MeteredSink(RecordingSink& inner, Meter& meter, std::optional<uint64_t> max_size,
              std::function<void()> on_full)
      : inner_(inner), meter_(meter), max_size_(max_size), on_full_(std::move(on_full)) {}

  Status AddStream(const RecordedStream& stream) override;
  Status AddSideband(const SidebandRecord& record) override;
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) override;
  Status EndStream(const RecordedStream& stream) override {
    return Measured(inner_.EndStream(stream));
  }
  Status Settle() override { return Noted(inner_.Settle()); }
  Status TakeSnapshot(uint64_t tsc) override { return Measured(inner_.TakeSnapshot(tsc)); }
  Status AddCode(const MemoryCode& code) override { return Noted(inner_.AddCode(code)); }
  void AddImage(const MmapRecord& record, const MappedImage& image) override {
    inner_.AddImage(record, image);
  }
  // The second time it does nothing: an engine finishes early when it is stopped.
  Status Finish(const RecordSummary& summary) override;
  void CountFlow(uint64_t instructions, uint64_t losses) override;
  void CountLeftRunning(uint64_t processes) override { meter_.left_running.store(processes); }
  uint64_t file_size() const override { return inner_.file_size(); }

 private:
  Status Noted(Status written);
  Status Measured(Status written);

  RecordingSink& inner_;
  Meter& meter_;
  const std::optional<uint64_t> max_size_;
  const std::function<void()> on_full_;
  bool full_ = false;
};

}  // namespace flowback::record
