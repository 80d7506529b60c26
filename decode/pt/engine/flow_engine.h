// SPDX-License-Identifier: MIT
// The flow engine: packets and code become the exact instruction flow.
//
// The processor writes a packet only where code alone does not determine the next instruction. So
// the engine stands at a place in the code (`cur_`, a node of the block graph) and waits there.
// Each packet makes it walk on, no further than the packet proves:
//
//   TNT      one bit for each conditional branch, and a taken one for each compressed return
//   TIP      the target of the next indirect branch, uncompressed return or far transfer
//   FUP      the address of the next instruction to execute, for the packet that it belongs to:
//            an interrupt's TIP or TIP.PGD, a MODE.TSX, a PTW ...
//   TIP.PGD  tracing stops, at the next instruction that can stop it
//   PSB+     the whole state again, tracing's place included
//
//   code   401000 loop: dec rax         packets   TIP.PGE loop    starts: nothing executed yet
//          401003       jne loop                  TNT  t          dec, jne completed; waits at loop
//          401005       ret                       TNT  n          dec, jne completed; waits at ret
//                                                 TIP  400123     ret completed
//
// It walks lazily: after the second TNT the `ret` is not counted before the TIP proves it. Flow
// that the trace does not prove is not handed on.
//
// "Deferred TIPs": a TIP may come after the TNT packet that holds later bits. When a walk meets an
// indirect branch with bits left over, they wait (held_outcomes.h) until the TIP has
// come.
//
// A packet that contradicts the code or the state is an error: the flow is lost from there to the
// first packet that gives the full state again (Resync::kEarliest), or to the next PSB
// (Resync::kSyncPoint), and a DataLoss says so.
//
// The class is a template on its sink (flow_sink.h), so that counting and delivering each get a hot
// loop of their own: see sinks.h, batch_sink.h, event_sink.h. Its parts: flow_walk.h walks code,
// flow_hot.h takes the usual packets without detours, flow_memo.h whole packets by memory
// (quick_packets.h); flow_bind.h binds FUPs; flow_packets.h has the meaning of each packet;
// flow_rounds.h has loops that need no packets; flow_sync.h finds sync points and loses and regains
// the flow; flow_segments.h begins and ends in mid-stream. Parts with a state of their own are
// classes: packets that wait for others (packet_compound.h, held_outcomes.h), losses
// (loss_account.h), a look ahead (packets_ahead.h), the parts of the stream (stream_parts.h), the
// mode (execution_mode.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "decode/effort.h"
#include "decode/flow/program_change.h"
#include "decode/pt/engine/counted_flow.h"
#include "decode/pt/engine/flag_search.h"
#include "decode/pt/engine/loss_account.h"
#include "decode/pt/engine/tracing_limits.h"
#include "decode/pt/flow_names.h"
#include "decode/pt/memo/memo_cache.h"
#include "decode/pt/memo/return_stack.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_groups.h"
#include "decode/pt/sinks/sinks.h"
#include "decode/pt/stream/errata.h"
#include "decode/pt/stream/execution_mode.h"
#include "decode/pt/stream/held_outcomes.h"
#include "decode/pt/stream/packet_compound.h"
#include "decode/pt/stream/packet_events.h"
#include "decode/pt/stream/packets_ahead.h"
#include "decode/pt/stream/stream_parts.h"
#include "decode/pt/time/clock.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/decode/decoder.h"

namespace flowback::pt {

struct OutcomePart;  // quick_packets.h

// The engine's state between two packets. It can be copied, and an engine continues from it:
// FlowEngine::Carry. The engine's input and its sink are not part of it.
struct FlowState {
  explicit FlowState(const PtConfig& config) : clock_(config) {}

  enum class State : uint8_t {
    kOff,   // tracing is off
    kOn,    // tracing is on; cur_ is the next instruction to execute
    kLost,  // neither is known
  };
  struct Failure {
    LossCause cause;
    std::string detail;
  };

  // The stream.
  const uint8_t* pos_ = nullptr;
  const uint8_t* end_ = nullptr;      // where the stream or, before that, the next gap is
  const uint8_t* hot_end_ = nullptr;  // the same, but no further than where the next stay begins
  StreamParts parts_;
  const uint8_t* packet_ = nullptr;  // the packet in work
  PebsState pebs_;
  LastIp last_ip_;
  Clock clock_;
  LossAccount account_;
  size_t behind_last_psb_ = 0;  // the offset at which it begins, plus one; 0: no PSB so far

