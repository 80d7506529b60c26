// SPDX-License-Identifier: MIT
// The generated recordings as perf.data files. The code comes from the recorded paths below a
// --symfs folder; the vDSO and anonymous memory, which no path names, are given as sections.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "flowback/capture/open.h"
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

// All but those that lost something to overflows: of these the digests count what was lost, too.
std::vector<PerfRecording> PerfRecordings();
// These.
std::vector<PerfRecording> OverflownPerfRecordings();

// The code of a recording's folder that only its own files have: vDSO, anonymous memory.
std::vector<SectionSpec> OwnSections(const std::filesystem::path& folder);

using DigestOfThread = std::map<int32_t, FlowDigest>;
DigestOfThread DigestsOf(const PerfRecording& truth);

// A recording's threads, ready to decode.
struct OpenedPerf {
  Recording recording;
  std::vector<std::vector<uint8_t>> changed;  // the streams' bytes, when they are not as recorded
  std::optional<RecordingCode> code;
  std::optional<StreamInputs> inputs;
};

// What a stream would be had it been recorded otherwise.
using Change = std::function<std::vector<uint8_t>(const Stream&)>;
// Now and then a byte is another, the next one less than `apart` bytes further.
Change Damaged(size_t apart);

// Fails the running test when the recording can't be opened. `change` may be empty.
void OpenPerf(const PerfRecording& truth, const Change& change, OpenedPerf& opened);
// The same from another file, or read otherwise.
void OpenPerf(const PerfRecording& truth, OpenOptions options, const Change& change,
              OpenedPerf& opened);

// Each stream once, its parts given to the threads, as a summary does.
DigestOfThread SummedDigests(const OpenedPerf& opened, Decoder& decoder);

}  // namespace flowback::golden
