// SPDX-License-Identifier: MIT
#include "cli/info/info_effort.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "decode/effort.h"

namespace flowback::cli {
namespace {

DecodeStatistics EffortOf(const InfoReport& report) {
  DecodeStatistics effort;
  for (const StreamInfo& info : report.streams)
    if (info.summary.effort != nullptr) effort.Append(*info.summary.effort);
  return effort;
}

// Returns the peak of the whole process, in bytes, with the resident part of the mapped recording.
uint64_t PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

void AppendEffort(const InfoReport& report, std::string& out) {
  const DecodeStatistics effort = EffortOf(report);
  const uint64_t all = effort.All();
  const auto row = [&](uint64_t count, const char* words) {
    out += fmt::format("  {:>12} {:>8}  {}\n", count, PercentOf(count, all), words);
  };
  out += "\ndecoding, in packets without padding, MTC, CYC and what is lost\n";
  row(effort.fast, "by heart");
  for (size_t i = 0; i < kSlowPackets; ++i) row(effort.slow[i], Words(static_cast<SlowPacket>(i)));
  out += fmt::format("  {:>12}           bytes of memory at most\n", PeakMemory());
}

nlohmann::ordered_json EffortJson(const InfoReport& report) {
  const DecodeStatistics effort = EffortOf(report);
  nlohmann::ordered_json json;
  json["packets"] = effort.All();
  json["fast"] = effort.fast;
  for (size_t i = 0; i < kSlowPackets; ++i)
    json["slow"][Key(static_cast<SlowPacket>(i))] = effort.slow[i];
  json["peak_memory"] = PeakMemory();
  return json;
}

}  // namespace flowback::cli
