// SPDX-License-Identifier: MIT
// This run's use of the terminal: pager, colours, progress line, and amount of messages. Standard
// output and error are the process' own, so there is one of it, which main ends. Where neither
// leads to a terminal, nothing here changes a byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "flowback/base/error.h"

namespace flowback::cli {

struct TerminalOptions {
  bool quiet = false;  // errors only
  bool verbose = false;
  bool pages = false;  // long text goes through a pager
  std::string color = "auto";
};

// Errors: kUsage for a word --color does not know.
Status BeginTerminalSession(const TerminalOptions& options);
// Shows what the pager still holds: waits until its user has seen enough.
void EndTerminalSession();

bool IsQuiet();
bool IsVerbose();
// Whether text for the descriptor, standard output or error, is to be coloured: --color, else by
// $NO_COLOR, $TERM, and whether it leads to a terminal (the pager does).
bool HasColor(int descriptor);

// To be called before text goes to standard output, and before a message goes to standard error:
// starts the pager where one is to be, and takes the progress line away.
void BeforeOutput();
void BeforeMessage();

// The line "decode: 34 %, 120.3 MB/s, 12 s left" on standard error, if that is a terminal, from the
// first second on, until text goes to the same terminal. `done` counts up to `total`, both in bytes
// of trace; it must outlive this.
class WorkProgress {
 public:
  WorkProgress(std::string work, uint64_t total, const std::atomic<uint64_t>& done);
  ~WorkProgress();
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

 private:
  std::jthread drawer_;
};

// What the line says after `seconds`.
std::string WorkProgressText(const std::string& work, uint64_t total, uint64_t done,
                             double seconds);

}  // namespace flowback::cli
