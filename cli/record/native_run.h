// SPDX-License-Identifier: MIT
// `record --compare`: the command once more, by itself, so that what recording cost is a measured
// figure. An estimate from the number of instructions flatters: how many of them a processor
// executes in a cycle differs tenfold between programs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/error.h"

namespace flowback::cli {

struct NativeRun {
  std::chrono::nanoseconds elapsed{0};
  // User and system time of the command and of the children that it waited for.
  std::chrono::nanoseconds cpu_time{0};
  int command_status = 0;  // as waitpid gives it
};

// What the command is to read as its standard input again: where that is a file, from where it
// stands now. To be made before the first run, which moves that place.
class RepeatableInput {
 public:
  RepeatableInput();
  // A new descriptor for standard input as it was; of /dev/null where it can't be read twice.
  // Negative: errno.
  int Open() const;

 private:
  std::optional<off_t> offset_;
};

// Runs the command with its output thrown away and waits for its end, at most for `limit`, after
// which it is killed. Errors: kSystem when it can't be started or takes longer.
Result<NativeRun> RunNatively(const std::vector<std::string>& command, const RepeatableInput& input,
                              std::chrono::nanoseconds limit);

}  // namespace flowback::cli
