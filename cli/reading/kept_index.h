// SPDX-License-Identifier: MIT
// Where commands find what earlier ones learned of a recording (flow_index.h), and keep it.
#pragma once

#include "cli/reading/opened_recording.h"
#include "flowback/decode/recording_code.h"
#include "flowback/replay/flow_index.h"

namespace flowback::cli {

// With the recording's key. Without a folder where nothing is to be used or kept: the options say
// so, another engine than ours decodes, or decoding so little takes hardly longer than to look.
// REQUIRES: its streams are prepared, and whole.
IndexCache IndexCacheOf(const OpenedRecording& opened);

// The same for what takes several times as long to make as to decode.
IndexCache TimelineCacheOf(const OpenedRecording& opened);

// As IndexCacheOf, without a folder also where making the index and what is kept beside it would be
// in vain: the pass over the recording takes hardly longer than a command without one, or nothing
// could be kept there.
IndexCache LastingCacheOf(const OpenedRecording& opened);

// Decoding it once takes long enough to keep what that tells.
bool HasLongTrace(const OpenedRecording& opened);

// Whether decoding told no more than what it gave: nothing of the code that a later command, which
// decodes nothing, could not know and would have to say.
bool ToldAll(const RecordingCode& code);

}  // namespace flowback::cli
