// SPDX-License-Identifier: MIT
// Totals and counts of a stream for decoders that have no faster way than to decode all of it.
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// Parts have no offsets: pieces of flow do not tell theirs.
class Totals : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    Enter(run.stay);
    if (run.exit != BlockExit::kFallThrough) ++summary_.blocks;
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      summary_.digest.Append(ip);
      ip += length;
    }
    CountBranch(run);
    Note(run.tsc);
  }
  void OnEvent(const TraceEvent& event) override { Note(event.tsc); }
  void OnLoss(const DataLoss& loss) override {
    Enter(loss.stay);
    DataLoss added = loss;
    added.after = summary_.digest.count;
    summary_.AddLoss(std::move(added));
  }

  FlowSummary Take(const ByteAccount& account) {
    parts_.push_back({.stay = stay_, .totals = std::move(summary_)});
    FlowSummary all;
    for (const FlowPart& part : parts_) all.Append(part.totals);
    all.parts = std::move(parts_);
    all.bytes_decoded = account.decoded;
    all.bytes_padding = account.padding;
    all.bytes_lost = account.lost;
    return all;
  }

 private:
  void Enter(const ThreadStay* stay) {
    if (stay == stay_) return;
    if (summary_.digest.count != 0 || !summary_.losses.empty())
      parts_.push_back({.stay = stay_, .totals = std::exchange(summary_, {})});
    stay_ = stay;
  }
  void CountBranch(const BlockRun& run) {
    switch (run.last) {
      case InstructionClass::kOther:
        break;
      case InstructionClass::kConditional:
        ++(run.exit == BlockExit::kNotTaken ? summary_.not_taken : summary_.taken);
        break;
      case InstructionClass::kJump:
        ++summary_.jumps;
        break;
      case InstructionClass::kCall:
        ++summary_.calls;
        break;
      case InstructionClass::kIndirectJump:
        ++summary_.indirect_jumps;
        break;
      case InstructionClass::kIndirectCall:
        ++summary_.indirect_calls;
        break;
      case InstructionClass::kReturn:
        ++summary_.returns;
        break;
      default:
        ++summary_.far;
        break;
    }
  }
  void Note(uint64_t tsc) {
    if (tsc == 0) return;
    if (summary_.first_tsc == 0) summary_.first_tsc = tsc;
    summary_.last_tsc = tsc;
  }

  FlowTotals summary_;  // of the part at hand
  const ThreadStay* stay_ = nullptr;
  std::vector<FlowPart> parts_;
};

// Counts block runs as well; what such a decoder cuts is a block.
class Counts final : public Totals {
 public:
  explicit Counts(BlockCountConsumer& consumer) : consumer_(consumer) {}

  void OnBlock(const BlockRun& run) override {
    if (run.stay != counted_) Tell();
    counted_ = run.stay;
    Count(run);
    Totals::OnBlock(run);
  }
  // What has been counted so far.
  void Tell() {
    for (auto& [code, of_code] : codes_) {
      if (of_code.uses.empty()) continue;
      BlockCounts counts{.space = code.first, .mode = code.second, .uses = {}, .targets = {}};
      for (auto& [key, use] : of_code.uses) {
        counts.uses.push_back(use.use);
        counts.uses.back().block.lengths = use.lengths.data();
      }
      for (const auto& [ends, times] : of_code.targets)
        counts.targets.push_back({ends.first, ends.second, times});
      consumer_.OnCounts(counted_, counts);
    }
    codes_.clear();
  }

 private:
  struct Use {
    BlockUse use;
    std::vector<uint8_t> lengths;
  };
  struct OfCode {
    std::map<std::tuple<uint64_t, size_t, BlockExit>, Use> uses;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> targets;
  };

  void Count(const BlockRun& run) {
    OfCode& of_code = codes_[{run.space, run.mode}];
    Use& use = of_code.uses[{run.address, run.lengths.size(), run.exit}];
    if (use.use.times++ == 0) {
      use.lengths.assign(run.lengths.begin(), run.lengths.end());
      use.use.block = {.address = run.address,
                       .lengths = nullptr,
                       .size = 0,
                       .count = static_cast<uint16_t>(run.lengths.size()),
                       .last = run.last};
      for (const uint8_t length : run.lengths) use.use.block.size += length;
      use.use.count = use.use.block.count;
      use.use.exit = run.exit;
    }
    const bool left = run.exit == BlockExit::kTaken || run.exit == BlockExit::kStopped;
    if (left && IsIndirect(run.last) && run.next != 0)
      ++of_code.targets[{run.LastAddress(), run.next}];
  }

  BlockCountConsumer& consumer_;
  const ThreadStay* counted_ = nullptr;  // whose the counts are
  std::map<std::pair<const AddressSpace*, ExecMode>, OfCode> codes_;
};

}  // namespace

Result<std::unique_ptr<FlowReader>> Decoder::Read(const DecodeInput&) {
  return Fail(Error(ErrorCode::kUnsupported, "this decoder does not read a stream in segments")
                  .Remedy("use the decoder \"native\""));
}

Result<FlowSummary> Decoder::Summarize(const DecodeInput& input) {
  Totals totals;
  const Result<ByteAccount> account = Decode(input, totals);
  if (!account) return Fail(account.error());
  return totals.Take(*account);
}

Result<FlowSummary> Decoder::Count(const DecodeInput& input, BlockCountConsumer& consumer) {
  Counts counts(consumer);
  const Result<ByteAccount> account = Decode(input, counts);
  if (!account) return Fail(account.error());
  counts.Tell();
  return counts.Take(*account);
}

}  // namespace flowback
