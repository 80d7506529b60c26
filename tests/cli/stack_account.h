// SPDX-License-Identifier: MIT
// What `info --json` says of a recording of branch stacks.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace flowback::test {

// What became of the records, and how often each loss.
inline std::map<std::string, uint64_t> AccountOf(const nlohmann::json& info) {
  std::map<std::string, uint64_t> account;
  for (const nlohmann::json& stream : info["streams"]) {
    account["decoded"] += stream["bytes_decoded"].get<uint64_t>();
    account["lost"] += stream["bytes_lost"].get<uint64_t>();
  }
  for (const nlohmann::json& loss : info["losses"])
    if (loss["bytes"].is_number() && loss["bytes"] != 0) account[loss["cause"]] = loss["count"];
  return account;
}

}  // namespace flowback::test
