// SPDX-License-Identifier: MIT
// The accesses to memory of a session: those in samples beside the trace, then those in the trace.
#pragma once

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/session.h"
#include "replay/samples/access_sums.h"

namespace flowback {

// Sums up the accesses of the selected threads. The report points into the session, which must be
// open, but need not have a trace. Errors: NoAccesses; as Session::PlayAccounted's.
Result<AccessReport> SumAccesses(Session& session);

// Returns what was mapped for the sample's process then, or first where the time is not known.
const AddressSpace* SpaceOf(const Session& session, const EventSample& sample);

// Returns a kUnsupported error for a report without accesses. It says how to record some.
Error NoAccesses(const Recording& recording, const AccessReport& report);

}  // namespace flowback
