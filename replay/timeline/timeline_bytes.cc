// SPDX-License-Identifier: MIT
//
// What is told of each type is written once, for both ways: `Tell(io, value)` passes its members to
// a writer, which adds them to the bytes, or to a reader, which fills them in. So they can't
// disagree about the order.
#include "replay/timeline/timeline_bytes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/number_bytes.h"
#include "flowback/decode/code_image.h"
#include "replay/timeline/function_sums.h"

namespace flowback {
namespace {

constexpr uint64_t kCauses = 0
#define FLOWBACK_LOSS(name, kind, text, remedy) +1
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
    ;
constexpr uint64_t kClasses = std::size(kAllTimeClasses);
constexpr auto kEntries = static_cast<uint64_t>(CallEntry::kNewStack) + 1;
constexpr auto kExits = static_cast<uint64_t>(CallExit::kPaused) + 1;

class Writer {
 public:
  explicit Writer(const SpaceNames& spaces) : spaces_(spaces) {}

  template <class T>
  void Number(T number) {
    if constexpr (std::is_signed_v<T>)
      out_.Number(static_cast<std::make_unsigned_t<T>>(number));
    else
      out_.Number(static_cast<uint64_t>(number));
  }
  template <class T>
  void Below(T number, uint64_t /*limit*/) {
    Number(number);
  }
  // Near the one before it.
  void Time(uint64_t time) { out_.Distance(std::exchange(time_, time), time); }
  // Counted from 1 on: 0 is none.
  void Function(uint32_t function) { out_.Number(uint32_t{function + 1}); }
  void Text(const std::string& text) {
    out_.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  void Space(const AddressSpace* space) {
    if (space != nullptr && !spaces_.Has(space)) ok_ = false;
    out_.Number(space == nullptr || !ok_ ? 0 : uint64_t{spaces_.Of(space)} + 1);
  }
  // By a space in which it lies at `ip`.
  void Code(const std::shared_ptr<const CodeSection>& code, uint64_t ip) {
    uint32_t name = 0;
    const AddressSpace* space = nullptr;
    if (code == nullptr) return out_.Number(0);
    while ((space = spaces_.Find(name)) != nullptr && space->SectionOrReason(ip) != code) ++name;
    ok_ &= space != nullptr;
    out_.Number(uint64_t{name} + 1);
  }
  void StreamOf(const Stream* stream) {
    out_.Number(stream == nullptr ? 0 : uint64_t{stream->index} + 1);
  }
  template <class All, class Each>
  void List(const All& list, Each each) {
    out_.Number(list.size());
    for (const auto& one : list) each(one);
  }
  void Causes(const std::map<LossCause, uint64_t>& causes) {
    List(causes, [&](const auto& one) {
      Number(one.first);
      Number(one.second);
    });
  }
  template <class T, class Each>
  void Optional(const std::optional<T>& value, Each each) {
    Number(value.has_value());
    if (value) each(*value);
  }
  std::vector<uint8_t> Take() { return ok_ ? out_.Take() : std::vector<uint8_t>(); }

 private:
  const SpaceNames& spaces_;
  NumberWriter out_;
  uint64_t time_ = 0;
  bool ok_ = true;
};

class Reader {
 public:
  Reader(Bytes bytes, const Recording& recording, const SpaceNames& spaces)
      : recording_(recording), spaces_(spaces), in_(bytes) {}

