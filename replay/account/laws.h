// SPDX-License-Identifier: MIT
// The laws that every decoded recording obeys. A broken law is a fault of flowback.
#pragma once

#include <functional>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"
#include "flowback/replay/time_account.h"

namespace flowback {

// Law 1: decoded + padding + lost = the stream's size. Errors: kSystem.
Status CheckAccount(const ByteAccount& account, const Stream& stream, const TraceUnit& unit);

// Returns CheckAccount for the streams of a source that counts in `unit`.
std::function<Status(const ByteAccount&, const Stream&)> AccountCheck(const TraceUnit& unit);

// Law 2: the times of the six classes add up to each thread's lifetime. Errors: kSystem.
Status CheckTimes(const TimeAccounts& accounts);

}  // namespace flowback
