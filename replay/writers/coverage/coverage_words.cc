// SPDX-License-Identifier: MIT
#include "replay/writers/coverage/coverage_words.h"

#include <fmt/format.h>

#include "replay/coverage/report/coverage_metric.h"
#include "replay/writers/text/printable.h"

namespace flowback {

std::string PercentOf(const CoverageShare& share) {
  return share.total == 0 ? "-" : fmt::format("{:.1f} %", PercentNumber(share));
}

std::string FractionOf(const CoverageShare& share) {
  if (share.total == 0) return "";
  std::string text = fmt::format("{}/{}", share.executed, share.total);
  if (share.unknown != 0) text += fmt::format(" ({}?)", share.unknown);
  return text;
}

std::string FunctionWords(const StaticFunction& function) {
  return function.name.empty() ? fmt::format("[function at {:#x}]", function.begin)
                               : Printable(function.name);
}

std::string ObjectWords(const ObjectCoverage& object) { return Printable(object.counts->id.path); }

std::string CountWords(uint64_t times, Executed state) {
  if (state == Executed::kYes) return std::to_string(times);
  return state == Executed::kNo ? "#####" : "?????";
}

std::string BranchWords(uint64_t taken, uint64_t not_taken) {
  if (taken == 0 && not_taken == 0) return {};
  if (taken == 0) return fmt::format("never taken, {} not", not_taken);
  if (not_taken == 0) return fmt::format("always taken, {}", taken);
  return fmt::format("taken {}, not {}", taken, not_taken);
}

std::string TextWords(const InstructionLine& line) {
  return line.leads_to.empty() ? line.text
                               : fmt::format("{} <{}>", line.text, Printable(line.leads_to));
}

}  // namespace flowback
