// SPDX-License-Identifier: MIT
// Trials on this machine whose outcome only trying shows.
#pragma once

#include <string>

#include "capture/record/host_facts.h"

namespace flowback::cli {

// Opens perf events, asks the emulator for its version, and records /bin/true with each software
// engine, by this program itself. Takes some tenths of a second.
void TryRecording(HostFacts& facts);

// Reads the trials of another machine, a line each in the file `perf_event_open` below `root`: the
// trial's name and its errno.
void ReadTrials(const std::string& root, HostFacts& facts);

}  // namespace flowback::cli
