// SPDX-License-Identifier: MIT
#include "capture/record/output/metered_sink.h"

#include <utility>

namespace flowback::record {

Status MeteredSink::AddStream(const RecordedStream& stream) {
  meter_.threads.fetch_add(1, std::memory_order_relaxed);
  return Noted(inner_.AddStream(stream));
}

Status MeteredSink::AddSideband(const SidebandRecord& record) {
  return Measured(inner_.AddSideband(record));
}

Status MeteredSink::AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) {
  Status written = inner_.AddTrace(stream, bytes, tsc);
  if (written) meter_.trace_bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
  return Measured(std::move(written));
}

Status MeteredSink::Finish(const RecordSummary& summary) {
  if (meter_.complete) return {};
  Status finished = Noted(inner_.Finish(summary));
  meter_.file_bytes.store(file_size(), std::memory_order_relaxed);
  if (finished) meter_.complete.store(true);
  return finished;
}

void MeteredSink::CountFlow(uint64_t instructions, uint64_t losses) {
  meter_.instructions.store(instructions, std::memory_order_relaxed);
  meter_.losses.store(losses, std::memory_order_relaxed);
}

Status MeteredSink::Noted(Status written) {
  if (written || meter_.failed) return written;
  meter_.failure = written.error().message();
  meter_.failed.store(true);
  return written;
}

Status MeteredSink::Measured(Status written) {
  written = Noted(std::move(written));
  const uint64_t size = file_size();
  meter_.file_bytes.store(size, std::memory_order_relaxed);
  if (written && max_size_ && size >= *max_size_ && !full_) {
    full_ = true;
    on_full_();
  }
  return written;
}

}  // namespace flowback::record
