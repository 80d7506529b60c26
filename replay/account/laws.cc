// SPDX-License-Identifier: MIT
#include "replay/account/laws.h"

#include <string>

namespace flowback {
namespace {

std::unexpected<Error> FaultOfFlowback(const std::string& what) {
  return Fail(Error(ErrorCode::kSystem, what + ": a fault in flowback")
                  .Remedy("report it with the recording"));
}

}  // namespace

Status CheckAccount(const ByteAccount& account, const Stream& stream, const TraceUnit& unit) {
  const uint64_t total = account.decoded + account.padding + account.lost;
  if (total == unit.In(stream)) return {};
  const std::string units(unit.plural);
  return FaultOfFlowback("stream " + std::to_string(stream.index) + ": " +
                         std::to_string(account.decoded) + " " + units + " decoded + " +
                         std::to_string(account.padding) + " padding + " +
                         std::to_string(account.lost) + " lost are not the stream's " +
                         std::to_string(unit.In(stream)) + " " + units);
}

std::function<Status(const ByteAccount&, const Stream&)> AccountCheck(const TraceUnit& unit) {
  return [unit](const ByteAccount& account, const Stream& stream) {
    return CheckAccount(account, stream, unit);
  };
}

Status CheckTimes(const TimeAccounts& accounts) {
  for (const TimeAccount& account : accounts.threads)
    if (account.Sum() != account.lifetime())
      return FaultOfFlowback("thread " + std::to_string(account.tid) + ": the times by class are " +
                             std::to_string(account.Sum()) + " in all, not its lifetime of " +
                             std::to_string(account.lifetime()));
  return {};
}

}  // namespace flowback
