// SPDX-License-Identifier: MIT
// Waits of threads for each other in a Perfetto trace.
#pragma once

#include "flowback/replay/recording_clock.h"
#include "replay/writers/calls/perfetto/perfetto_packets.h"
#include "replay/writers/locks/locks_view.h"

namespace flowback {

// Writes the single waits of the report that lie in the span: a slice of the thread that waits. If
// the holder is known, a flow leads from the wait's begin to the holder, and one from the holder
// back to the wait's end. REQUIRES: all threads of the report have begun, in its order.
void WritePerfettoWaits(const LocksView& view, TimeSpan span, PerfettoPackets& packets);

}  // namespace flowback
