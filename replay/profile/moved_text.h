// SPDX-License-Identifier: MIT
// Mappings that an export leaves out, because they hold the code of a file that was mapped there
// before.
#pragma once

#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

// Returns whether the record maps memory to which the process moved the text of a file. The file's
// own mapping still says where its code is; the memory has no symbols.
bool HoldsMovedText(const RecordingCode& code, const MmapRecord& map);

}  // namespace flowback
