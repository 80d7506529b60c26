// SPDX-License-Identifier: MIT
// Waits for children. No child delays the others.
#pragma once

#include <sys/types.h>

#include <vector>

namespace flowback::record {

struct ChildStatus {
  pid_t pid = -1;
  int status = 0;  // as waitpid returns it
};

// Waits until a child of the calling thread has a status, and puts the statuses of all that have
// one into `statuses`, whose former content is dropped. False: no child is left.
//
// waitpid asks the children in the order in which they became such, and gives the first one that
// has a status. A traced child that is resumed and stops again before the next call is always the
// first: whoever resumes each stopped child before asking for the next one may never hear of the
// others. Here all are asked before any is resumed.
bool TakeStatuses(std::vector<ChildStatus>& statuses);

}  // namespace flowback::record
