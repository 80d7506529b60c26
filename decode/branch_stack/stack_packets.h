// SPDX-License-Identifier: MIT
// A stream's records, to be put into words.
#pragma once

#include <memory>

#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"

namespace flowback::branch_stack {

// As TraceSource::Packets. The stream must outlive the result.
std::unique_ptr<PacketReader> ReadRecords(const Stream& stream);

}  // namespace flowback::branch_stack
