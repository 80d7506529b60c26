// SPDX-License-Identifier: MIT
// A decoder that tells only what happened in a span of time (--time A,B).
#pragma once

#include <memory>

#include "cli/trace_clock.h"
#include "flowback/decode/decoder.h"

namespace flowback::cli {

// Passes on the items of `decoder` whose time lies in `span`; what has no time is left out, but for
// losses. Decoding ends behind the span, so the byte account is that of a part only. `clock` must
// outlive the result.
std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, TimeSpan span,
                                         const TraceClock& clock);

}  // namespace flowback::cli
