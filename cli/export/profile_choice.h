// SPDX-License-Identifier: MIT
// The profile that `export` writes: of the file that was asked for, or in which most ran.
#pragma once

#include <string>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "replay/profile/compiler_profile.h"
#include "replay/profile/flow_cut.h"

namespace flowback::cli {

// Plays the chosen threads. Warns of the file that was chosen if `object` is empty. `object` is the
// file's path or the path's last part. Errors: kUsage if no code of such a file was mapped;
// kImageMissing if no such code ran that could be decoded; kUnreadable.
Result<CompilerProfile> ChooseProfile(OpenedRecording& opened, const std::string& object,
                                      const ThreadPart& part);

}  // namespace flowback::cli
