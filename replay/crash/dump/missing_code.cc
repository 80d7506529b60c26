// SPDX-License-Identifier: MIT
#include "replay/crash/dump/missing_code.h"

#include <string_view>
#include <utility>

namespace flowback {
namespace {

constexpr uint64_t kUserEnd = uint64_t{1} << 56;  // programs have no code behind it

// The processor could not fetch the instruction: the access that failed is the instruction itself.
bool FetchFailed(const ProcessEnd& end, uint64_t address) {
  return end.fault_address && *end.fault_address >= address &&
         *end.fault_address - address < kLongestInstruction;
}

// "the file was not found" of "/usr/bin/a: the file was not found".
std::string WithoutFile(std::string_view why, std::string_view file) {
  const std::string lead = (file.empty() ? "memory" : std::string(file)) + ": ";
  if (why.starts_with(lead)) why.remove_prefix(lead.size());
  return std::string(why);
}

}  // namespace

std::optional<MissingCode> MissingCodeAt(const ProcessEnd& end, const AddressSpace* space,
                                         uint64_t address) {
  if (FetchFailed(end, address) || address >= kUserEnd) return std::nullopt;
  const auto reason = space == nullptr ? nullptr : space->SectionOrReason(address);
  // An instruction that accessed other memory was there.
  const bool was_there = end.fault_address || reason != nullptr || !end.file.empty();
  if (!was_there && space != nullptr) return std::nullopt;
  MissingCode missing;
  if (!end.file.empty() && end.ip == address) {
    missing.file = end.file;
    missing.offset = end.file_offset;
  } else if (reason != nullptr) {
    missing.file = reason->missing_file();
  }
  if (reason != nullptr) missing.why = WithoutFile(reason->name(), missing.file);
  return missing;
}

}  // namespace flowback
