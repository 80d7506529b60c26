// SPDX-License-Identifier: MIT
// Makes the key of an index in the cache, out of all that decides its content.
//
// An index whose recording, code or way of decoding has changed is not found any more, as it is
// looked for under another name; so nothing need be compared, and a stale index is as none.
#pragma once

#include <string>

#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/flow_index.h"

namespace flowback {

// A file's name. Made of: the options; the size, time and bytes of the recording's files and of
// those that code comes from; which images were found, and where; the streams' stays, gaps and
// settings. For files above 8 MB, 128 samples of 4 KB stand for the bytes. Empty: the recording
// came through a pipe, or its code from this boot's kernel, and who knows whether that is so again?
std::string IndexKey(const Recording& recording, const RecordingCode& code,
                     const StreamInputs& inputs, const FlowIndex::Options& options);

}  // namespace flowback
