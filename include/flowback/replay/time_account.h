// SPDX-License-Identifier: MIT
// How each thread spent its time: the law of conservation of time. docs/explanation/time.md defines
// the classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"

namespace flowback {

enum class TimeClass : uint8_t {
  kExecuting,    // and traced
  kOffCpu,       // between two stays on CPUs
  kKernel,       // on a CPU, at a privilege level that is not traced
  kLost,         // the trace is missing, or it is not known whose it is
  kFiltered,     // on a CPU, at a place or level that the recorder left out on purpose
  kUndecodable,  // the trace is there, the code to read it with is not
};
inline constexpr TimeClass kAllTimeClasses[] = {TimeClass::kExecuting, TimeClass::kOffCpu,
                                                TimeClass::kKernel,    TimeClass::kLost,
                                                TimeClass::kFiltered,  TimeClass::kUndecodable};
// "executing", "off-CPU", ...
const char* Name(TimeClass kind);

// A sum of times; the trace proves lo <= sum <= hi.
struct TimeShare {
  uint64_t time = 0;
  uint64_t lo = 0;
  uint64_t hi = 0;
};

// A time that a thread was in one class, half-open, in the account's unit, and the proven bounds of
// its ends.
struct ClassSpan {
  TimeClass kind{};
  uint64_t begin = 0;
  uint64_t begin_lo = 0;
  uint64_t begin_hi = 0;
  uint64_t end = 0;
  uint64_t end_lo = 0;
  uint64_t end_hi = 0;
};

// One thread's whole life, in order, without overlap. If there are more than kMostClassSpans,
// neighbours are joined into one span of each class, in any order: the sums stay right, the places
// are as near as their bounds say.
struct ClassSpans {
  std::vector<ClassSpan> spans;
  bool condensed = false;
};
inline constexpr size_t kMostClassSpans = size_t{1} << 18;

// The account of one thread, or of a stream whose threads are unknown.
struct TimeAccount {
  int32_t pid = -1;
  int32_t tid = -1;                // -1: unattributed
  const Stream* stream = nullptr;  // of unattributed trace: its stream
  // The lifetime in the trace; the shares' times add up to end - begin, to the unit.
  uint64_t begin = 0;
  uint64_t end = 0;
  std::array<TimeShare, std::size(kAllTimeClasses)> shares{};
  // False: no record says when the thread was on a CPU, so its time off CPUs is in kKernel.
  bool off_cpu_told = true;
  std::map<LossCause, uint64_t> causes;  // time of kLost and kUndecodable by cause
  uint64_t instructions = 0;
  uint64_t bytes = 0;               // of trace
  uint64_t losses = 0;              // in its flow
  std::optional<ClassSpans> spans;  // where they were asked for

  uint64_t lifetime() const { return end - begin; }
  TimeShare& Of(TimeClass kind) { return shares[static_cast<size_t>(kind)]; }
  const TimeShare& Of(TimeClass kind) const { return shares[static_cast<size_t>(kind)]; }
  uint64_t Sum() const;
};

struct TimeAccounts {
  bool nanoseconds = true;           // of perf's clock; else TSC ticks
  std::vector<TimeAccount> threads;  // by tid; unattributed last, by stream
};

// The accounts of a recording: the sums of its streams, by index, and how its threads spent their
// time.
struct FlowAccounts {
  std::vector<FlowSummary> summaries;
  TimeAccounts times;
};

// Decodes every stream once. The source is asked for the streams' first and last times; one that
// keeps indexes (KeepIndexes) answers without reading them again. Errors: as Decoder::Decode. The
// recording must outlive the result. With `spans` the accounts have theirs.
Result<FlowAccounts> AccountFlow(const Recording& recording, const StreamInputs& inputs,
                                 Decoder& decoder, bool spans = false);

}  // namespace flowback
