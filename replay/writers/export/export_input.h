// SPDX-License-Identifier: MIT
// What exports are written from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/session.h"
#include "replay/profile/compiler_profile.h"
#include "replay/profile/flow_cut.h"
#include "replay/profile/flow_stacks.h"

namespace flowback {

// Receives what is odd about an export that was written all the same. May be empty.
using ExportWarning =
    std::function<void(const std::string& text, const std::vector<std::string>& remedies)>;

// A profile, and where debug files are.
struct ProfileExport {
  const CompilerProfile& profile;
  const ImageSearch& search;
  ExportWarning warn;
};

// A session whose threads are selected. Writers add the losses that they meet to its losses.
struct FlowExport {
  Session& session;
  ExportWarning warn;
  ThreadPart part{};  // that is written
};

// A session whose recording has samples of calls and whose code is loaded.
struct SamplesExport {
  Session& session;
};

// Plays the part of the flow, or the selected threads. Errors: as Player::Play's.
Status PlayStacks(Session& session, FlowStacks& stacks, const ThreadPart& part);

}  // namespace flowback
