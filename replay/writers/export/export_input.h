// SPDX-License-Identifier: MIT
// What exports are written from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/session.h"
#include "replay/profile/compiler_profile.h"
#include "replay/profile/flow_cut.h"
#include "replay/profile/flow_stacks.h"

namespace flowback {

// Receives warnings about an export that was written all the same. May be empty.
using ExportWarning =
    std::function<void(const std::string& text, const std::vector<std::string>& remedies)>;

// A profile, and where debug files are.
struct ProfileExport {
  const CompilerProfile& profile;
  const ImageSearch& search;
  ExportWarning warn;
};

struct ExportedFunction;  // replay/writers/calls/exported_calls.h
struct LocksView;         // replay/writers/locks/locks_view.h

// Which calls are written; by default all.
struct CallsPart {
  TimeSpan span{};  // calls that reach out of it are cut
  // Returns whether calls of the function are wanted, with all in them. Empty: every function's.
  std::function<bool(const ExportedFunction&)> matches{};
  uint64_t min_duration = 0;  // in the unit of the clock
  size_t max_depth = SIZE_MAX;
  bool calls_only = false;  // without counters and absences
};

// A session whose threads are selected. Writers add the losses that they meet to its losses.
struct FlowExport {
  Session& session;
  ExportWarning warn;
  ThreadPart part{};  // that is written
};

// The same, for formats of calls.
struct CallsExport {
  Session& session;
  ExportWarning warn;
  ThreadPart part{};
  CallsPart calls{};
  const LocksView* waits = nullptr;  // of the same threads; null: they are not written
};

// A session whose recording has samples of calls and whose code is loaded.
struct SamplesExport {
  Session& session;
};

// Plays the part of the flow, or the selected threads. Errors: as Player::Play's.
Status PlayStacks(Session& session, FlowStacks& stacks, const ThreadPart& part);

}  // namespace flowback
