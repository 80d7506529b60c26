// SPDX-License-Identifier: MIT
#include "tests/judge/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>

#include "tests/support/flow_consumers.h"

namespace flowback::judge {
namespace {

constexpr size_t kMostWords = 3;
constexpr size_t kMostShown = 100;

class Recorder final : public ExecutionConsumer {
 public:
  // `parts` of them; `labels` may be null where that is none.
  Recorder(ToldFlow& flow, const Labels* labels, size_t parts) : flow_(flow), labels_(labels) {
    flow_.parts.assign(parts, ~uint64_t{0});
    flow_.stretches.emplace_back();
  }

  void OnBlock(const BlockRun& run) override {
    if (labels_ != nullptr) {
      uint64_t& part = flow_.parts[labels_->PartOf(run.stay)];
      part = std::min<uint64_t>(part, flow_.ips.size());
    }
    AddStay(labels_ == nullptr ? run.stay : labels_->SourceOf(run.stay), flow_.ips.size(),
            flow_.stays);
    See(run.stay, {run.bounds.lo, std::max(run.tsc, run.bounds.hi)});
    AddTimes(run, flow_.ips.size(), flow_.times);
    AddMode(run, flow_.ips.size(), flow_.modes);
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      flow_.ips.push_back(ip);
      flow_.digest.Append(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent& event) override {
    See(event.stay, {event.tsc, std::max(event.bounds.lo, event.bounds.hi)});
  }
  void OnLoss(const DataLoss& loss) override {
    See(loss.stay,
        {std::max(loss.tsc, loss.bounds.hi), std::max(loss.end_tsc, loss.end_bounds.hi)});
    flow_.stretches.back().end = loss.begin;
    flow_.losses.push_back(loss);
    flow_.losses.back().after = flow_.ips.size();
    flow_.stretches.push_back(
        {.first = flow_.ips.size(), .begin = loss.end, .end = 0, .after = loss.cause});
  }

  void Finish(uint64_t size) {
    flow_.stretches.back().end = size;
    uint64_t next = flow_.ips.size();
    for (size_t i = flow_.parts.size(); i-- > 0; next = flow_.parts[i])
      flow_.parts[i] = std::min(flow_.parts[i], next);
  }

 private:
  void See(const ThreadStay* stay, const TscInterval& time) {
    if (labels_ == nullptr) return;
    if (stay != nullptr && labels_->PartOf(stay) + 1 == flow_.parts.size()) return;
    flow_.latest_in_doubt = std::max({flow_.latest_in_doubt, time.lo, time.hi});
  }

  ToldFlow& flow_;
  const Labels* labels_;
};

// Instructions of the decoded flow with one requirement.
struct Segment {
  uint64_t first = 0;
  uint64_t end = 0;
  uint64_t place = 0;       // in the true flow, where its packets say
  bool at_stretch = false;  // it begins with a stretch, behind a loss
  uint64_t begin = 0;       // offset of the packet that says so, in the true stream
  bool demanded = true;
  uint64_t most = ~uint64_t{0};   // place up to which it is true where nothing is demanded
  uint64_t timed = ~uint64_t{0};  // so many of its instructions must have true times
  // Times up to this one were in doubt; later flow does not have earlier times.
  uint64_t time_in_doubt = 0;
};

class Judge {
 public:
  Judge(const TrueFlow& truth, const ToldFlow& told, const Damage* damage, const std::string& what)
      : truth_(truth), told_(told), what_(what) {
    if (damage != nullptr) damage_ = *damage;
  }

  Findings Run() {
    findings_.cuts = 1;
    for (size_t i = 0; i < told_.stretches.size(); ++i) JudgeStretch(i);
    return std::move(findings_);
  }

 private:
  uint64_t EndOf(size_t stretch) const {
    return stretch + 1 < told_.stretches.size() ? told_.stretches[stretch + 1].first
                                                : told_.ips.size();
  }