  template <class T>
  void Number(T& number) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>)
      number = static_cast<T>(Limited(2));
    else if constexpr (std::is_signed_v<T>)
      number = static_cast<T>(
          Limited(uint64_t{std::numeric_limits<std::make_unsigned_t<T>>::max()} + 1));
    else if constexpr (sizeof(T) < sizeof(uint64_t))
      number = static_cast<T>(Limited(uint64_t{std::numeric_limits<T>::max()} + 1));
    else
      number = in_.Number();
  }
  template <class T>
  void Below(T& number, uint64_t limit) {
    number = static_cast<T>(Limited(limit));
  }
  void Time(uint64_t& time) { time = time_ = in_.Distance(time_); }
  void Function(uint32_t& function) {
    function = static_cast<uint32_t>(Limited(functions_ + 1)) - 1;
  }
  void Text(std::string& text) {
    const Bytes bytes = in_.Block();
    text.assign(bytes.begin(), bytes.end());
  }
  void Space(const AddressSpace*& space) {
    const uint64_t name = Limited(uint64_t{UINT32_MAX} + 1);
    if (name == 0) return;
    space = spaces_.Find(static_cast<uint32_t>(name - 1));
    if (space == nullptr) in_.Fail();
  }
  void Code(std::shared_ptr<const CodeSection>& code, uint64_t ip) {
    const AddressSpace* space = nullptr;
    Space(space);
    if (space == nullptr) return;
    code = space->SectionOrReason(ip);
    if (code == nullptr) in_.Fail();
  }
  void StreamOf(const Stream*& stream) {
    const uint64_t number = Limited(recording_.streams.size() + 1);
    if (number != 0) stream = &recording_.streams[number - 1];
  }
  template <class T, class Each>
  void List(std::vector<T>& list, Each each) {
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) each(list.emplace_back());
  }
  void Causes(std::map<LossCause, uint64_t>& causes) {
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      const auto cause = static_cast<LossCause>(Limited(kCauses));
      causes[cause] = in_.Number();
    }
  }
  template <class T, class Each>
  void Optional(std::optional<T>& value, Each each) {
    if (Limited(2) == 1) each(value.emplace());
  }
  // So many functions there are.
  void set_functions(size_t functions) { functions_ = functions; }
  void Expect(bool sense) {
    if (!sense) in_.Fail();
  }
  bool Done() const { return in_.Done(); }

 private:
  uint64_t Limited(uint64_t limit) {
    const uint64_t number = in_.Number();
    if (number < limit) return number;
    in_.Fail();
    return 0;
  }

  const Recording& recording_;
  const SpaceNames& spaces_;
  NumberReader in_;
  uint64_t time_ = 0;
  uint64_t functions_ = 0;
};

template <class Io, class Times>
void TellTimes(Io& io, Times& times) {
  for (auto& time : times) io.Number(time);
}

template <class Io, class Share>
void TellCycles(Io& io, Share& share) {
  io.Number(share.instructions);
  io.Number(share.likely);
  io.Number(share.lo);
  io.Number(share.hi);
  io.Number(share.untold);
}

template <class Io, class Sums>
void TellSums(Io& io, Sums& sums) {
  io.Number(sums.count);
  io.Number(sums.partial);
  io.Number(sums.self.time);
  io.Number(sums.self.lo);
  io.Number(sums.self.hi);
  io.Number(sums.executing);
  io.Number(sums.total);
  TellTimes(io, sums.own);
  io.Number(sums.self_instructions);
  io.Number(sums.instructions);
  TellCycles(io, sums.self_cycles);
  TellCycles(io, sums.cycles);
  io.Number(sums.durations.count);
  io.Number(sums.durations.min);
  io.Number(sums.durations.median);
  io.Number(sums.durations.p99);
  io.Number(sums.durations.max);
}

template <class Io, class FunctionType>
void TellFunction(Io& io, FunctionType& function) {
  io.Text(function.name);
  io.Text(function.file);
  io.Number(function.entry_ip);
  io.Space(function.space);
  io.Number(function.named);
}

template <class Io, class Paths>
void TellPaths(Io& io, Paths& paths) {
  io.List(paths, [&](auto& path) {
    // The first one is its own parent.
    io.Below(path.parent, std::max<uint64_t>(paths.size() - 1, 1));
    io.Function(path.function);
    io.Number(path.depth);
    io.Number(path.is_cut);
    io.Number(path.at_least);
    TellSums(io, path.sums);
  });
}

template <class Io, class CallType>
void TellCall(Io& io, CallType& call) {
  for (auto* time :
       {&call.begin, &call.begin_lo, &call.begin_hi, &call.end, &call.end_lo, &call.end_hi})
    io.Time(*time);
  io.Number(call.instructions);
  io.Number(call.cycles);
  io.Number(call.cycles_lo);
  io.Function(call.function);
  io.Number(call.depth);
  io.Number(call.stack);
  io.Below(call.entry, kEntries);
  io.Below(call.exit, kExits);
}

