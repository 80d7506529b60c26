// SPDX-License-Identifier: MIT
// Raw Intel PT bytes: each file is one stream. Sideband may stand beside them as raw perf records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// Errors: kUnreadable (missing, a directory, empty), kPermission.
Result<Recording> ReadRawPt(const std::vector<std::string>& files);

// Adds the perf records of `files`, which have no header before them; `sample_type` says how they
// end (perf_event_attr's, with sample_id_all). Without it their times and CPUs are unknown, and
// they are taken in their order. Errors: kUnreadable when a file is missing or holds no record.
Status ReadRawSideband(const std::vector<std::string>& files, std::optional<uint64_t> sample_type,
                       Recording& recording);

}  // namespace flowback
