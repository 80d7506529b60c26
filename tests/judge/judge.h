// SPDX-License-Identifier: MIT
// Compares the flow of a damaged recording with the instructions that really executed.
//
// The decoded flow is cut at its losses into stretches. A stretch begins with a packet that says
// where execution is, and in the undamaged stream that packet proves just the instructions up to
// there: so not only must a stretch be some part of the true flow, behind the stretch before it,
// but the one part that its packets are about. In a loop, where the same instructions come again
// and again, nothing less would notice an iteration too many.
//
// What can be demanded depends on what was done to the input.
//
//  * Code taken away, bytes taken away where the recorder says so (a gap), an OVF where bytes are
//    missing: nothing in the stream is false. The whole flow must be true, without exception.
//
//  * Silent damage, bits flipped or bytes missing without a mark: bytes that say something
//    else than the hardware did. Their flow is not true, and no decoder can know before a
//    later packet contradicts. So the stream has three parts:
//       before    the packets that end before the damage: what they prove must be true;
//       doubt     from the damage to the end of the first whole PSB+ behind it;
//       behind    from there on: PSB+ gives the whole state anew, so all must be true again.
//    In the doubt, flow behind a loss must be true as well, as soon as it begins with a packet that
//    the hardware wrote there: its first byte lies behind the damage, where a packet of the
//    undamaged stream begins. Excused is flow in doubt without a loss before it, or whose first
//    packet is none of the hardware's; it is counted, and bounded by its tests.
//
// Where the processor deferred TIPs, a TIP is where execution was, not where it is: bits of a TNT
// packet ahead of it belong behind it. Packets alone do not prove that a processor never does so,
// and a TNT that is gone is not there to warn. False flow after a loss that begins with a TIP of
// such a processor is counted by itself, and bounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"
#include "tests/judge/true_flow.h"

namespace flowback::judge {

// Bytes of a stream changed: [begin, begin + removed) became `inserted` bytes.
struct Damage {
  uint64_t begin = 0;
  uint64_t removed = 0;
  uint64_t inserted = 0;
  bool silent = false;  // without a mark

  // Where a byte of the damaged stream is in the true one. Places in inserted bytes are at their
  // begin.
  uint64_t TrueOffset(uint64_t offset) const {
    if (offset < begin) return offset;
    return offset < begin + inserted ? begin : offset - inserted + removed;
  }
  uint64_t DamagedOffset(uint64_t offset) const {
    return offset < begin + removed ? std::min(offset, begin) : offset - removed + inserted;
  }
};

// The decoded flow of a stream.
struct ToldFlow {
  struct Stretch {
    uint64_t first = 0;  // instruction
    uint64_t begin = 0;  // bytes, of the input
    uint64_t end = 0;
    LossCause after{};  // unless it is the first
  };
  std::vector<uint64_t> ips;
  std::vector<TimeRun> times;
  std::vector<ModeRun> modes;
  std::vector<Stretch> stretches;  // all of them, empty ones too
  std::vector<DataLoss> losses;
  std::vector<StayRun> stays;
  std::vector<uint64_t> parts;   // instructions before each part that was asked for
  uint64_t latest_in_doubt = 0;  // of all flow before the last part
  FlowDigest digest;
};

// `parts`: stream offsets where parts of it begin.
ToldFlow ToldFlowOf(Decoder& decoder, DecodeInput input, const std::vector<uint64_t>& parts);

// Decoded instructions [first, end) are those from `place` on of the truth.
struct Placed {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t place = 0;
};

// What judging found.
struct Findings {
  uint64_t cuts = 0;       // damaged inputs
  uint64_t stretches = 0;  // not empty, and all true
  uint64_t instructions = 0;
  uint64_t times = 0;  // runs of instructions whose bounds were held against the truth
  uint64_t excused_stretches = 0;
  uint64_t excused_instructions = 0;
  // False ones behind a loss that begin with a TIP of a processor that defers them.
  uint64_t deferred_stretches = 0;
  uint64_t deferred_instructions = 0;
  uint64_t wrong_stretches = 0;
  uint64_t wrong_instructions = 0;
  uint64_t wrong_times = 0;
  uint64_t wrong_threads = 0;  // runs of a wrong thread, or out of its order
  uint64_t excused_times = 0;
  std::vector<std::string> wrong;  // in words, the first few of each input
  std::vector<std::string> late;   // the same for times

  std::vector<Placed> placed;  // of the last input

  bool AllTrue() const { return wrong_stretches == 0 && wrong_times == 0 && wrong_threads == 0; }
  // Excuses are the exception: fewer stretches than cuts, and not a third of the flow.
  bool FewExcused() const {
    return excused_stretches <= cuts &&
           2 * excused_instructions <= instructions + wrong_instructions + kTooFewToSay;
  }
  static constexpr uint64_t kTooFewToSay = 10'000;  // instructions
  void Add(const Findings& other);
  std::string Text() const;
};

// Decodes the input in every way, expects one answer of all, and judges that. `told`: where to
// store the decoded flow; null: nowhere.
Findings JudgeInput(Decoder& decoder, const TrueFlow& truth, const DecodeInput& input,
                    const Damage* damage, const std::string& what, ToldFlow* told = nullptr);

}  // namespace flowback::judge
