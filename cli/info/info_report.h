// SPDX-License-Identifier: MIT
// What `info` knows of a recording, collected first and printed as text or JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "cli/text/process_ends.h"
#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/replay/time_account.h"

namespace flowback::cli {

struct StreamInfo {
  const StreamOwner* owner = nullptr;
  FlowSummary summary;
};

struct InfoReport {
  const OpenedRecording* opened = nullptr;
  std::optional<TimeSpan> span;
  std::map<std::string_view, PacketCount> packets;  // by name
  std::vector<StreamInfo> streams;
  TimeAccounts times;  // of the threads that were asked for
  std::vector<ImageStatus> images;
  std::vector<EndPlace> ends;  // of the recording's process_ends
  bool stats = false;          // also show how it was decoded
};

void PrintInfoText(const InfoReport& report, Output& output);
void PrintInfoJson(const InfoReport& report, Output& output);

// Returns how many of `count` threads or streams get a line in text; the rest share one.
constexpr size_t ShownOf(size_t count) {
  constexpr size_t kShown = 32;
  return count > kShown + 1 ? kShown : count;
}
// The threads with their times, as text.
void AppendThreads(const InfoReport& report, std::string& out);
// Formats the number of a thread, process or CPU; "-" if unknown.
std::string NumberOrDash(int32_t number);
// "15.0 %", "0 %", "<0.1 %".
std::string PercentOf(uint64_t part, uint64_t whole);

}  // namespace flowback::cli
