// SPDX-License-Identifier: MIT
// A stream's packets, to be put into words.
#pragma once

#include <memory>

#include "base/recorded/pt_config.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback::pt {

// As TraceSource::Packets. Both must outlive the result.
std::unique_ptr<PacketReader> ReadPackets(const Stream& stream, const PtConfig& config);

}  // namespace flowback::pt