  void JudgeStretch(size_t number) {
    const ToldFlow::Stretch& stretch = told_.stretches[number];
    const uint64_t end = EndOf(number);
    if (!damage_.silent) {
      Look(number, SegmentOf(number, stretch.first, end));
      return;
    }
    const uint64_t doubt = std::clamp(told_.parts[1], stretch.first, end);
    const uint64_t behind = std::clamp(told_.parts[2], stretch.first, end);
    Segment before = SegmentOf(number, stretch.first, doubt);
    // Later packets bound times, too: in doubt are those behind the last TSC.
    const uint64_t certain = truth_.ToldBefore(last_tsc_);
    before.timed = certain - std::min(certain, before.place);
    Look(number, before);
    Segment between = SegmentOf(number, doubt, behind);
    between.timed = 0;
    between.demanded = number != 0 && stretch.begin >= damage_.begin + damage_.inserted &&
                       truth_.IsPacket(damage_.TrueOffset(stretch.begin)) &&
                       ModeAt(told_.modes, between.first) == ModeAt(truth_.modes, between.place);
    // What goes on from before may be true all the same.
    if (before.end != before.first) between.place = told_up_to_;
    between.most = truth_.ToldBefore(damage_.TrueOffset(std::min(stretch.end, behind_offset_)));
    Look(number, between);
    Segment rest = SegmentOf(number, behind, end);
    if (stretch.begin < behind_offset_) {
      rest.place = truth_.ToldBefore(damage_.TrueOffset(behind_offset_));
      rest.at_stretch = false;
    }
    rest.time_in_doubt = told_.latest_in_doubt;
    Look(number, rest);
  }

  // As its packets say, where it begins with the stretch.
  Segment SegmentOf(size_t number, uint64_t first, uint64_t end) const {
    const ToldFlow::Stretch& stretch = told_.stretches[number];
    const uint64_t begin = damage_.TrueOffset(stretch.begin);
    Segment segment{.first = first, .end = end};
    segment.place = number == 0 ? 0 : truth_.ToldThrough(begin);
    segment.begin = begin;
    segment.at_stretch = number != 0;
    return segment;
  }

  bool Fits(const Segment& segment, uint64_t place) const {
    const uint64_t count = segment.end - segment.first;
    if (place < told_up_to_ || place + count > truth_.ips.size()) return false;
    return std::equal(told_.ips.begin() + static_cast<ptrdiff_t>(segment.first),
                      told_.ips.begin() + static_cast<ptrdiff_t>(segment.end),
                      truth_.ips.begin() + static_cast<ptrdiff_t>(place));
  }

  // In a loop a FUP may fit behind one turn and behind the next: then times say which it is.
  std::optional<uint64_t> PlaceOf(size_t number, const Segment& segment) const {
    std::vector<uint64_t> places = {segment.place};
    if (segment.at_stretch) {
      const std::vector<uint64_t> others = truth_.PlacesAt(segment.begin);
      places.insert(places.end(), others.begin(), others.end());
    }
    std::erase_if(places, [&](uint64_t place) { return !Fits(segment, place); });
    if (places.size() == 1) return places.front();
    for (const uint64_t place : places)
      if (TimesAt(number, segment, place).wrong.empty()) return place;
    return places.empty() ? std::nullopt : std::optional(places.front());
  }

  void Look(size_t number, const Segment& segment) {
    const uint64_t count = segment.end - segment.first;
    if (count == 0) return;
    const std::optional<uint64_t> place = PlaceOf(number, segment);
    const bool within = place && *place + count <= segment.most;
    if (!within && !segment.demanded) {
      ++findings_.excused_stretches;
      findings_.excused_instructions += count;
      return;
    }
    if (!place && BeginsWithDeferred(segment)) {
      ++findings_.deferred_stretches;
      findings_.deferred_instructions += count;
      return;
    }
    if (!place) return Wrong(number, segment);
    told_up_to_ = *place + count;
    ++findings_.stretches;
    findings_.placed.push_back({segment.first, segment.end, *place});
    findings_.instructions += count;
    JudgeTimes(number, segment, *place);
  }

  bool BeginsWithDeferred(const Segment& segment) const {
    if (!truth_.deferred_tips || !segment.at_stretch || !truth_.IsPacket(segment.begin))
      return false;
    return truth_.packets[truth_.PacketAt(segment.begin)].tip;
  }

