// SPDX-License-Identifier: MIT
// A decoder that tells only what happened in a span of time (--time A,B).
#pragma once

#include <atomic>
#include <memory>

#include "cli/reader_options.h"
#include "cli/trace_clock.h"
#include "flowback/decode/decoder.h"

namespace flowback::cli {

// Passes on the items of `decoder` whose time lies in `span`; what has no time is left out, but for
// losses. Decoding ends behind the span, so the byte account is that of a part only. `clock` and
// `found`, which becomes true with the first item in the span, must outlive the result.
std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, TimeSpan span,
                                         const TraceClock& clock, std::atomic<bool>& found);

// Says on stderr that nothing was in --time's span, and from when to when the trace is. With
// `unless_overlapping` only if the span lies outside of that.
void WarnOfEmptySpan(const Recording& recording, const TraceClock& clock, TimeSpan span,
                     const ReaderOptions& options, bool unless_overlapping);

}  // namespace flowback::cli
