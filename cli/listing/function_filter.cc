// SPDX-License-Identifier: MIT
#include "cli/listing/function_filter.h"

#include <algorithm>
#include <utility>

#include "base/block_part.h"
#include "cli/text/status.h"
#include "cli/text/suggestion.h"
#include "replay/flow/filtered_decoder.h"

namespace flowback::cli {
namespace {

class FunctionFilter final : public ExecutionConsumer {
 public:
  FunctionFilter(std::shared_ptr<FunctionMatch> match, std::atomic<bool>& found)
      : match_(std::move(match)), found_(&found) {}

  void PassTo(ExecutionConsumer& next) { next_ = &next; }
  bool is_over() const { return false; }

  // A block may go on from one function into the next.
  void OnBlock(const BlockRun& run) override {
    space_ = run.space;
    uint64_t ip = run.address;
    size_t begin = 0;
    bool fits = false;
    for (size_t i = 0; i < run.lengths.size(); ip += run.lengths[i], ++i) {
      if ((*match_)(run.space, ip) == fits) continue;
      if (fits) Pass(run, begin, i);
      fits = !fits;
      begin = i;
    }
    if (fits) Pass(run, begin, run.lengths.size());
  }
  void OnEvent(const TraceEvent& event) override {
    if (event.ip != 0 && space_ != nullptr && (*match_)(space_, event.ip)) next_->OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { next_->OnLoss(loss); }
  void OnUnknown(const UnknownFlow& unknown) override { next_->OnUnknown(unknown); }
  bool Done() const override { return next_->Done(); }

 private:
  void Pass(const BlockRun& run, size_t begin, size_t end) {
    if (!found_any_) found_->store(true, std::memory_order_relaxed);
    found_any_ = true;
    next_->OnBlock(begin == 0 && end == run.lengths.size() ? run : PartOf(run, begin, end));
  }

  ExecutionConsumer* next_ = nullptr;
  std::shared_ptr<FunctionMatch> match_;  // keeps answers only, so that copies may share it
  std::atomic<bool>* found_;
  bool found_any_ = false;
  const AddressSpace* space_ = nullptr;  // in which the last block ran
};

// Returns "scope::f" of the name "scope::f(int)" where `function` is f; else nothing.
std::string WithScope(const std::string& name, const std::string& function) {
  const std::string end = "::" + function;
  const size_t at = name.rfind(end, name.find('('));
  if (at == std::string::npos) return {};
  const size_t size = at + end.size();
  return size == name.size() || name[size] == '(' ? name.substr(0, size) : std::string();
}

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
        pattern_.Matches(symbol->name) || pattern_.Matches(symbol->function) ||
        std::ranges::any_of(symbolizer_.OtherNames(*space, ip),
                            [&](const std::string& name) { return pattern_.Matches(name); });
  return known->second;
}

std::unique_ptr<Decoder> MakeFunctionDecoder(std::unique_ptr<Decoder> decoder, FunctionMatch match,
                                             std::atomic<bool>& found) {
  return std::make_unique<FilteredDecoder<FunctionFilter>>(
      std::move(decoder), FunctionFilter(std::make_shared<FunctionMatch>(std::move(match)), found));
}

std::string WhyNoFunction(const NamePattern& pattern, Symbolizer& symbolizer) {
  std::vector<std::string> names = symbolizer.KnownNames(kMostNamesToCompare);
  for (const std::string& name : names)
    if (pattern.Matches(name)) return " ('" + name + "' is in a file that ran; nothing came to it)";
  if (!pattern.is_plain()) return {};
  for (const std::string& name : names)
    if (const std::string whole = WithScope(name, pattern.text()); !whole.empty())
      return " (did you mean '" + whole + "'?)";
  for (std::string& name : names) name.resize(std::min(name.find('('), name.size()));
  return DidYouMean(pattern.text(), names);
}

Status JudgeNoFunction(const std::string& none, bool is_part, const NamePattern& pattern,
                       Symbolizer& symbolizer, std::string_view remedy) {
  if (is_part) {
    Warn(none + " in the part that is shown");
    return {};
  }
  return Fail(Error(ErrorCode::kUsage, none + WhyNoFunction(pattern, symbolizer))
                  .Remedy(std::string(remedy)));
}

}  // namespace flowback::cli
