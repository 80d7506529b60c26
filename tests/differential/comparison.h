// SPDX-License-Identifier: MIT
// Compares two engines' flow from the same damaged bytes, and judges where they part.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"
#include "tests/differential/harness.h"

namespace flowback::testing {

// One engine's whole story: every instruction.
struct Story {
  struct Step {
    uint64_t ip = 0;
    uint8_t length = 0;
    CodeMode mode = CodeMode::kX86_64;
    InstructionClass kind = InstructionClass::kOther;  // of a block's last instruction, else kOther
    BlockExit exit = BlockExit::kFallThrough;
    uint64_t next = 0;                // of a block's last instruction: where control went
    const DataLoss* after = nullptr;  // the flow broke off before it; in `losses`
  };
  std::vector<Step> steps;
  std::deque<DataLoss> losses;
  const DataLoss* at_end = nullptr;  // no flow came after it; in `losses`
};

Story StoryOf(Decoder& decoder, const DecodeInput& input);

// The relation of two decodes of the same bytes. Damaged bytes contain no truth, so engines may
// notice the contradiction at different packets; but where both have a flow, it must be the same
// one. The exceptions are rules that say who is right and why; anything else is a contradiction.
enum class Verdict : uint8_t {
  kEqual,
  kNativeSooner,     // native's is the beginning of the other, and a loss ends it there
  kReferenceSooner,  // the other way round, or it is lost there and goes on later
  kReturn,           // they part at a compressed RET, where native goes to the caller found by
                     // popping at every RET as the SDM says; libipt keeps entries at uncompressed
                     // ones and goes to a stale one
  kOldCall,      // they part at a compressed RET whose call native does not know, because a PSB or
                 // OVF came in between; only RETs of later calls may be compressed, but
                 // libipt keeps its stack
  kSyncPoint,    // they part at a PSB+ in mid-stream whose FUP is not where the flow has got to;
                 // libipt does not look at it
  kMissedPsb,    // native goes on at a PSB that libipt, its bytes misaligned by the damage, has
                 // read as a part of other packets
  kOverflowPsb,  // they part at an OVF right behind which damage has put a PSB+: native takes the
                 // state that this has, libipt waits for a FUP of the OVF's own
  kInto,         // they part at an INTO, which the SDM describes as an event when it traps; libipt
                 // takes every INTO for a far transfer
  kMode,         // they part at an instruction that they read in different modes: after a MODE.Exec
                 // whose packets the damage has moved, libipt changes over at the first instruction
                 // with the address of its TIP, which may come before the branch that goes there
  kRex2,      // they part at the prefix D5H of newer processors, which libipt 2.0.5 does not know
  kUnproven,  // by a rule that lets native find more, it finds flow that did not execute. Between
              // silent damage and the next PSB no decoder can know: rare, and counted by the tests
  kContradiction,
};
inline constexpr std::array<const char*, 13> kVerdictNames = {
    "equal", "native sooner", "libipt sooner", "stale return", "old call",
    "PSB+",  "missed PSB",    "OVF, PSB",      "INTO",         "mode",
    "REX2",  "unproven",      "contradiction"};

// `bytes`: what was decoded, in the subject's code. `truth`: the addresses of all that executed.
Verdict Judge(const Subject& subject, Bytes bytes, const std::vector<uint64_t>& truth,
              const Story& native, const Story& reference);

// The place where the stories part, for messages.
std::string PartingText(const Story& native, const Story& reference);

}  // namespace flowback::testing
