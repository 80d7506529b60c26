// SPDX-License-Identifier: MIT
// What every command that reads a recording says about it on stderr, and checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/account/laws.h"
#include "replay/session/has_trace.h"

namespace flowback::cli {

// Errors: kUnsupported where the trace is of samples, which lack the facts that `command` reports.
Status CheckNoSamples(const Recording& recording, const TraceSource& source,
                      std::string_view command);

// Damage that opening met but survived.
void WarnOfDamage(const Recording& recording);

// A cache that another user has a hand in, which was not used.
void WarnOfCache(const RecordingCode& code);

// Images that the trace has in another mode than theirs: 32-bit code in a 64-bit file.
void WarnOfModes(const RecordingCode& code, const std::string& file);

// Per-CPU buffers that are not one thread's are shown whole, under their CPU's name.
void WarnOfSharedStreams(const Recording& recording, const Threads& threads,
                         const std::string& file);

// How switches are recorded, where the recorder is one that can.
std::string_view SwitchRemedy(const Recording& recording);

}  // namespace flowback::cli
