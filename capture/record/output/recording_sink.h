// SPDX-License-Identifier: MIT
// Where a recorder's results go while it runs: one kind of output each.
#pragma once

#include <cstdint>
#include <string>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/capture/record.h"
#include "flowback/model/recording.h"

namespace flowback::record {

// One thread's trace, or one CPU's, which is then nobody's; `index` counts from 0.
struct RecordedStream {
  uint32_t index = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
};

// Code that is in no file: the vDSO, or memory that the program filled itself. If the engine
// notices its changes: as it was from `time` on, else as it was when it ran first.
struct MemoryCode {
  uint64_t address = 0;
  std::string name;  // "[vdso]", "//anon"
  Bytes bytes;
  uint64_t time = 0;  // nanoseconds; 0: from the start
  int32_t pid = -1;
  int32_t tid = -1;
};

struct MappedImage;  // capture/record/image/mapped_image.h

// The note of a recording that was stopped after its program had ended.
inline constexpr const char* kRunOn =
    "the program had ended; processes that it started run on unrecorded";

// Calls come in time order, from one thread. A failed call ends the recording.
class RecordingSink {
 public:
  virtual ~RecordingSink() = default;
  virtual Status AddStream(const RecordedStream& stream) = 0;
  virtual Status AddSideband(const SidebandRecord& record) = 0;
  // The next bytes of the stream; `tsc` is the time-stamp counter now.
  virtual Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) = 0;
  // A copy of the stream's latest bytes, from `offset` in it on. A stream has either pieces or
  // snapshots.
  virtual Status AddSnapshot(const RecordedStream& stream, Bytes bytes, uint64_t offset,
                             uint64_t tsc);
  // Nothing more comes of the stream.
  virtual Status EndStream(const RecordedStream&) { return {}; }
  // The user asked for a snapshot of the kept trace.
  virtual Status TakeSnapshot(uint64_t) { return {}; }
  // Comes some times a second.
  virtual Status Settle() { return {}; }
  virtual Status AddCode(const MemoryCode& code) = 0;
  // The file of the next mapping.
  virtual void AddImage(const MmapRecord&, const MappedImage&) {}
  virtual Status Finish(const RecordSummary& summary) = 0;
  // The instructions of all threads so far, and the number of places with unknown flow.
  virtual void CountFlow(uint64_t /*instructions*/, uint64_t /*losses*/) {}
  // The program has ended, but `processes` that it started still run.
  virtual void CountLeftRunning(uint64_t /*processes*/) {}
  // Bytes in the output file so far; 0 for other kinds of output.
  virtual uint64_t file_size() const { return 0; }
  // Trace bytes that later ones took the place of, on purpose: only the latest were to be kept.
  virtual uint64_t overwritten_bytes() const { return 0; }
};

inline Status RecordingSink::AddSnapshot(const RecordedStream&, Bytes, uint64_t, uint64_t) {
  return Fail(ErrorCode::kUnsupported, "this kind of output holds no snapshots");
}

}  // namespace flowback::record
