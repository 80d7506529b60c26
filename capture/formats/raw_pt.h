// SPDX-License-Identifier: MIT
// Raw Intel PT bytes: each file is one stream.
#pragma once

#include <string>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback {

// Errors: kUnreadable (missing, a directory, empty), kPermission.
Result<Recording> ReadRawPt(const std::vector<std::string>& files);

}  // namespace flowback
