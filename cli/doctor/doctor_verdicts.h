// SPDX-License-Identifier: MIT
// The judgements of `doctor`: for each kind of recording, whether it works here and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "capture/record/host_facts.h"

namespace flowback::cli {

struct Verdict {
  std::string kind{};      // a value of record --engine: "pt", "lbr", "brbe", "emulate", "step"; or
                           // "attach": record -p; or "32-bit": emulate, of
                           // 32-bit programs
  bool usable = false;     // `flowback record --engine KIND` works here and now
  bool machine = false;    // hardware and permissions suffice, though this flowback may not
  std::string why{};       // one sentence
  std::string found_by{};  // how that was found out
  std::string fix{};       // the one command or setting that makes it work; "" when nothing does
  std::string instead{};   // what works meanwhile; "" when `usable`
};

// One sentence about a permission or limit.
struct Note {
  std::string name{};
  std::string text{};
  std::string fix{};  // "" when there is nothing to fix
};

// Why something is refused, how that was found out, and what helps ("" when nothing does).
struct Obstacle {
  std::string why{};
  std::string found_by{};
  std::string fix{};
};

// Explains perf_event_open's errno on this machine.
Obstacle ExplainRefusal(const HostFacts& facts, int error);

// Judges the recorders (recorders.def), and some of their further abilities.
std::vector<Verdict> JudgeEngines(const HostFacts& facts);
std::vector<Note> JudgePermissions(const HostFacts& facts);

}  // namespace flowback::cli
