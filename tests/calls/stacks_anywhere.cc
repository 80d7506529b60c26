// SPDX-License-Identifier: MIT
#include "tests/calls/stacks_anywhere.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flowback/decode/trace_source.h"
#include "flowback/replay/player.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/calls/kept_stacks.h"
#include "replay/calls/shadow_stack/stack_judge.h"
#include "replay/calls/stack_snapshots.h"
#include "tests/support/random.h"

namespace flowback::calls_test {
namespace {

using Kind = StackPlace::Kind;

auto Fields(const DataLoss& loss) {
  return std::tuple(loss.cause, loss.begin, loss.end, loss.tsc, loss.bounds.lo, loss.bounds.hi,
                    loss.end_tsc, loss.last_ip, loss.detail, loss.stay, loss.count, loss.after);
}
auto Fields(const StackFrame& frame) {
  return std::tuple(frame.address, frame.space, frame.entry_ip, frame.is_exact, frame.is_handler,
                    frame.is_guess);
}
auto Fields(const Call& call) {
  return std::tuple(call.entry_ip, call.site, call.return_address, call.resume, call.function,
                    call.tsc, call.bounds.lo, call.bounds.hi, call.instructions_before,
                    call.elsewhere_before, call.space, call.entry, call.via_stub, call.is_stub);
}

// `leaps`: what the calls executed is not known of those parts.
bool IsSame(const ThreadStack& a, const ThreadStack& b, bool leaps) {
  const auto fields = [](const ThreadStack& stack) {
    return std::tuple(stack.place.kind, stack.place.value, stack.instructions, stack.tsc,
                      stack.reached, stack.in_kernel, stack.stack, stack.outside,
                      Fields(stack.loss));
  };
  const auto same = [](const auto& x, const auto& y) { return Fields(x) == Fields(y); };
  return fields(a) == fields(b) && std::ranges::equal(a.frames, b.frames, same) &&
         std::ranges::equal(a.calls, b.calls, same) &&
         (leaps || std::ranges::equal(a.calls, b.calls, {}, &Call::self, &Call::self));
}

std::string TextOf(const ThreadStack& stack) {
  std::string text = std::to_string(stack.instructions) + " instructions, tsc " +
                     std::to_string(stack.tsc) + ", stack " + std::to_string(stack.stack) +
                     ", outside " + std::to_string(static_cast<int>(stack.outside)) +
                     (stack.reached ? "" : ", not reached") + (stack.in_kernel ? ", kernel" : "");
  for (const StackFrame& frame : stack.frames)
    text += "\n  " + std::to_string(frame.address) + (frame.is_guess ? " guess" : "");
  for (const Call& call : stack.calls)
    text += "\n  call " + std::to_string(call.entry_ip) + " tsc " + std::to_string(call.tsc) + " " +
            std::to_string(call.bounds.lo) + " " + std::to_string(call.bounds.hi) + " self " +
            std::to_string(call.self) + " before " + std::to_string(call.instructions_before);
  if (stack.outside == ThreadStack::Outside::kLost)
    text += "\n  loss " + std::to_string(static_cast<int>(stack.loss.cause)) + " " +
            std::to_string(stack.loss.begin) + " " + std::to_string(stack.loss.end) + " " +
            stack.loss.detail;
  return text;
}

// At random, and where shares begin.
std::vector<StackPlace> PlacesOf(const IndexedThread& thread, Kind kind, size_t count) {
  testing::Random random(thread.instructions + count);
  std::vector<StackPlace> places;
  const auto add = [&](uint64_t value) { places.push_back({.kind = kind, .value = value}); };
  const auto first = std::ranges::find_if(thread.shares, [](auto& s) { return s.first_tsc != 0; });
  const uint64_t begin = first == thread.shares.end() ? 0 : first->first_tsc;
  uint64_t end = begin;
  for (const FlowShare& share : thread.shares) end = std::max(end, share.last_tsc);
  for (size_t i = 0; i < count; ++i) {
    if (kind == Kind::kInstruction) add(random.Below(thread.instructions + 3));
    if (kind == Kind::kTime) add(begin + random.Below(end - begin + 10));
    if (thread.shares.empty()) continue;
    const FlowShare& share = thread.shares[random.Below(thread.shares.size())];
    const uint64_t border = kind == Kind::kInstruction ? share.first : share.first_tsc;
    if (border != 0) add(border + random.Below(3) - 1);
  }
  std::ranges::sort(places, {}, &StackPlace::value);
  return places;
}

// From its begin. A player decodes each stay of a shared stream from the sync point before it; its
// times may differ from the index's by what is estimated. So there it is the index's flow.
void Play(const ThreadFlow& flow, const IndexedThread& thread, FlowIndex& index, Player& player,
          StackSnapshots& taker) {
  if (std::ranges::all_of(flow.pieces, IsWholeStream)) {
    EXPECT_TRUE(player.Play({&flow}, taker));
    return;
  }
  FlowSegment segment;
  for (size_t i = 0; i < thread.shares.size() && !taker.Done(); ++i) {
    index.Load(thread.shares[i], segment);
    segment.Play(taker);
  }
  if (!taker.Done()) taker.OnThreadEnd(flow, 0);
}

}  // namespace

AnywhereSums ExpectStacksAnywhere(const Recording& recording, const StreamInputs& inputs,
                                  Decoder& decoder, const AnywhereOptions& options) {
  AnywhereSums sums;
  Symbolizer symbolizer({}, &recording);
  SymbolFunctions functions(symbolizer);
  StackJudge judge(functions);
  Result<FlowIndex> index = FlowIndex::Build(recording, inputs, decoder,
                                             {.times = true,
                                              .segment_bytes = options.segment_bytes,
                                              .calls = options.leaps ? &judge : nullptr});
  EXPECT_TRUE(index);
  if (!index) return sums;
  Player player(inputs, [&] { return inputs.source().MakeDecoder(""); }, {});
  const RecordingClock clock(recording);
  const std::vector<ThreadFlow> flows = ThreadFlows(recording, inputs);
  std::vector<const ThreadFlow*> all;
  for (const ThreadFlow& flow : flows) all.push_back(&flow);
  KeptStacks stacks({*index, functions, symbolizer}, options.cache,
                    options.leaps ? KeptStacks::kPart : 0);
  for (size_t i = 0; i < flows.size(); ++i) {
    SCOPED_TRACE("thread " + std::to_string(flows[i].tid));
    const IndexedThread& thread = index->threads()[i];
    const Result<ThreadOrigin> origin = OriginOf(flows[i], all, recording, functions, player);
    EXPECT_TRUE(origin);
    if (!origin) continue;
    const ExecTimes execs(recording, clock, flows[i].pid);
    const StackSnapshots::Options how{
        .exec_between = [&](uint64_t begin, uint64_t end) { return execs.Between(begin, end); },
        .keep_calls = true};
    stacks.Make(i, *origin, how);
    EXPECT_TRUE(stacks.Has(i));
    if (!stacks.Has(i)) continue;
    sums.shares += thread.shares.size();
    for (const Kind kind : {Kind::kInstruction, Kind::kTime, Kind::kEnd}) {
      std::vector<StackPlace> places = {{.kind = Kind::kEnd}};
      if (kind != Kind::kEnd) places = PlacesOf(thread, kind, options.places);
      for (const StackPlace& place : places) {
        StackSnapshots taker(functions, {place}, *origin, how);
        Play(flows[i], thread, *index, player, taker);
        const ThreadStack played = taker.Take().at(0);
        const ThreadStack kept = stacks.At(i, place, how);
        EXPECT_TRUE(IsSame(kept, played, options.leaps))
            << (kind == Kind::kInstruction ? "instruction " : "time ") << place.value
            << "\nplayed: " << TextOf(played) << "\nkept: " << TextOf(kept);
        ++sums.stacks;
        const auto& frames = kept.frames;
        sums.guesses += std::ranges::any_of(frames, &StackFrame::is_guess) ? 1 : 0;
        sums.found += frames.size() > kept.calls.size() ? 1 : 0;
        sums.lost += kept.outside == ThreadStack::Outside::kLost ? 1 : 0;
        if (::testing::Test::HasFailure()) return sums;
      }
    }
  }
  sums.kept = stacks.place_count();
  sums.passed_over = stacks.passed_over();
  return sums;
}

}  // namespace flowback::calls_test
