// SPDX-License-Identifier: MIT
// One uninterrupted run of libipt's instruction decoder.
#pragma once

#include <intel-pt.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/pt/libipt/code_reader.h"
#include "decode/pt/libipt/flow_writer.h"
#include "decode/pt/libipt/handles.h"
#include "decode/pt/libipt/loop_rounds.h"
#include "decode/pt/libipt/packet_mirror.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/machine.h"

namespace flowback::libipt {

// Bytes from a PSB on that hold whole, known packets only.
struct WalkRange {
  Bytes bytes;          // begins with the PSB
  uint64_t offset = 0;  // of the PSB in the stream
};

// How a walk ended.
struct WalkEnd {
  enum class Why : uint8_t { kEnd, kError, kRunaway, kDone, kPaused } why = Why::kEnd;
  pt_error_code code = pte_ok;  // of kError
  uint64_t offset = 0;          // in the stream: the first packet not consumed
  uint64_t ip = 0;              // the instruction at hand; 0 when not known
};

// libipt gives up a little early where packets are damaged: it reads ahead, and when that fails the
// packet it had just read (up to 47 branches, or an event) is dropped with it. So the caller walks
// again over the range cut at the damage, where reading ahead ends in the harmless "no more
// trace"; `skip` makes the second walk silent up to where the first one came.
class Walk {
 public:
  static Result<Walk> Start(const WalkRange& range, const PtConfig& pt, ImageReader& code,
                            FlowWriter& writer, uint64_t skip, uint64_t retired);

  // Where to pause: at the first packet behind `offset`, a place of the stream, that is not gone
  // past in silence; or after `rounds` rounds. The first round synchronises; each further one takes
  // an instruction or event.
  struct Limit {
    uint64_t offset = ~uint64_t{0};
    uint64_t rounds = ~uint64_t{0};
  };
  // On to its end, or to the limit: another call goes on from there.
  WalkEnd Run(const Limit& limit);

  uint64_t rounds() const { return rounds_; }
  uint64_t steps() const { return steps_; }      // instructions and events so far
  uint64_t retired() const { return retired_; }  // the caller's number plus this walk's
  uint64_t padding() const { return mirror_->padding(); }
  uint64_t overflow_bytes() const { return overflow_bytes_; }  // in losses already reported
  // Where the walk ended, if tracing is on there and the code goes round for ever without a packet.
  std::optional<uint64_t> EndlessEnd();
  // True when the walk should be repeated over the range cut at the end's offset.
  bool WantsCut(const WalkEnd& end) const;

 private:
  Walk(const WalkRange& range, ImageReader& code, FlowWriter& writer, uint64_t skip,
       uint64_t retired)
      : range_(range), code_(&code), writer_(&writer), skip_(skip), retired_(retired) {}

  int Begin();
  bool IsAt(const Limit& limit) const;
  int NextInstruction();
  int NextEvent();
  void HandleEvent(const pt_event& event, uint64_t offset);
  bool RepeatsState(const pt_event& event) const;
  void RevealTarget();
  void SettleCount(uint64_t ip);
  void TellUnprovenRounds(const TraceEvent& event);
  void FlushAbort(uint64_t target);
  void HandleOverflow(const TraceEvent& overflow);
  void ResolveHeld(const pt_event* event, int status);
  void FinishFailed(const pt_insn& insn, int status);
  bool Consume(Completed& instruction, const pt_insn& insn);
  void Add(const Completed& instruction);
  void Count(const Completed& instruction);
  bool SeesLoop(uint64_t ip);
  void ProgressMade();
  void UpdateTime();
  uint64_t Position() const;
  WalkEnd End(int status) const;
  bool live() const { return steps_ > skip_; }

  static constexpr uint64_t kFirstLoopLimit = 64;

  struct HeldBranch {
    Completed completed;
    pt_insn insn;
  };

  WalkRange range_;
  ImageReader* code_;
  FlowWriter* writer_;
  uint64_t skip_;
  uint64_t retired_;
  uint64_t tsc_reference_ = 0;  // PtConfig's
  uint64_t steps_ = 0;
  uint64_t rounds_ = 0;
  std::optional<int> status_;  // what libipt said last; none: it was not asked yet
  Image image_;
  InsnDecoder decoder_;
  std::optional<PacketMirror> mirror_;
  std::optional<HeldBranch> held_;  // a branch whose events come before its own packet
  LoopRounds rounds_of_loops_;
  uint64_t counted_left_ = pt::CountedFlow::kMost;  // instructions that may be walked for counts
  bool tracing_ = false;
  CodeMode mode_ = CodeMode::kX86_64;  // of the last instruction
  std::optional<TraceEvent> abort_;    // waits for the transfer that follows it
  uint64_t last_ip_ = 0;
  uint64_t behind_ = 0;  // the address behind the last instruction that completed
  uint64_t overflow_bytes_ = 0;
  std::vector<Completed> unproven_;
  bool runaway_ = false;
  uint64_t loop_anchor_ = 0;
  uint64_t loop_length_ = 0;
  uint64_t loop_limit_ = kFirstLoopLimit;
};

}  // namespace flowback::libipt