  static bool Meet(const TscInterval& a, const TscInterval& b) {
    if (a.lo != 0 && b.hi != 0 && a.lo > b.hi) return false;
    return a.hi == 0 || b.lo == 0 || a.hi >= b.lo;
  }

  static size_t RunAt(const std::vector<TimeRun>& times, uint64_t index) {
    const auto next = std::ranges::upper_bound(times, index, {}, &TimeRun::first);
    return next == times.begin() ? 0 : static_cast<size_t>(next - times.begin()) - 1;
  }

  struct TimeVerdict {
    uint64_t times = 0;  // runs of them that are true
    uint64_t excused = 0;
    std::string wrong;  // the first that is not; empty: none
  };

  void JudgeTimes(size_t number, const Segment& segment, uint64_t place) {
    TimeVerdict verdict = TimesAt(number, segment, place);
    findings_.times += verdict.times;
    findings_.excused_times += verdict.excused;
    if (verdict.wrong.empty()) return;
    ++findings_.wrong_times;
    Say(findings_.late, std::move(verdict.wrong));
  }

  TimeVerdict TimesAt(size_t number, const Segment& segment, uint64_t place) const {
    TimeVerdict verdict;
    if (told_.times.empty() || truth_.times.empty()) return verdict;
    const uint64_t timed_end = segment.first + std::min(segment.timed, segment.end - segment.first);
    size_t ours = RunAt(told_.times, segment.first);
    size_t theirs = RunAt(truth_.times, place);
    auto known = std::ranges::lower_bound(truth_.known, place, {}, &KnownTime::index);
    for (uint64_t at = segment.first; at < timed_end;) {
      const TscInterval& told = told_.times[ours].bounds;
      const TscInterval& truth = truth_.times[theirs].bounds;
      const bool excused = segment.time_in_doubt != 0 && truth.lo <= segment.time_in_doubt;
      ++(excused ? verdict.excused : verdict.times);
      const auto wrong_at = [&](uint64_t index, const TscInterval& true_time) {
        verdict.wrong = WrongTime(number, segment, index, told, true_time);
        return verdict;
      };
      if (!excused && !Meet(told, truth)) return wrong_at(at, truth);
      const auto end_of = [](const std::vector<TimeRun>& times, size_t run) {
        return run + 1 < times.size() ? times[run + 1].first : ~uint64_t{0};
      };
      const uint64_t our_end = end_of(told_.times, ours);
      const uint64_t their_end = end_of(truth_.times, theirs);
      const uint64_t their_length = their_end == ~uint64_t{0} ? their_end : their_end - place;
      const uint64_t next =
          std::min({timed_end, our_end,
                    their_length == ~uint64_t{0} ? their_length : segment.first + their_length});
      for (; known != truth_.known.end() && known->index - place < next - segment.first; ++known) {
        const TscInterval exact{known->tsc, known->tsc};
        if (!excused && !Meet(told, exact))
          return wrong_at(segment.first + (known->index - place), exact);
      }
      at = next;
      if (at == our_end) ++ours;
      if (their_length != ~uint64_t{0} && at == segment.first + their_length) ++theirs;
    }
    return verdict;
  }

  std::string Where(size_t number, const Segment& segment) const {
    const ToldFlow::Stretch& stretch = told_.stretches[number];
    char text[320];
    std::snprintf(text, sizeof(text),
                  "%s: stretch %zu after %s, bytes [%" PRIu64 ", %" PRIu64
                  ") of the input, instructions [%" PRIu64 ", %" PRIu64 ") from %" PRIx64
                  ", place %" PRIu64 " of the truth, which is told up to %" PRIu64,
                  what_.c_str(), number, number == 0 ? "nothing" : Name(stretch.after),
                  stretch.begin, stretch.end, segment.first, segment.end, told_.ips[segment.first],
                  segment.place, told_up_to_);
    return text;
  }

  static void Say(std::vector<std::string>& list, std::string text) {
    if (list.size() < kMostWords) list.push_back(std::move(text));
  }

