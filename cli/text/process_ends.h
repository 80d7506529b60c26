// SPDX-License-Identifier: MIT
// How recorded processes ended, in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

// Where a process died.
struct EndPlace {
  std::string function;  // empty: not known
  std::string source;    // file name; empty: not known
  uint32_t line = 0;
};

// Finds the places by the ends' own records, in their order.
std::vector<EndPlace> FindPlaces(const std::vector<ProcessEnd>& ends);
// By the recording's code: files of another build are not looked at.
std::vector<EndPlace> FindPlaces(const Recording& recording, const RecordingCode& code,
                                 const ImageSearch& search);

// "SIGSEGV", "signal 40".
std::string SignalName(int signal);
bool WasKilled(const ProcessEnd& end);
// "killed by SIGSEGV at 0x401136 in inner (segv.c:3), accessing 0x20", "exited with 3". Names are
// as they came.
std::string EndText(const ProcessEnd& end, const EndPlace& place);
nlohmann::ordered_json EndJson(const ProcessEnd& end, const EndPlace& place);

}  // namespace flowback::cli