template <class Io, class Span>
void TellSpan(Io& io, Span& span) {
  io.Below(span.kind, kClasses);
  for (auto* time :
       {&span.begin, &span.begin_lo, &span.begin_hi, &span.end, &span.end_lo, &span.end_hi})
    io.Time(*time);
}

template <class Io, class Column>
void TellColumn(Io& io, Column& column) {
  TellTimes(io, column.times);
  io.Function(column.function);
  io.Number(column.function_time);
  io.Number(column.focus);
}

template <class Io, class Thread>
void TellThread(Io& io, Thread& thread) {
  io.Number(thread.pid);
  io.Number(thread.tid);
  io.StreamOf(thread.stream);
  io.Time(thread.begin);
  io.Time(thread.end);
  TellTimes(io, thread.times);
  io.Causes(thread.causes);
  io.Number(thread.instructions);
  io.Number(thread.losses);
  io.Number(thread.other_stacks);
  io.Number(thread.cycles.paused);
  io.Number(thread.cycles.undivided);
  io.Number(thread.off_cpu_told);
  io.Number(thread.condensed);
  TellPaths(io, thread.paths);
  io.List(thread.calls, [&](auto& call) { TellCall(io, call); });
  io.Number(thread.calls_left_out);
  io.Number(thread.shortest);
  io.Number(thread.cut_calls);
  for (auto* call : {&thread.longest, &thread.last})
    io.Optional(*call, [&](auto& one) { TellCall(io, one); });
  io.List(thread.spans, [&](auto& span) { TellSpan(io, span); });
  io.List(thread.strip, [&](auto& column) { TellColumn(io, column); });
}

template <class Io, class Sum>
void TellLosses(Io& io, Sum& sum) {
  io.Number(sum.tid);
  io.Below(sum.cause, kCauses);
  io.Number(sum.ip);
  io.Code(sum.code, sum.ip);
  io.Number(sum.count);
  io.Number(sum.bytes);
}

// But for the functions, which all else counts on.
template <class Io, class TimelineType>
void TellRest(Io& io, TimelineType& timeline) {
  io.Number(timeline.nanoseconds);
  io.Number(timeline.emulated);
  io.Time(timeline.begin);
  io.Time(timeline.end);
  io.List(timeline.threads, [&](auto& thread) { TellThread(io, thread); });
  TellTimes(io, timeline.times);
  TellPaths(io, timeline.paths);
  io.List(timeline.by_function, [&](auto& sums) { TellSums(io, sums); });
  io.List(timeline.losses, [&](auto& sum) { TellLosses(io, sum); });
}

// What whoever shows it relies on.
bool MakesSense(const Timeline& timeline) {
  const auto calls_are_of_functions = [](const ThreadTimeline& thread) {
    return std::ranges::none_of(thread.calls, [](const TimelineCall& call) {
      return call.function == CallPath::kNoFunction;
    });
  };
  for (const ThreadTimeline& thread : timeline.threads)
    if (thread.paths.empty() || thread.begin > thread.end || !calls_are_of_functions(thread))
      return false;
  return timeline.begin <= timeline.end && !timeline.paths.empty() &&
         timeline.by_function.size() == timeline.functions.size() && CheckTimeline(timeline) &&
         CheckFunctions(timeline);
}

}  // namespace

std::vector<uint8_t> TimelineToBytes(const Timeline& timeline, const SpaceNames& spaces) {
  Writer out(spaces);
  out.List(timeline.functions, [&](const auto& function) { TellFunction(out, function); });
  TellRest(out, timeline);
  return out.Take();
}

std::optional<Timeline> TimelineFromBytes(Bytes bytes, const Recording& recording,
                                          const SpaceNames& spaces) {
  Reader in(bytes, recording, spaces);
  Timeline timeline;
  in.List(timeline.functions, [&](auto& function) { TellFunction(in, function); });
  in.set_functions(timeline.functions.size());
  TellRest(in, timeline);
  if (!in.Done() || !MakesSense(timeline)) return std::nullopt;
  return timeline;
}

}  // namespace flowback