  std::string WrongTime(size_t number, const Segment& segment, uint64_t at, const TscInterval& told,
                        const TscInterval& truth) const {
    char text[200];
    std::snprintf(text, sizeof(text),
                  ": instruction %" PRIu64 " has times [%" PRIu64 ", %" PRIu64
                  "], in truth [%" PRIu64 ", %" PRIu64 "]",
                  at, told.lo, told.hi, truth.lo, truth.hi);
    return Where(number, segment) + text;
  }

  // Prints the flow from the first false instruction on, at the place that fits best.
  void Wrong(size_t number, const Segment& segment) {
    const auto common = [&](uint64_t place) {
      uint64_t same = 0;
      while (segment.first + same < segment.end && place + same < truth_.ips.size() &&
             told_.ips[segment.first + same] == truth_.ips[place + same])
        ++same;
      return same;
    };
    const uint64_t best = segment.place;
    const uint64_t same = common(best);
    ++findings_.wrong_stretches;
    findings_.wrong_instructions += segment.end - segment.first - same;
    char text[160];
    const uint64_t first = segment.first + same;
    std::snprintf(text, sizeof(text),
                  ": after %" PRIu64 " true ones %" PRIu64 " are not: %" PRIx64
                  ", in truth %" PRIx64,
                  same, segment.end - first, first < segment.end ? told_.ips[first] : 0,
                  best + same < truth_.ips.size() ? truth_.ips[best + same] : 0);
    Say(findings_.wrong, Where(number, segment) + text);
  }

 public:
  uint64_t last_tsc_ = 0;       // in the true stream: of the last TSC ahead of the damage
  uint64_t behind_offset_ = 0;  // of the input: where the flow must be true again

