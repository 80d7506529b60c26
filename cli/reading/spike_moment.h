// SPDX-License-Identifier: MIT
// "spike:N" of --at, and the N of --instance: the Nth slowest instance of the last `spikes`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "replay/spikes/last_spikes.h"

namespace flowback::cli {

// An instance that the user named.
struct NamedSpike {
  uint64_t number = 0;  // from 1 on: the slowest
  uint64_t all = 0;     // slow instances
  std::string region;   // what was compared: "handle", "srv.cc:12 to srv.cc:20"
  SlowInstance instance;
  const StreamOwner* thread = nullptr;  // the instance's, among the chosen ones
};

// Whether the word begins with "spike:".
bool NamesSpike(const std::string& word);

// Finds the instance with that number, "1" or "spike:1". `option` is named in errors. REQUIRES: the
// threads are chosen. Errors: kUsage if the word is no number from 1 to the number of slow
// instances, if the instance's thread is not chosen, or if the cache is not used; and
// LoadLastSpikes' errors.
Result<NamedSpike> FindSpike(const std::string& option, const std::string& word,
                             const OpenedRecording& opened);

}  // namespace flowback::cli
