// SPDX-License-Identifier: MIT
// `decode --as summary --by`: how the executed instructions are shared out among functions, objects
// (files) or lines of the source.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/flow_printer.h"
#include "cli/source_columns.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_batch.h"

namespace flowback::cli {

enum class ShareKind : uint8_t { kFunction, kObject, kLine };

// Errors: kUsage for a word that names none.
Result<ShareKind> ParseShareKind(const std::string& word);

// What counts together. Empty texts: not known.
struct SharePlace {
  std::string function;  // of kFunction
  std::string object;    // of kFunction and kObject: its path as recorded
  std::string file;      // of kLine
  uint32_t line = 0;     // of kLine; 0: not known

  auto operator<=>(const SharePlace&) const = default;
};

struct Share {
  uint64_t instructions = 0;
  uint64_t calls = 0;  // call instructions that went there
};
using Shares = std::map<SharePlace, Share>;

// Adds up a flow. Its memory is in proportion to the code that ran. One thread at a time.
class ShareCounter final : public ExecutionConsumer {
 public:
  ShareCounter(ShareKind kind, const PrintSettings& settings)
      : kind_(kind), settings_(settings), source_(settings) {}

  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss& loss) override { totals_.AddLoss(loss); }

  // Of the blocks so far, which must be asked for before the decoder of the flow dies.
  Shares Take();
  // Damage can make one of every byte: many are kept as one.
  const std::vector<DataLoss>& losses() const { return totals_.losses; }

 private:
  // Code runs in the same few places again and again.
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t ip = 0;
    Share* share = nullptr;
  };
  static constexpr size_t kAnswers = 4096;

  Share& At(const AddressSpace* space, uint64_t ip);
  SharePlace PlaceOf(const AddressSpace* space, uint64_t ip) const;
  void AddInstructions(const AddressSpace* space, uint64_t ip, std::span<const uint8_t> lengths,
                       uint64_t times);

  ShareKind kind_;
  const PrintSettings& settings_;
  SourceColumns source_;
  Shares shares_;
  std::vector<Answer> answers_ = std::vector<Answer>(kAnswers);
  std::unordered_map<const BlockTable*, std::vector<uint64_t>> times_;  // each block ran, by number
  FlowTotals totals_;                                                   // instructions and losses
};

struct SharePlan {
  ShareKind kind{};
  // Any thread may call these two, as MergePlan's.
  std::function<Result<std::unique_ptr<Decoder>>()> make_decoder;
  std::function<Status(const FlowPiece& piece, Decoder& decoder, ExecutionConsumer& consumer)>
      decode;
  unsigned threads = 1;
};

// The shares of all owners' flows together: most instructions first, and a line for all. Errors:
// what keeps decoding from going on; what came before it has been printed.
Status ListShares(const SharePlan& plan, const std::vector<StreamOwner>& owners,
                  const PrintSettings& settings, Output& output);

}  // namespace flowback::cli
