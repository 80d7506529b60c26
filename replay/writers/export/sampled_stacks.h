// SPDX-License-Identifier: MIT
// The text of sampled branch stacks, made on all cores.
//
// Between two samples nothing is known, so each stack is read by itself: the streams are cut into
// ranges of some hundred stacks, each core makes the text of one, and the texts leave in order.
#pragma once

#include "flowback/base/error.h"
#include "flowback/session.h"
#include "flowback/writers.h"

namespace flowback {

// Writes the stacks of the selected threads: one thread after the other, in program order, for any
// number of cores. REQUIRES: the source holds samples. Errors: as Decoder::Decode's.
Status WriteSampledStacks(Session& session, TextSink& sink);

}  // namespace flowback