  // The flow.
  CountedFlow counted_;
  State state_ = State::kLost;
  BlockGraph* graph_ = nullptr;
  uint32_t cur_ = 0;  // 0 unless tracing is on
  ReturnStack returns_;
  // The processor's call stack may hold calls that ours lacks, because a loss hid them.
  bool calls_lost_ = false;
  HeldOutcomes held_;
  bool cycles_told_ = false;  // RunMemoised has met a CYC packet
  ExecutionMode mode_;
  bool in_transaction_ = false;

  PacketCompound compound_;

  // The packet at which RunHot stopped, and its bits that have not been walked.
  const uint8_t* hot_packet_ = nullptr;
  uint64_t hot_bits_ = 0;
  unsigned hot_count_ = 0;
  std::optional<uint64_t> hot_ip_;

  Failure failure_{};  // why the packet in work can't be right
  LossState loss_state_;
  flow::ProgramChange program_;
};

template <FlowSink Sink>
class FlowEngine : private FlowState {
 public:
  FlowEngine(const DecodeInput& input, CodeView& code, MemoCache& memos, Sink& sink);

  // Decodes the whole stream.
  ByteAccount Run();

  // Or segment by segment: a segment ends behind the PSB+ at or after `stop`, with which the next
  // one may begin by itself: flow_segments.h.
  struct Carry {
    FlowState state;
    uint64_t ip = 0;  // of state.cur_
    CodeView::Place place;
  };
  void Begin();
  void BeginAtPsb(size_t psb);
  void Restore(const Carry& carry);
  void RunTo(size_t stop);
  void RunJustTo(size_t stop);
  // Asks for its memo anew. REQUIRES: no uses are in it that are not counted.
  void ForgetMemo() { memo_ = nullptr; }
  ByteAccount EndSegment();
  ByteAccount Finish();
  Carry Save() const;
  uint64_t offset() const { return Offset(pos_); }
  const Clock& clock() const { return clock_; }

 private:
  // flow_sync.h
  void BeginPart(size_t begin);
  void EnterStays(size_t offset);
  void LimitHotLoop(size_t offset);
  PartMark Mark(size_t offset) const;
  void SkipStatusOnly(size_t begin);
  void EndOf(const Packet& packet, bool transfers, bool told);
  void OnePacket();
  void CountSlow(const Packet& packet, bool plain);
  void SyncForward(size_t from);
  void LoseAt(size_t offset, LossCause cause, std::string detail);
  void Damaged(ReadError error);
  void Failed();
  bool SwallowsPsb(const uint8_t* packet, size_t size);
  void BeginLoss(LossCause cause, size_t offset, std::string detail);
  void EndLoss(size_t offset);
  void Regain();
  void Resume(uint64_t ip);
  bool MayResume() const;
  bool PsbPlus();
  struct Header;
  bool ReadHeader(Header& header);
  bool ApplyHeader(const Header& header);
  bool AgreesWithFlow(const Header& header);
  bool StartsBeforeEnable(const Header& header);

  // flow_hot.h
  void FastPackets();
  // Why RunHot stopped: at a packet of another kind, or after a TNT or TIP that it could not
  // finish.
  enum class HotStop : uint8_t { kOther, kTnt, kTip, kPaths };
  template <bool kToPaths = false>
  HotStop RunHot();
  NodeKind RunTnt(typename Sink::Run& run, uint32_t& cur, uint64_t bits, unsigned& count);
  template <class Output>
  bool RunTip(Output& run, uint32_t& cur, uint64_t ip);

