// SPDX-License-Identifier: MIT
#include "decode/schedule/lost_programs.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "decode/code/forget_program.h"
#include "decode/system_call.h"

namespace flowback {
namespace {

// From one moment to another in perf's nanoseconds, both included.
struct Span {
  uint64_t begin = 0;
  uint64_t end = ~uint64_t{0};

  bool Contains(uint64_t time) const { return time >= begin && time <= end; }
  bool Overlaps(const Span& other) const { return begin <= other.end && other.begin <= end; }
};

const SidebandBase& BaseOf(const SidebandRecord& record) {
  return std::visit([](const auto& one) -> const SidebandBase& { return one; }, record);
}

// When records of each CPU were lost. A loss may have begun right after the CPU's record before the
// LOST record.
std::map<int32_t, std::vector<Span>> LostSpans(const Recording& recording) {
  std::map<int32_t, std::vector<Span>> spans;
  std::map<int32_t, uint64_t> last;  // time of a CPU's latest record
  for (const SidebandRecord& record : recording.sideband) {
    const SidebandBase& base = BaseOf(record);
    const auto* lost = std::get_if<LostRecord>(&record);
    if (lost != nullptr && !lost->samples) {
      std::vector<Span>& of_cpu = spans[base.cpu];
      const Span span{last[base.cpu], base.time == 0 ? ~uint64_t{0} : base.time};
      if (!of_cpu.empty() && of_cpu.back().end >= span.begin)
        of_cpu.back().end = std::max(of_cpu.back().end, span.end);
      else
        of_cpu.push_back(span);
    }
    if (base.time != 0) last[base.cpu] = base.time;
  }
  return spans;
}

// A buffer of one thread has the trace of any CPU, and some records do not name theirs: then the
// losses of all CPUs count.
std::vector<Span> SpansOf(const Stream& stream, const std::map<int32_t, std::vector<Span>>& spans) {
  std::vector<Span> result;
  for (const auto& [cpu, of_cpu] : spans)
    if (cpu == stream.cpu || cpu < 0 || stream.cpu < 0 || stream.tid >= 0)
      result.insert(result.end(), of_cpu.begin(), of_cpu.end());
  std::ranges::sort(result, {}, &Span::begin);
  return result;
}

// The parts of the stream whose times lie in the spans. Ranges that overlap are joined to one.
std::vector<StreamRange> RangesOf(const Stream& stream, const std::vector<Span>& spans,
                                  const TraceSource& source, const TimeConversion& time) {
  if (!time.known()) return {{.begin = 0, .end = stream.bytes.size()}};
  std::vector<StreamRange> ranges;
  for (const Span& span : spans) {
    const auto too_early = [&](uint64_t tsc) { return time.ToNanoseconds(tsc) < span.begin; };
    const auto too_late = [&](uint64_t tsc) { return time.ToNanoseconds(tsc) > span.end; };
    const StreamRange range = RangeOfTimes(source, stream, too_early, too_late, kRunUp);
    if (!ranges.empty() && ranges.back().end >= range.begin)
      ranges.back().end = std::max(ranges.back().end, range.end);
    else
      ranges.push_back(range);
  }
  return ranges;
}

// A thread left the recorded program, or may have left it. There are two signs: a system call that
// may have been an execve and behind which the thread did not go on, and code that executed without
// a record.
struct Departure {
  const ThreadStay* stay = nullptr;  // whose the flow is
  uint64_t known = 0;                // the latest time when the flow went on; 0: none yet
  uint64_t earliest = 0;             // tsc; 0: not known
  uint64_t latest = 0;               // the same
};

class Departures final : public ExecutionConsumer {
 public:
  explicit Departures(uint64_t end) : end_(end) {}

  void OnBlock(const BlockRun& run) override {
    Pass(run.tsc);
    call_.reset();
    if (run.exit != BlockExit::kStopped || !EndsInSystemCall(run)) return;
    call_ = Call{.behind = run.LastAddress() + run.lengths.back(),
                 .number = SystemCallOf(run),
                 .space = run.space,
                 .tsc = run.tsc};
  }
  void OnEvent(const TraceEvent& event) override {
    Pass(event.tsc);
    if (event.kind == EventKind::kStarted && call_ && event.has_ip && MayBeProgram(event.ip))
      found_.push_back({.stay = event.stay, .known = event.tsc, .earliest = call_->tsc});
    if (event.kind == EventKind::kStarted || event.kind == EventKind::kOverflow) call_.reset();
    past_end_ = event.offset >= end_;
  }
  void OnLoss(const DataLoss& loss) override {
    Pass(loss.tsc);
    call_.reset();
    if (IsOfUntoldCode(loss) && (found_.empty() || found_.back().known != loss.tsc))
      found_.push_back({.stay = loss.stay, .known = loss.tsc, .earliest = loss.tsc});
    past_end_ = loss.begin >= end_;
  }
  bool Done() const override { return past_end_; }

  std::vector<Departure> Take() { return std::move(found_); }

