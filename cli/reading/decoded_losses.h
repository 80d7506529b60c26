// SPDX-License-Identifier: MIT
// What decoding the chosen threads loses. Most commands meet all of it on their way. A command that
// looks at one moment does not, and must not say less than the others: a file that is missing may
// be why its answer is short.
#pragma once

#include <optional>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "replay/flow/kept_sums.h"

namespace flowback::cli {

class DecodedLosses {
 public:
  // Adds them to opened.losses(). What an earlier command kept is not decoded again. REQUIRES:
  // threads are chosen. Errors: as decoding's.
  Status AddTo(OpenedRecording& opened);
  // Keeps for later commands what was decoded. REQUIRES: the recording is still open.
  void Keep() const;

 private:
  std::optional<KeptSums> sums_;
};

}  // namespace flowback::cli
