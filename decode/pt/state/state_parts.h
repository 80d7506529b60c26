// SPDX-License-Identifier: MIT
// The parts of all that a state consists of: of the engine, its sink, and what estimates times.
//
// A structure is taken apart with a structured binding that names each of its members. So the
// compiler rejects a new member until its handling is written here.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/sinks/batch_sink.h"
#include "decode/pt/state/state_bytes.h"
#include "decode/pt/time/time_estimator.h"

namespace flowback::pt {

// T is U, or a constant U.
template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// ---- structures whose parts are all there is to them ----

template <Is<FlowDigest> T, class Use>
void Parts(T& of, Use use) {
  auto& [count, hash] = of;
  use(count, hash);
}
template <Is<TscInterval> T, class Use>
void Parts(T& of, Use use) {
  auto& [lo, hi] = of;
  use(lo, hi);
}
template <Is<TimeMark> T, class Use>
void Parts(T& of, Use use) {
  auto& [kind, in_doubt, tsc, lo, hi, cycles, ratio, late, doubts] = of;
  use(kind, in_doubt, tsc, lo, hi, cycles, ratio, late, doubts);
}
template <Is<TimeLine> T, class Use>
void Parts(T& of, Use use) {
  auto& [begin, end, ahead, pace, pauses, earliest, latest] = of;
  use(begin, end, ahead, pace, pauses, earliest, latest);
}
template <Is<CycleMark> T, class Use>
void Parts(T& of, Use use) {
  auto& [value] = of;
  use(value);
}
template <Is<TimedPart> T, class Use>
void Parts(T& of, Use use) {
  auto& [end, bounds, last_lo, line, cycles] = of;
  use(end, bounds, last_lo, line, cycles);
}
template <Is<TraceEvent> T, class Use>
void Parts(T& of, Use use) {
  auto& [kind, offset, tsc, bounds, ip, target, value, extra, has_ip, cycles, stay] = of;
  use(kind, offset, tsc, bounds, ip, target, value, extra, has_ip, cycles, stay);
}
template <Is<ByteAccount> T, class Use>
void Parts(T& of, Use use) {
  auto& [decoded, padding, lost] = of;
  use(decoded, padding, lost);
}
template <Is<ModeExec> T, class Use>
void Parts(T& of, Use use) {
  auto& [cs_l, cs_d, iflag] = of;
  use(cs_l, cs_d, iflag);
}
template <Is<PebsState> T, class Use>
void Parts(T& of, Use use) {
  auto& [item_bytes] = of;
  use(item_bytes);
}
template <Is<PacketCompound::Waiting> T, class Use>
void Parts(T& of, Use use) {
  auto& [event, must_reach, takes_fup, abort, transaction, in_transaction] = of;
  use(event, must_reach, takes_fup, abort, transaction, in_transaction);
}
template <Is<PacketCompound::Transfer> T, class Use>
void Parts(T& of, Use use) {
  auto& [from, aborts, events] = of;
  use(from, aborts, events);
}
template <Is<CountedFlow> T, class Use>
void Parts(T& of, Use use) {
  auto& [known, proves, count, retired] = of;
  use(known, proves, count, retired);
}
template <Is<FlowState::Failure> T, class Use>
void Parts(T& of, Use use) {
  auto& [cause, detail] = of;
  use(cause, detail);
}
template <Is<CodeView::Place> T, class Use>
void Parts(T& of, Use use) {
  auto& [history, epoch] = of;
  use(history, epoch);
}
template <Is<TimeMarks::Mark> T, class Use>
void Parts(T& of, Use use) {
  auto& [tsc, lo, hi, cycles, all_cycles, kind, in_doubt, ratio] = of;
  use(tsc, lo, hi, cycles, all_cycles, kind, in_doubt, ratio);
}
template <Is<TimeCourse::Point> T, class Use>
void Parts(T& of, Use use) {
  auto& [count, mark, starts] = of;
  use(count, mark, starts);
}
template <Is<EstimatorState::LastCycles> T, class Use>
void Parts(T& of, Use use) {
  auto& [since, all, count, stay] = of;
  use(since, all, count, stay);
}
template <Is<EstimatorState::Piece> T, class Use>
void Parts(T& of, Use use) {
  auto& [kind, starts, blocks, instructions, count, lo, hi, last_lo] = of;
  use(kind, starts, blocks, instructions, count, lo, hi, last_lo);
}
// Where its steps begin in the buffer is not written: they are written in order (PutSteps).
template <Is<BlockStretch> T, class Use>
void Parts(T& of, Use use) {
  auto& [graph, begin, count, next, before, behind, tsc, in_transaction, goes_on, stay] = of;
  use(graph, count, next, before, behind, tsc, in_transaction, goes_on, stay);
}
template <Is<BatchWriter::State> T, class Use>
void Parts(T&, Use) {}
// Both sinks that a reader has; their states have the same members.
template <class T, class Use>
  requires Is<T, BatchedSink::State> || Is<T, BatchedTimedSink::State>
void Parts(T& of, Use use) {
  auto& [open, stay] = of;
  use(open, stay);
}
// FlowEngine::Carry of an engine with any sink.
template <class T, class Use>
  requires requires(T of) { of.state, of.ip, of.place; }
void Parts(T& of, Use use) {
  auto& [state, ip, place] = of;
  use(state, ip, place);
}
template <Is<Clock> T, class Use>
void Parts(T& of, Use use) {
  Clock::Parts(of, use);
}
template <class T, class Use>
  requires Is<T, LossAccount> || Is<T, LossState> || Is<T, PacketCompound> || Is<T, HeldOutcomes> ||
           Is<T, StreamParts> || Is<T, ExecutionMode> || Is<T, flow::ProgramChange> ||
           Is<T, TimeMarks> || Is<T, TimeCourse>
void Parts(T& of, Use use) {
  std::remove_const_t<T>::Parts(of, use);
}
// A kept state has no graph, no node and no call's node: FlowEngine::Save.
template <Is<FlowState> T, class Use>
void Parts(T& of, Use use) {
  auto& [pos, end, hot_end, parts, packet, pebs, last_ip, clock, account, behind_last_psb, counted,
         state, graph, cur, returns, calls_lost, held, cycles_told, mode, in_transaction, compound,
         hot_packet, hot_bits, hot_count, hot_ip, failure, loss_state, program] = of;
  use(pos, end, hot_end, parts, packet, pebs, last_ip, clock, account, behind_last_psb, counted,
      state, returns, calls_lost, held, cycles_told, mode, in_transaction, compound, hot_packet,
      hot_bits, hot_count, hot_ip, failure, loss_state, program);
}

// ---- writing and reading ----

template <class T>
concept Plain = std::integral<T> || std::is_enum_v<T>;

template <class Archive, class T>
void Put(Archive& archive, T& part);

template <class Archive, class T>
void PutItems(Archive& archive, T& items) {
  if constexpr (Archive::kReads) {
    items = T();
    for (size_t left = archive.Count(); left != 0 && archive.ok(); --left) {
      typename T::value_type item{};
      Put(archive, item);
      items.push_back(item);
    }
  } else {
    archive.Number(items.size());
    for (size_t i = 0; i < items.size(); ++i) Put(archive, items[i]);
  }
}

template <class Archive, class T>
void PutOptional(Archive& archive, T& of) {
  if constexpr (Archive::kReads) {
    if (archive.Number() == 0) return of.reset();
    typename T::value_type value{};
    Put(archive, value);
    of = value;
  } else {
    archive.Number(of.has_value());
    if (of) Put(archive, *of);
  }
}

template <class Archive, class T>
void PutPlain(Archive& archive, T& number) {
  if constexpr (Archive::kReads)
    number = static_cast<T>(archive.Number());
  else
    archive.Number(static_cast<uint64_t>(number));
}

template <class Archive, class T>
void PutDouble(Archive& archive, T& number) {
  if constexpr (Archive::kReads)
    number = std::bit_cast<double>(archive.Word());
  else
    archive.Word(std::bit_cast<uint64_t>(number));
}

// ---- what needs more than its parts ----

template <class Archive, class T>
void PutLastIp(Archive& archive, T& last) {
  if constexpr (Archive::kReads) {
    last = {};
    last.Set(archive.Number());
    if (archive.Number() != 0) last.Doubt();
  } else {
    archive.Number(last.value());
    archive.Number(last.in_doubt());
  }
}

// The calls' return addresses, the oldest first.
template <class Archive, class T>
void PutReturns(Archive& archive, T& returns) {
  if constexpr (Archive::kReads) {
    returns = {};
    for (size_t left = archive.Count(); left != 0; --left) returns.PushAddress(archive.Number());
  } else {
    archive.Number(returns.size());
    for (unsigned i = returns.size(); i-- != 0;) archive.Number(returns.AddressAt(i));
  }
}

// The address is the place for which the section was looked up.
template <class Archive, class T>
void PutLoss(Archive& archive, T& loss) {
  auto& [cause, begin, end, tsc, bounds, end_tsc, end_bounds, last_ip, detail, stay, code, count,
         between, after] = loss;
  const auto put = [&archive](auto&... parts) { (Put(archive, parts), ...); };
  put(cause, begin, end, tsc, bounds, end_tsc, end_bounds, last_ip, detail, stay, count, between,
      after);
  if constexpr (Archive::kReads)
    archive.Section(code, last_ip);
  else
    archive.Pointer(code, last_ip);
}

// Its lengths are those of the block that begins at its address, the first of them. Intel PT has no
// facts about its branch.
template <class Archive, class T>
void PutRun(Archive& archive, T& run) {
  auto& [address, lengths, next, tsc, first_tsc, bounds, last_lo, exit, last, mode, in_transaction,
         branch, cycles, space, stay] = run;
  const auto put = [&archive](auto&... parts) { (Put(archive, parts), ...); };
  put(address, next, tsc, first_tsc, bounds, last_lo, exit, last, mode, in_transaction, cycles,
      stay);
  if constexpr (Archive::kReads) {
    archive.Lengths(run);
  } else {
    archive.Pointer(space);
    archive.Number(lengths.size());
  }
}

// Steps are numbers of nodes in memory, so addresses take their place: each by how far it lies from
// the one before.
inline void PutSteps(StateWriter& archive, const StepBuffer& steps, const BlockStretch& stretch) {
  uint64_t before = 0;
  for (const BlockStep step : steps.Steps(stretch.begin, stretch.count)) {
    const uint64_t address = stretch.graph->info(step.number()).address;
    archive.Distance(before, address);
    archive.Number(step.taken());
    before = address;
  }
}
// The code may be another one now: then the blocks there are not those that were executed.
inline void PutSteps(StateReader& archive, StepBuffer& steps, BlockStretch& stretch) {
  stretch.begin = steps.position();
  if (stretch.graph == nullptr) return archive.Fail();
  uint64_t address = 0;
  FlowDigest flow = stretch.before;
  for (size_t left = stretch.count; left != 0 && archive.ok(); --left) {
    address = archive.Distance(address);
    const uint32_t number = stretch.graph->NodeAt(address);
    const Node& node = stretch.graph->node(number);
    flow.Append({node.count, node.hash});
    if (steps.end() >= steps.limit()) steps.MakeRoom();
    steps.Add(BlockStep::Of(number, archive.Number() != 0), node.count);
  }
  if (flow != stretch.behind) archive.Fail();
}

// The steps of batch and stretches, in their order: there are no others.
template <class Archive, class T>
void PutEstimator(Archive& archive, T& of) {
  auto& [marks, settled, written, placed, unplaced, unplaced_count, exact, tracing, has_cyc, course,
         pieces, waiting, blocks, stretches, steps, events, losses, count, batch, batch_begin,
         stretch_left, times, loss_begin, loss_begin_bounds, lo_floor, tsc_floor, done, untold,
         overfull, last_cycles] = of;
  const auto put = [&archive](auto&... parts) { (Put(archive, parts), ...); };
  put(marks, settled, written, placed, unplaced, unplaced_count, exact, tracing, has_cyc, course,
      pieces, waiting, blocks, stretches, events, losses, count, batch.count, batch_begin,
      stretch_left, times, loss_begin, loss_begin_bounds, lo_floor, tsc_floor, done, untold,
      overfull, last_cycles);
  if (batch.count != 0) {
    put(batch);
    PutSteps(archive, steps, batch);
  }
  for (size_t i = 0; i < stretches.size(); ++i) PutSteps(archive, steps, stretches[i]);
}

template <class Archive, class T>
void Put(Archive& archive, T& part) {
  using Type = std::remove_const_t<T>;
  if constexpr (Plain<Type>) {
    PutPlain(archive, part);
  } else if constexpr (std::same_as<Type, double>) {
    PutDouble(archive, part);
  } else if constexpr (std::is_pointer_v<Type>) {
    archive.Pointer(part);
  } else if constexpr (std::same_as<Type, LastIp>) {
    PutLastIp(archive, part);
  } else if constexpr (std::same_as<Type, ReturnStack>) {
    PutReturns(archive, part);
  } else if constexpr (std::same_as<Type, DataLoss>) {
    PutLoss(archive, part);
  } else if constexpr (std::same_as<Type, BlockRun>) {
    PutRun(archive, part);
  } else if constexpr (std::same_as<Type, EstimatorState>) {
    PutEstimator(archive, part);
  } else if constexpr (requires { part.has_value(); }) {
    PutOptional(archive, part);
  } else if constexpr (requires { part.size(), part.empty(); }) {
    PutItems(archive, part);
  } else {
    Parts(part, [&archive](auto&... parts) { (Put(archive, parts), ...); });
  }
}

}  // namespace flowback::pt