  // flow_memo.h
  HotStop RunMemoised();
  struct PathRun;
  template <bool kOverCyc>
  HotStop RunMemoised();
  // The sink takes paths, and gives each block a time: a CYC divides the path behind it.
  static constexpr bool kTimesPaths = Sink::kMemoises && Sink::kListsBlocks && Sink::kWantsTimes;
  // The sink takes paths, and times the flow before and after them. A CYC times a path's first
  // branch; the code shows how many instructions lie before that.
  static constexpr bool kTimesLeads = Sink::kMemoises && Sink::kTimesLeads;
  // Whether CYC packets are there and need not be taken one by one.
  bool CycInLoop() const { return cycles_told_ && !errata_.cyc_cut_by_ovf; }
  // Whether they don't even part the packets on their two sides.
  bool OverCyc() const { return !Sink::kHearsPackets && CycInLoop(); }
  bool RunCycs(PathRun& run, const uint8_t*& pos, const uint8_t* end, uint64_t& last_ip);
  bool RunCyc(PathRun& run, const uint8_t*& pos, uint64_t& last_ip, bool& more);
  bool TellCyc();
  std::optional<HotStop> RunToPaths(PathMemo& memo);
  std::optional<HotStop> RunPastTime(PathMemo& memo);
  bool RunAlone(PathMemo& memo);
  std::optional<HotStop> RunUnusual(PathMemo& memo);
  std::optional<HotStop> RunLongTnts(PathMemo& memo);
  std::optional<HotStop> RunOutcomes(PathMemo& memo, uint64_t bits, unsigned left);
  bool TakeOutcomes(PathMemo& memo, const OutcomePart& part);
  template <class Packets>
  bool Take(PathMemo& memo, Path<Packets>& path);
  void CountWalked(SlowPacket reason, int packets);
  void CountSlow(SlowPacket reason) {
    if constexpr (Sink::kCountsUses) sink_.Slow(reason);
  }

  // flow_walk.h
  bool WalkTnt(uint64_t bits, unsigned count);
  bool WalkHeldBits();
  // Whether PassBlock went on.
  enum class Passed : uint8_t { kYes, kNeedsPacket, kFailed };
  template <class Predicate>
  Passed PassBlock(Predicate is_goal, bool& leads);
  bool WalkToConsumer();
  bool WalkTo(uint64_t ip);
  bool WalkToStop(std::optional<uint64_t> ip);
  bool StopAtBranch(std::optional<uint64_t> ip);
  bool WalkPastPtwrite(TraceEvent event);
  template <class Output>
  uint32_t StepOver(Output& output, uint32_t cur);
  bool BadReturn(bool taken);
  bool Runaway();
  bool MismatchAtBranch(const char* what);
  void ComeToBranch();
  void DropHeldBits();
  bool TipWithoutIp();
  bool LeaveAtConditional(std::optional<uint64_t> ip);
  bool LeaveAtReturn();
  bool MayBeFiltered() const { return config_.address_filter.value_or(true); }
  bool NoCode();
  bool Reaches(uint64_t ip);
  bool TakeTip(uint64_t ip);
  void Goto(uint64_t ip);
  uint32_t Successor(uint32_t id, unsigned direction);
  uint32_t ReturnTo(const ReturnStack::Entry& entry);
  uint64_t AddressOf(const ReturnStack::Entry& entry) const {
    return entry.call != 0 ? graph_->SuccessorAddress(entry.call, 0) : entry.address;
  }
  void Emit(uint32_t id, BlockExit exit, uint64_t next);

  // flow_rounds.h
  bool TakeCount(const ExecutedCount& count);
  bool WalkCounted(uint64_t count);
  bool CountProvesPlace() const { return counted_.ProvesPlaceAt(sink_.retired()); }
  void TellUnprovenRounds();
  void TellUnprovenEnd();
  void TellBreak(DataLoss loss);

  // flow_bind.h
  std::optional<uint64_t> PlaceOf(const IpPayload& payload);
  bool BindFup(uint64_t ip);
  bool BindWaiting(uint64_t ip);
  void WalkPastFlag(uint8_t flag);
  bool FinishTransfer(std::optional<uint64_t> target, bool stops);
  bool AtVmEntry() const;
  void Notify(TraceEvent event);
  TraceEvent Event(EventKind kind) const;
  TraceEvent HappensNow(TraceEvent event) const;
  void ApplyMode(std::optional<uint64_t> ip);
  void SetMode(const ModeExec& packet, std::optional<uint64_t> ip);
  void SelectCode();
  void KeepProgram();
  void StopProgram(std::optional<uint64_t> next);
  void CheckProgram();
  void UseGraph();
  static void ForgetNodes(FlowState& state) {
    state.returns_.ForgetNodes(
        [&state](uint32_t call) { return state.graph_->SuccessorAddress(call, 0); });
  }
  void ClearCompound();
  void PassWaiting();
  void PassMode();