 private:
  const TrueFlow& truth_;
  const ToldFlow& told_;
  const std::string& what_;
  Damage damage_;
  uint64_t told_up_to_ = 0;
  Findings findings_;
};

// Where doubt begins and ends, in the input's bytes.
struct Doubt {
  bool at_stretch = false;  // it begins with a stretch, behind a loss
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t last_tsc = 0;  // ahead of it, in the true stream
};

Doubt DoubtOf(const TrueFlow& truth, const Damage& damage, uint64_t size) {
  Doubt doubt{.begin = damage.begin, .end = size};
  for (const TrueFlow::Packet& packet : truth.packets) {
    // A PSB+ is read as a whole.
    const uint64_t end = std::max(packet.offset + packet.size, packet.header);
    const bool hit = packet.offset <= damage.begin && end > damage.begin;
    if (hit) doubt.begin = std::min(doubt.begin, packet.offset);
    if (packet.tsc && packet.offset < doubt.begin) doubt.last_tsc = packet.offset;
    if (packet.psb && packet.header != 0 && packet.offset >= damage.begin + damage.removed) {
      doubt.end = damage.DamagedOffset(packet.header);
      break;
    }
  }
  return doubt;
}

bool SameLosses(const std::vector<DataLoss>& a, const std::vector<DataLoss>& b) {
  return std::ranges::equal(a, b, [](const DataLoss& x, const DataLoss& y) {
    return x.cause == y.cause && x.begin == y.begin && x.end == y.end && x.last_ip == y.last_ip &&
           x.detail == y.detail;
  });
}

void ExpectSame(const ToldFlow& told, const FlowSummary& sum, const char* way) {
  EXPECT_EQ(sum.digest.count, told.digest.count) << way;
  EXPECT_EQ(sum.digest.hash, told.digest.hash) << way;
  FlowTotals kept;  // sums keep many losses as one
  for (const DataLoss& loss : told.losses) kept.AddLoss(loss);
  EXPECT_TRUE(SameLosses(sum.losses, kept.losses)) << way;
}

// The same without times, summed up, and summed up by two threads.
void ExpectOneAnswer(Decoder& decoder, DecodeInput input, const ToldFlow& told) {
  input.times = false;
  FlowDigester listed;
  ASSERT_TRUE(decoder.Decode(input, listed));
  EXPECT_EQ(listed.digest(), told.digest) << "without times";
  EXPECT_TRUE(SameLosses(listed.losses(), told.losses)) << "without times";
  const Result<FlowSummary> serial = decoder.Summarize(input);
  ASSERT_TRUE(serial);
  ExpectSame(told, *serial, "summed up");
  EXPECT_EQ(serial->bytes_decoded + serial->bytes_padding + serial->bytes_lost, input.bytes.size());
  input.threads = 2;
  input.in_flight = 3;
  input.segment_bytes = 3000;
  const Result<FlowSummary> parallel = decoder.Summarize(input);
  ASSERT_TRUE(parallel);
  ExpectSame(told, *parallel, "summed up by two threads");
  EXPECT_TRUE(SameLosses(parallel->losses, serial->losses)) << "by one thread and by two";
}

}  // namespace

ToldFlow ToldFlowOf(Decoder& decoder, DecodeInput input, const std::vector<uint64_t>& parts) {
  ToldFlow flow;
  const Labels labels(input, parts);
  if (!parts.empty()) input.changes = labels.changes();
  input.times = true;
  Recorder recorder(flow, parts.empty() ? nullptr : &labels, parts.size());
  const Result<ByteAccount> account = decoder.Decode(input, recorder);
  if (!account) ADD_FAILURE() << account.error().message();
  recorder.Finish(input.bytes.size());
  return flow;
}

void Findings::Add(const Findings& other) {
  cuts += other.cuts;
  stretches += other.stretches;
  instructions += other.instructions;
  times += other.times;
  excused_stretches += other.excused_stretches;
  excused_instructions += other.excused_instructions;
  deferred_stretches += other.deferred_stretches;
  deferred_instructions += other.deferred_instructions;
  wrong_stretches += other.wrong_stretches;
  wrong_instructions += other.wrong_instructions;
  wrong_times += other.wrong_times;
  wrong_threads += other.wrong_threads;
  excused_times += other.excused_times;
  wrong.insert(wrong.end(), other.wrong.begin(), other.wrong.end());
  late.insert(late.end(), other.late.begin(), other.late.end());
}

std::string Findings::Text() const {
  char text[500];
  std::snprintf(
      text, sizeof(text),
      "cuts %" PRIu64 ", stretches %" PRIu64 ", instructions %" PRIu64 ", times %" PRIu64
      ", excused stretches %" PRIu64 ", excused instructions %" PRIu64 ", excused times %" PRIu64
      ", deferred stretches %" PRIu64 ", deferred instructions %" PRIu64
      ", wrong stretches %" PRIu64 ", wrong instructions %" PRIu64 ", wrong times %" PRIu64,
      cuts, stretches, instructions, times, excused_stretches, excused_instructions, excused_times,
      deferred_stretches, deferred_instructions, wrong_stretches, wrong_instructions, wrong_times);
  std::string all = text;
  if (wrong_threads != 0) all += ", wrong threads " + std::to_string(wrong_threads);
  for (const std::vector<std::string>* list : {&wrong, &late})
    for (size_t i = 0; i < std::min(list->size(), kMostShown); ++i) all += "\n  " + (*list)[i];
  return all;
}

Findings JudgeInput(Decoder& decoder, const TrueFlow& truth, const DecodeInput& input,
                    const Damage* damage, const std::string& what, ToldFlow* told) {
  Doubt doubt;
  std::vector<uint64_t> parts;
  if (damage != nullptr && damage->silent) {
    doubt = DoubtOf(truth, *damage, input.bytes.size());
    parts = {0, doubt.begin, doubt.end};
  }
  ToldFlow flow = ToldFlowOf(decoder, input, parts);
  Judge judge(truth, flow, damage, what);
  judge.behind_offset_ = doubt.end;
  judge.last_tsc_ = doubt.last_tsc;
  Findings findings = judge.Run();
  SCOPED_TRACE(what);
  ExpectOneAnswer(decoder, input, flow);
  if (told != nullptr) *told = std::move(flow);
  return findings;
}

}  // namespace flowback::judge
