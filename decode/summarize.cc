// SPDX-License-Identifier: MIT
// Totals and counts of a stream for decoders that have no faster way than to decode all of it.
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/summed_flow.h"
#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// Sums up what it hands on: all but the blocks.
class TotalsWithEvents final : public SummedFlow {
 public:
  explicit TotalsWithEvents(ExecutionConsumer& events) : events_(events) {}

  void OnEvent(const TraceEvent& event) override {
    SummedFlow::OnEvent(event);
    events_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override {
    SummedFlow::OnLoss(loss);
    events_.OnLoss(loss);
  }

 private:
  ExecutionConsumer& events_;
};

// Counts the executions of blocks as well: batches by the numbers of their blocks, and block runs
// as what such a decoder cuts.
class Counts final : public SummedFlow {
 public:
  explicit Counts(BlockCountConsumer& consumer) : consumer_(consumer) {}

  void OnBlock(const BlockRun& run) override {
    EnterStay(run.stay);
    CodeCounts& of_code = codes_[{run.space, run.mode}];
    Use& use = of_code.uses[{run.address, run.lengths.size(), run.exit}];
    if (use.use.times++ == 0) use.Set(run);
    const bool left = run.exit == BlockExit::kTaken || run.exit == BlockExit::kStopped;
    if (left && HasTarget(run.last) && run.next != 0)
      ++of_code.targets[{run.LastAddress(), run.last, run.next}];
    Add(run);
  }
  void OnBlocks(const BlockBatch& batch) override {
    EnterStay(batch.stay);
    TableCounts& of_table = tables_[batch.table];
    of_table.times.resize(2 * batch.table->size());
    for (BlockRuns runs(batch); runs.Next();) {
      const BlockStep step = runs.step();
      if (of_table.times[step.value]++ == 0) of_table.touched.push_back(step);
      if (HasTarget(runs.block().last) && runs.taken() && runs.next() != 0)
        ++of_table.targets[{runs.block().LastAddress(), runs.block().last, runs.next()}];
      Add(runs.run());
    }
  }
  // The counts so far.
  void Tell() {
    for (auto& [code, of_code] : codes_) of_code.Tell(code, counted_, consumer_);
    codes_.clear();
    for (auto& [table, of_table] : tables_)
      if (!of_table.touched.empty()) of_table.Tell(*table, counted_, consumer_);
  }

 private:
  using Targets = std::map<std::tuple<uint64_t, InstructionClass, uint64_t>, uint64_t>;
  using Code = std::pair<const AddressSpace*, CodeMode>;

  static void Append(const Targets& targets, BlockCounts& counts) {
    for (const auto& [ends, times] : targets)
      counts.targets.push_back({std::get<0>(ends), std::get<1>(ends), std::get<2>(ends), times});
  }

  struct Use {
    BlockUse use;
    std::vector<uint8_t> lengths;

    void Set(const BlockRun& run) {
      lengths.assign(run.lengths.begin(), run.lengths.end());
      use.count = static_cast<uint16_t>(lengths.size());
      use.exit = run.exit;
      use.block = {.address = run.address,
                   .lengths = lengths.data(),
                   .size = std::accumulate(lengths.begin(), lengths.end(), uint32_t{0}),
                   .count = use.count,
                   .last = run.last};
    }
  };
  struct CodeCounts {
    std::map<std::tuple<uint64_t, size_t, BlockExit>, Use> uses;
    Targets targets;

    void Tell(const Code& code, const ThreadStay* stay, BlockCountConsumer& consumer) const {
      BlockCounts counts{.space = code.first, .mode = code.second, .uses = {}, .targets = {}};
      for (const auto& [key, use] : uses) counts.uses.push_back(use.use);
      Append(targets, counts);
      consumer.OnCounts(stay, counts);
    }
  };
  struct TableCounts {
    std::vector<uint64_t> times;  // by BlockStep::value
    std::vector<BlockStep> touched;
    Targets targets;

    void Tell(const BlockTable& table, const ThreadStay* stay, BlockCountConsumer& consumer) {
      BlockCounts counts{.space = &table.space(), .mode = table.mode(), .uses = {}, .targets = {}};
      for (const BlockStep step : touched) {
        const CodeBlock& block = table[step.number()];
        counts.uses.push_back({block, block.count, ExitOf(block.last, step.taken()),
                               std::exchange(times[step.value], 0)});
      }
      Append(targets, counts);
      consumer.OnCounts(stay, counts);
      touched.clear();
      targets.clear();
    }
  };

  void EnterStay(const ThreadStay* stay) {
    if (stay != counted_) Tell();
    counted_ = stay;
  }

  BlockCountConsumer& consumer_;
  const ThreadStay* counted_ = nullptr;  // whose the counts are
  std::map<Code, CodeCounts> codes_;
  std::map<const BlockTable*, TableCounts> tables_;
};

}  // namespace

Result<std::unique_ptr<FlowReader>> Decoder::Read(const DecodeInput&) {
  return Fail(Error(ErrorCode::kUnsupported, "this decoder does not read a stream in segments")
                  .Remedy("use the decoder \"native\""));
}

Result<FlowSummary> Decoder::Summarize(const DecodeInput& input) {
  SummedFlow totals;
  const Result<ByteAccount> account = Decode(input, totals);
  if (!account) return Fail(account.error());
  return totals.Take(*account);
}

Result<FlowSummary> Decoder::SummarizeTimed(const DecodeInput& input, ExecutionConsumer& events) {
  DecodeInput timed = input;
  timed.times = timed.blocks = true;
  TotalsWithEvents totals(events);
  const Result<ByteAccount> account = Decode(timed, totals);
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
