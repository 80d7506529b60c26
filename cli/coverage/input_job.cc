// SPDX-License-Identifier: MIT
#include "cli/coverage/input_job.h"

#include "cli/coverage/coverage_job.h"

namespace flowback::cli {

Status CoverageInputJob::Count(const CoverageRequest& request, Output& output) {
  return report_.Count(opened_, request, output);
}

}  // namespace flowback::cli
