// SPDX-License-Identifier: MIT
// A decoder's input for each stream of a recording: code, machine, which thread ran when.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback {

// The threads that the recording says were traced: pid by tid.
std::map<int32_t, int32_t> TracedThreads(const Recording& recording);

class StreamInputs {
 public:
  // Reads streams that several threads share, and the streams of a thread that has several. The
  // recording must outlive this. REQUIRES: OpenSource knows the recording's kind of trace.
  StreamInputs(const Recording& recording, const RecordingCode& code, Resync resync);
  // With the recording's source, which may be one that keeps what it has read (KeepIndexes).
  StreamInputs(const Recording& recording, const RecordingCode& code, Resync resync,
               std::shared_ptr<const TraceSource> source);

  // DecodeInput::threads (0: as many as the machine has) and ::in_flight of all.
  void set_threads(unsigned threads, size_t in_flight);
  // DecodeInput::times of all.
  void set_times(bool times) {
    for (DecodeInput& input : inputs_) input.times = times;
  }
  // DecodeInput::from of a stream.
  void set_from(const Stream& stream, uint64_t offset) { inputs_[stream.index].from = offset; }
  void set_progress(std::atomic<uint64_t>& progress) {
    for (DecodeInput& input : inputs_) input.progress = &progress;
  }
  const TraceSource& source() const { return *source_; }
  // REQUIRES of both: `stream` is one of the recording's.
  const DecodeInput& For(const Stream& stream) const { return inputs_[stream.index]; }
  const Schedule& ScheduleOf(const Stream& stream) const { return schedules_[stream.index]; }

 private:
  // `changed`: the code, by pid, of processes whose records are incomplete.
  void Build(const Recording& recording, const RecordingCode& code, Resync resync,
             const std::map<int32_t, RecordingCode::History>& changed);

  std::shared_ptr<const TraceSource> source_;
  std::deque<Schedule> schedules_;  // by stream index, like the inputs; never moved
  std::vector<DecodeInput> inputs_;
};

}  // namespace flowback