  // flow_packets.h: each returns false after setting failure_.
  bool On(const Pad&) { return true; }
  bool On(const ShortTnt& packet) { return OnTnt(packet.bits, packet.count); }
  bool On(const LongTnt& packet) { return OnTnt(packet.bits, packet.count); }
  bool OnTnt(uint64_t bits, unsigned count);
  bool On(const Tip& packet);
  void ResumeAtTip(std::optional<uint64_t> ip);
  bool On(const TipPge& packet);
  bool On(const TipPgd& packet);
  bool On(const Fup& packet);
  bool On(const Psb&) { return PsbPlus(); }
  bool On(const PsbEnd&) { return true; }
  bool On(const ModeExec& packet);
  bool On(const ModeTsx& packet);
  bool On(const Pip& packet);
  bool On(const Vmcs& packet);
  bool On(const Tsc& packet);
  bool On(const Tma& packet);
  bool On(const Mtc& packet);
  bool On(const Cyc& packet);
  bool On(const Cbr& packet);
  bool On(const Mnt& packet);
  bool On(const Ovf& packet);
  bool On(const TraceStop& packet);
  bool On(const Ptw& packet);
  bool On(const ExStop& packet);
  bool On(const Mwait& packet);
  template <class P>
  bool On(const P& packet);
  template <class P>
  void Announce(const P& packet);

  bool Fail(LossCause cause, std::string detail = {}) {
    failure_ = {cause, std::move(detail)};
    return false;
  }
  bool Mismatch(const char* what);
  size_t Offset(const uint8_t* at) const { return static_cast<size_t>(at - input_.bytes.data()); }
  Bytes Rest() const { return RestFrom(pos_); }
  Bytes RestFrom(const uint8_t* at) const { return {at, static_cast<size_t>(end_ - at)}; }
  uint64_t CurrentAddress() const { return graph_->info(cur_).address; }
  // The time goes on to a sink that wants it.
  void Told([[maybe_unused]] TimeMark::Kind kind) {
    if constexpr (Sink::kWantsTimes)
      if (clock_.tsc() != 0) sink_.Mark(clock_.Mark(kind), state_ == State::kOn);
  }
  void EndPacket([[maybe_unused]] PacketEnding ending) {
    if constexpr (Sink::kWantsTimes) sink_.PacketEnd(ending);
  }
  uint64_t Retired() const {
    if constexpr (Sink::kWantsTimes) return sink_.retired();
    return 0;
  }
  // Ends a branch's TIP.
  void TipEnd() {
    if constexpr (Sink::kWantsTimes)
      if (sink_.WantsPacketEnd())
        sink_.PacketEnd(MayBeLate() ? PacketEnding::kDeferred : PacketEnding::kProven);
  }
  // Whether the packet in work may have been held back.
  void HoldBack([[maybe_unused]] bool held) {
    if constexpr (Sink::kWantsTimes) sink_.HoldBack(held);
  }
  // Whether a branch's TIP may be written some time after the branch.
  bool MayBeLate() { return held_.deferred() || !ahead_.TipsComeAtOnce(); }
  // A full TNT was sent when its last branch executed. Others were sent off by the packet behind
  // them, and belong to it: so does a full short one where long ones are in use.
  void TntEnd([[maybe_unused]] unsigned count, [[maybe_unused]] const uint8_t* next) {
    if constexpr (Sink::kWantsTimes)
      if (sink_.WantsPacketEnd() && IsFullTnt(count) && ahead_.FollowedByTnt(From(next)))
        sink_.PacketEnd(PacketEnding::kProven);
  }
  PacketsAhead::From From(const uint8_t* at) const { return {at, end_, pebs_}; }
  bool FollowedByTip() { return ahead_.FollowedByTip(From(pos_)); }
  [[gnu::always_inline]] Moment Now() const { return {clock_.tsc(), in_transaction_}; }
  // No packet before this one waits for one to come.
  bool InCompound() const { return !held_.empty() || !compound_.empty(); }
  // The hot loop's precondition: nothing is pending that a TNT or TIP would have to respect.
  bool Plain() const {
    return state_ == State::kOn && held_.empty() && compound_.empty() && pebs_.item_bytes == 0;
  }

  const DecodeInput& input_;
  StreamWindow window_;
  CodeView& code_;
  MemoCache& memos_;
  Sink& sink_;
  const PtConfig& config_;                      // the input's
  uint64_t counted_left_ = CountedFlow::kMost;  // instructions that may be walked for counts
  const uint8_t* stop_ = nullptr;        // where the hot loop ends at the latest; null: anywhere
  PathMemo* memo_ = nullptr;             // of graph_, if that has one yet
  const uint8_t* uses_begin_ = nullptr;  // of memoised paths that are in no sum yet
  const Errata errata_;
  const TracingLimits limits_;
  PacketsAhead ahead_;
  FlagSearch flag_search_;
  const bool compressed_returns_;
};

}  // namespace flowback::pt
