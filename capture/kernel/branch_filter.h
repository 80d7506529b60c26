// SPDX-License-Identifier: MIT
// Which branches a branch stack shall hold, in perf's words: `-j any,u`.
#pragma once

#include <cstdint>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback::kernel {

// perf_event_attr::branch_sample_type of the words between commas; a privilege level alone means
// any branch of it. Errors: kUsage.
Result<uint64_t> ParseBranchFilter(std::string_view words);

// The same in words.
std::string BranchFilterText(uint64_t filter);

}  // namespace flowback::kernel
