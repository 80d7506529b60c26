// SPDX-License-Identifier: MIT
// One pass over a stream's packets, without code: makes the result of TraceSource::Index.
#pragma once

#include <functional>
#include <memory>

#include "base/recorded/pt_config.h"
#include "decode/stream_index.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback::pt {

// As TraceSource has them; pauses in ticks.
std::shared_ptr<const StreamIndex> IndexStream(const Stream& stream, const PtConfig& config,
                                               const std::function<bool(const Pause&)>& visit);
bool VisitPauses(const Stream& stream, const PtConfig& config,
                 const std::function<bool(const Pause&)>& visit);

}  // namespace flowback::pt
