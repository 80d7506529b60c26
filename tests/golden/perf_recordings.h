// SPDX-License-Identifier: MIT
// Generated recordings as perf.data files.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "tests/golden/generated.h"

namespace flowback::golden {

// A recording and its threads' digests.
struct PerfRecording {
  std::string name;
  std::vector<TrueDigest> threads;

  friend void PrintTo(const PerfRecording& recording, std::ostream* out) { *out << recording.name; }
};

// All of them; empty when they are absent.
std::vector<PerfRecording> PerfRecordings();

// A recording's threads, ready to decode.
struct Opened {
  Recording recording;
  std::vector<std::vector<uint8_t>>
      without_timing;  // of the streams, if some packets were left out
  std::optional<RecordingCode> code;
  std::optional<StreamInputs> inputs;
};

enum class Timing : uint8_t { kAsRecorded, kNoCyc, kTscOnly };

// Fails the running test where it can't be opened.
void Open(const PerfRecording& truth, Timing timing, Opened& opened);

}  // namespace flowback::golden
