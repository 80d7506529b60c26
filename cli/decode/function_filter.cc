// SPDX-License-Identifier: MIT
#include "cli/decode/function_filter.h"

#include <algorithm>
#include <utility>

#include "cli/listing/block_part.h"
#include "cli/text/suggestion.h"

namespace flowback::cli {
namespace {

class FunctionFilter final : public ExecutionConsumer {
 public:
  FunctionFilter(ExecutionConsumer& next, FunctionMatch& match, std::atomic<bool>& found)
      : next_(next), match_(match), found_(found) {}

  // A block may go on from one function into the next.
  void OnBlock(const BlockRun& run) override {
    space_ = run.space;
    uint64_t ip = run.address;
    size_t begin = 0;
    bool fits = false;
    for (size_t i = 0; i < run.lengths.size(); ip += run.lengths[i], ++i) {
      if (match_(run.space, ip) == fits) continue;
      if (fits) Pass(run, begin, i);
      fits = !fits;
      begin = i;
    }
    if (fits) Pass(run, begin, run.lengths.size());
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.ip != 0 && space_ != nullptr && match_(space_, event.ip)) next_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { next_.OnLoss(loss); }
  bool Done() const override { return next_.Done(); }

 private:
  void Pass(const BlockRun& run, size_t begin, size_t end) {
    if (!found_any_) found_.store(true, std::memory_order_relaxed);
    found_any_ = true;
    next_.OnBlock(begin == 0 && end == run.lengths.size() ? run : PartOf(run, begin, end));
  }

  ExecutionConsumer& next_;
  FunctionMatch& match_;
  std::atomic<bool>& found_;
  bool found_any_ = false;
  const AddressSpace* space_ = nullptr;  // in which the last block ran
};

class FunctionDecoder final : public Decoder {
 public:
  FunctionDecoder(std::unique_ptr<Decoder> decoder, FunctionMatch match, std::atomic<bool>& found)
      : decoder_(std::move(decoder)), match_(std::move(match)), found_(found) {}

  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    FunctionFilter filter(consumer, match_, found_);
    return decoder_->Decode(input, filter);
  }

 private:
  std::unique_ptr<Decoder> decoder_;
  FunctionMatch match_;
  std::atomic<bool>& found_;
};

}  // namespace

bool FunctionMatch::operator()(const AddressSpace* space, uint64_t ip) {
  Answer& answer = answers_[(ip ^ (ip >> 12)) % kAnswers];
  if (answer.ip != ip || answer.space != space)
    answer = {.space = space, .ip = ip, .fits = LookUp(space, ip)};
  return answer.fits;
}

bool FunctionMatch::LookUp(const AddressSpace* space, uint64_t ip) {
  const auto symbol = space == nullptr || ip == 0 ? std::nullopt : symbolizer_.Find(*space, ip);
  if (!symbol) return pattern_.Matches("[unknown]");
  const auto [known, is_new] = by_name_.try_emplace(symbol->name.data(), false);
  if (is_new)
    known->second =
        pattern_.Matches(symbol->name) ||
        std::ranges::any_of(symbolizer_.OtherNames(*space, ip),
                            [&](const std::string& name) { return pattern_.Matches(name); });
  return known->second;
}

std::unique_ptr<Decoder> MakeFunctionDecoder(std::unique_ptr<Decoder> decoder, FunctionMatch match,
                                             std::atomic<bool>& found) {
  return std::make_unique<FunctionDecoder>(std::move(decoder), std::move(match), found);
}

std::string WhyNoFunction(const NamePattern& pattern, Symbolizer& symbolizer) {
  std::vector<std::string> names = symbolizer.KnownNames(kMostNamesToCompare);
  for (const std::string& name : names)
    if (pattern.Matches(name)) return " ('" + name + "' is in a file that ran; nothing came to it)";
  if (!pattern.is_plain()) return {};
  for (std::string& name : names) name.resize(std::min(name.find('('), name.size()));
  return DidYouMean(pattern.text(), names);
}

}  // namespace flowback::cli
