// SPDX-License-Identifier: MIT
// Mappings that an export leaves out, because the code in them is that of a file mapped there
// before.
#pragma once

#include "cli/reading/opened_recording.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

// Whether the record maps memory that holds the text of a file, which the process moved there. The
// file's own mapping then still says where its code is; the memory has no symbols.
bool HoldsMovedText(const OpenedRecording& opened, const MmapRecord& map);

}  // namespace flowback::cli