 private:
  struct Call {
    uint64_t behind = 0;
    std::optional<SystemCall> number;
    const AddressSpace* space = nullptr;
    uint64_t tsc = 0;
  };

  // Code executed that no record maps, and nothing explains why: the records of its mapping are
  // missing.
  static bool IsOfUntoldCode(const DataLoss& loss) {
    return loss.cause == LossCause::kNoImage && loss.code == nullptr && loss.last_ip >> 63 == 0;
  }
  // A system call that is interrupted by a signal does not go on behind itself either. Where the
  // call's number is not known, flow that goes on within the process's code is taken for a signal's
  // handler, and elsewhere for a new program.
  bool MayBeProgram(uint64_t ip) const {
    if (ip == call_->behind) return false;
    if (call_->number) return call_->number->IsOneOf({LinuxCall::kExecve, LinuxCall::kExecveat});
    return call_->space == nullptr || call_->space->Find(ip) == nullptr;
  }
  // The first time after a departure is its latest possible moment.
  void Pass(uint64_t tsc) {
    for (; timed_ < found_.size() && found_[timed_].known < tsc; ++timed_)
      found_[timed_].latest = tsc;
  }

  uint64_t end_;
  std::optional<Call> call_;  // the flow stands behind it
  std::vector<Departure> found_;
  size_t timed_ = 0;  // those whose latest time is known
  bool past_end_ = false;
};

class Finder {
 public:
  Finder(const Recording& recording, const RecordingCode& code)
      : recording_(recording), code_(code) {
    for (const SidebandRecord& record : recording.sideband) {
      const SidebandBase& base = BaseOf(record);
      if (base.pid >= 0) pids_.push_back(base.pid);
      if (const auto* name = std::get_if<CommRecord>(&record); name != nullptr && name->exec)
        execs_[name->pid].push_back(name->time);
    }
    std::ranges::sort(pids_);
    pids_.erase(std::ranges::unique(pids_).begin(), pids_.end());
  }

  void Add(const Departure& departure, const std::vector<Span>& spans) {
    const Span when = WhenOf(departure);
    if (std::ranges::none_of(spans, [&](const Span& span) { return span.Overlaps(when); })) return;
    for (const int32_t pid : ProcessesOf(departure.stay))
      // The decoder chooses code by the time that it knows, so the change must not come later.
      if (!IsTold(pid, when))
        found_.push_back(
            {.pid = pid, .earliest = Nanoseconds(departure.known, 0), .latest = when.end});
  }

  std::map<int32_t, RecordingCode::History> Take() const {
    return ForgetPrograms(recording_, code_, found_);
  }

 private:
  uint64_t Nanoseconds(uint64_t tsc, uint64_t unknown) const {
    const TimeConversion& time = recording_.time;
    return tsc == 0 || !time.known() ? unknown : time.ToNanoseconds(tsc);
  }
  Span WhenOf(const Departure& departure) const {
    return {Nanoseconds(departure.earliest, 0), Nanoseconds(departure.latest, ~uint64_t{0})};
  }
  bool IsTold(int32_t pid, const Span& when) const {
    const auto found = execs_.find(pid);
    return found != execs_.end() &&
           std::ranges::any_of(found->second, [&](uint64_t time) { return when.Contains(time); });
  }
  // The threads that may have made the flow. Where it is not known whose it is, these are all those
  // with whose code it was read.
  std::vector<int32_t> ProcessesOf(const ThreadStay* stay) const {
    if (stay == nullptr) return {};
    if (stay->pid >= 0) return {stay->pid};
    std::vector<int32_t> with_its_code;
    for (const int32_t pid : pids_)
      if (code_.OfProcess(pid) == stay->code) with_its_code.push_back(pid);
    return with_its_code;
  }

  const Recording& recording_;
  const RecordingCode& code_;
  std::vector<int32_t> pids_;
  std::map<int32_t, std::vector<uint64_t>> execs_;  // in the records
  std::vector<LostProgram> found_;
};

}  // namespace

std::map<int32_t, RecordingCode::History> FindLostPrograms(const Recording& recording,
                                                           const RecordingCode& code,
                                                           const TraceSource& source,
                                                           const std::vector<DecodeInput>& inputs) {
  const std::map<int32_t, std::vector<Span>> lost = LostSpans(recording);
  if (lost.empty()) return {};
  const Result<std::unique_ptr<Decoder>> decoder = source.MakeDecoder("");
  if (!decoder) return {};
  Finder finder(recording, code);
  for (const Stream& stream : recording.streams) {
    const std::vector<Span> spans = SpansOf(stream, lost);
    if (spans.empty()) continue;
    for (const StreamRange& range : RangesOf(stream, spans, source, recording.time)) {
      DecodeInput input = inputs[stream.index];
      input.from = range.begin;
      input.resync = Resync::kEarliest;  // to see as much as possible
      Departures departures(range.end);
      // A failure is left to the later decoding, which fails as well and says why.
      if (!(*decoder)->Decode(input, departures)) continue;
      for (const Departure& departure : departures.Take()) finder.Add(departure, spans);
    }
  }
  return finder.Take();
}

}  // namespace flowback
