// SPDX-License-Identifier: MIT
// The interface of every decoder: a stream of trace bytes and the code become an execution.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/flow_reader.h"
#include "flowback/decode/schedule.h"
#include "flowback/model/block_counts.h"
#include "flowback/model/execution.h"
#include "flowback/model/machine.h"
#include "flowback/model/recording.h"

namespace flowback {

struct DecodeStatistics;  // decode/effort.h

// After an error: at the first packet that gives a full state, or at the next sync point as libipt
// does.
enum class Resync : uint8_t { kEarliest, kSyncPoint };

struct DecodeInput {
  Bytes bytes;  // one stream
  uint64_t from =
      0;  // where to begin: at a sync point, or 0; what lies before is not accounted for
  const AddressSpaceHistory* code = nullptr;  // where `changes` name no other code
  TraceConfig config;                         // Recording::config
  TimeConversion time;  // Recording::time; not known: code is not chosen by time
  Resync resync = Resync::kEarliest;
  std::vector<StreamGap> gaps;      // of the stream, sorted by offset
  std::vector<StayChange> changes;  // sorted by offset; empty: the threads are unknown
  // Decode estimates when each block run executed and within which bounds; it then hands them on
  // only when the time after them is known. The libipt engine does not, and leaves the bounds open.
  bool times = false;
  // False: the consumer wants events and losses only. With `times` the native engine then leaves
  // the blocks out, which is several times faster.
  bool blocks = true;
  // The consumer wants of the blocks only those that end in a branch which was taken. A decoder may
  // hand on these branches alone (OnBranches), and no blocks.
  bool only_branches = false;
  // The most threads for Summarize and Count; the result does not depend on it, nor on the two
  // below.
  unsigned threads = 1;
  size_t in_flight = 0;      // segments in work at one time; 0: the decoder chooses
  size_t segment_bytes = 0;  // of a segment; 0: as is useful
  // Where `bytes` is a part of joined bytes: these (Stream::joined), through which the decoder
  // brings what it reads; without them it would read memory that is not there. Null: all can be
  // read.
  std::shared_ptr<JoinedBytes> joined{};
  // Gets the bytes gone through added, from sync point to sync point, by any thread: to show
  // progress. Null: not counted.
  std::atomic<uint64_t>* progress = nullptr;
};

// Totals of a part of the flow; sums are exact.
struct FlowTotals {
  FlowDigest digest;
  uint64_t blocks = 0;  // that ended in a branch, taken or not; engines cut others differently
  uint64_t taken = 0;   // conditional branches
  uint64_t not_taken = 0;
  uint64_t jumps = 0;
  uint64_t indirect_jumps = 0;
  uint64_t calls = 0;
  uint64_t indirect_calls = 0;
  uint64_t returns = 0;
  uint64_t far = 0;  // all far classes
  // Law 1: these three add up to the stream's size, in the source's unit.
  uint64_t bytes_decoded = 0;
  uint64_t bytes_padding = 0;
  uint64_t bytes_lost = 0;
  uint64_t first_tsc = 0;  // 0: the stream carries no time
  uint64_t last_tsc = 0;
  std::vector<DataLoss> losses;

  // Adds what was executed after it.
  void Append(const FlowTotals& next);
  // Adds a loss behind all that was executed. Damage can make one of every byte. So of those that
  // no instruction lies between, kToldInARow of a cause and its code are kept one by one, and of
  // all kTold; the others are added to the last one of their kind.
  void AddLoss(DataLoss loss);
  // How many there are; those that are kept as one counted each.
  uint64_t LossCount() const;

  static constexpr size_t kToldInARow = 64;
  static constexpr size_t kTold = 4096;
};

// The sums of one stay of a thread.
struct FlowPart {
  const ThreadStay* stay = nullptr;  // null: the input does not say who ran
  uint64_t begin = 0;                // stream offsets, half-open
  uint64_t end = 0;
  FlowTotals totals;
};

// Totals of one stream, and of its parts in order; those of the parts add up to the stream's.
struct FlowSummary : FlowTotals {
  std::vector<FlowPart> parts;
  std::shared_ptr<const DecodeStatistics> effort;  // null: the decoder does not count it
};

// The account of one pass, for law 1, in the source's unit (TraceUnit): bytes of most.
struct ByteAccount {
  uint64_t decoded = 0;
  uint64_t padding = 0;
  uint64_t lost = 0;
};

// Thread-safety: one object per thread; caches inside the code sections are shared.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // The whole flow, in program order, to `consumer`. Damage in the trace is a DataLoss; an error
  // means the decoder could not be set up.
  virtual Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) = 0;
  // Whether Decode counts ranges of code for a consumer that does (ExecutionConsumer::ranges),
  // which is several times faster.
  virtual bool CountsRanges(const DecodeInput& /*input*/) const { return false; }
  // Totals only; a decoder may have a faster way than Decode. Same result as summing Decode's flow.
  virtual Result<FlowSummary> Summarize(const DecodeInput& input);
  // Returns Summarize's result, and hands `events` the events and losses with their times in the
  // same decode, as Decode does with DecodeInput::times and without blocks. REQUIRES: `events` is
  // never done before the end.
  virtual Result<FlowSummary> SummarizeTimed(const DecodeInput& input, ExecutionConsumer& events);
  // Summarize's result, and how often each block was executed.
  virtual Result<FlowSummary> Count(const DecodeInput& input, BlockCountConsumer& consumer);
  // The same flow as Decode's, in segments. Errors: as Decode's; kUnsupported where a decoder
  // can't keep its state.
  virtual Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input);
};

// Engines by name: "native", and "libipt" where it was built in. Errors: kUsage for an unknown
// name, kUnsupported for one left out of this build.
Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view name);
// The names MakeDecoder knows in this build.
std::vector<std::string_view> DecoderNames();

}  // namespace flowback
