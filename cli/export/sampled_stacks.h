// SPDX-License-Identifier: MIT
// The text of sampled branch stacks, made on all cores.
//
// Between two samples nothing is known, so each stack is read by itself: the streams are cut into
// ranges of some hundred stacks, each core makes the text of one, and the texts leave in order.
#pragma once

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// Of the chosen threads. The text is that of one thread after the other in program order, whatever
// the number of cores. REQUIRES: the source's are samples. Errors: as Decoder::Decode's.
Status WriteSampledStacks(OpenedRecording& opened, Output& output);

}  // namespace flowback::cli
