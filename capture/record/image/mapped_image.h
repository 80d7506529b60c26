// SPDX-License-Identifier: MIT
// The files behind a process's mappings, each opened while it is mapped: even if the path changes,
// the descriptor leads to the file that runs.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/descriptor.h"
#include "capture/record/target/process_maps.h"
#include "flowback/model/recording.h"

namespace flowback::record {

struct MappedImage {
  Descriptor file;      // negative: it can't be opened
  std::string problem;  // then: why, "Permission denied"
  BuildId build_id;     // empty: it has none, or can't be opened

  // The path's file may be another one by now: what has been unlinked is looked for where the
  // kernel shows the mapping itself, for which it wants a privilege, or as the process's program.
  static std::shared_ptr<const MappedImage> Open(pid_t pid, const ExecutableMapping& mapping);

  // Whether the path leads to it now.
  bool IsAt(const std::string& path) const;
  // Returns a text that differs for different contents of one file, as far as the file system shows
  // it.
  std::string Version() const;
};

}  // namespace flowback::record
