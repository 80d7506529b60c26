// SPDX-License-Identifier: MIT
#include "replay/flow/kept_sums.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/number_bytes.h"
#include "flowback/decode/code_image.h"
#include "replay/flow/index_builder.h"
#include "replay/flow/index_disk.h"
#include "replay/flow/space_names.h"

namespace flowback {
namespace {

constexpr uint64_t FlowTotals::* kNumbers[] = {
    &FlowTotals::blocks,         &FlowTotals::taken,          &FlowTotals::not_taken,
    &FlowTotals::jumps,          &FlowTotals::indirect_jumps, &FlowTotals::calls,
    &FlowTotals::indirect_calls, &FlowTotals::returns,        &FlowTotals::far,
    &FlowTotals::bytes_decoded,  &FlowTotals::bytes_padding,  &FlowTotals::bytes_lost,
    &FlowTotals::first_tsc,      &FlowTotals::last_tsc};
constexpr uint64_t DataLoss::* kNumbersOfLoss[] = {
    &DataLoss::begin, &DataLoss::end,   &DataLoss::tsc,     &DataLoss::end_tsc,
    &DataLoss::count, &DataLoss::after, &DataLoss::between, &DataLoss::last_ip};
constexpr size_t kCauses = 0
#define FLOWBACK_LOSS(name, kind, text, remedy) +1
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
    ;

// A sum is of no stream that it does not account for.
bool IsOf(const FlowSummary& sum, const Stream& stream, const StreamInputs& inputs) {
  const uint64_t all = sum.bytes_decoded + sum.bytes_padding + sum.bytes_lost;
  return all == inputs.source().Unit().In(stream);
}

class SumWriter {
 public:
  explicit SumWriter(SpaceNames spaces) : spaces_(std::move(spaces)) {}

  void Put(const FlowSummary& sum, const DecodeInput& input) {
    stays_ = NamesOfStays(input);
    Put(sum);
    out_.Number(sum.parts.size());
    for (const FlowPart& part : sum.parts) {
      out_.Number(stays_.at(part.stay));
      out_.Number(part.begin);
      out_.Number(part.end);
      Put(part.totals);
    }
  }
  std::vector<uint8_t> Take() { return ok_ ? out_.Take() : std::vector<uint8_t>(); }

 private:
  void Put(const FlowTotals& totals) {
    out_.Number(totals.digest.count);
    out_.Word(totals.digest.hash);
    for (const auto number : kNumbers) out_.Number(totals.*number);
    out_.Number(totals.losses.size());
    for (const DataLoss& loss : totals.losses) Put(loss);
  }
  void Put(const DataLoss& loss) {
    out_.Number(static_cast<uint64_t>(loss.cause));
    for (const auto number : kNumbersOfLoss) out_.Number(loss.*number);
    for (const TscInterval& bounds : {loss.bounds, loss.end_bounds}) {
      out_.Number(bounds.lo);
      out_.Number(bounds.hi);
    }
    out_.Block({reinterpret_cast<const uint8_t*>(loss.detail.data()), loss.detail.size()});
    out_.Number(stays_.at(loss.stay));
    PutCode(loss);
  }
  // Names the code by a space that has it at the loss's address; mostly the space of the loss
  // before.
  void PutCode(const DataLoss& loss) {
    const auto fits = [&](uint32_t name) {
      const AddressSpace* space = spaces_.Find(name);
      return space != nullptr && space->SectionOrReason(loss.last_ip) == loss.code;
    };
    if (loss.code == nullptr) return out_.Number(0);
    if (!fits(space_)) {
      space_ = 0;
      while (spaces_.Find(space_) != nullptr && !fits(space_)) ++space_;
    }
    ok_ &= spaces_.Find(space_) != nullptr;
    out_.Number(uint64_t{space_} + 1);
  }

  const SpaceNames spaces_;
  StayNames stays_;
  uint32_t space_ = 0;
  NumberWriter out_;
  bool ok_ = true;
};

class SumReader {
 public:
  SumReader(SpaceNames spaces, Bytes bytes) : spaces_(std::move(spaces)), in_(bytes) {}

  FlowSummary Sum(const DecodeInput& input) {
    FlowSummary sum;
    input_ = &input;
    Fill(sum);
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      FlowPart& part = sum.parts.emplace_back();
      part.stay = Stay();
      part.begin = in_.Number();
      part.end = in_.Number();
      Fill(part.totals);
    }
    return sum;
  }
  bool Done() const { return in_.Done(); }

 private:
  void Fill(FlowTotals& totals) {
    totals.digest.count = in_.Number();
    totals.digest.hash = in_.Word();
    for (const auto number : kNumbers) totals.*number = in_.Number();
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left)
      Fill(totals.losses.emplace_back());
  }
  void Fill(DataLoss& loss) {
    const uint64_t cause = in_.Number();
    if (cause >= kCauses) return in_.Fail();
    loss.cause = static_cast<LossCause>(cause);
    for (const auto number : kNumbersOfLoss) loss.*number = in_.Number();
    for (TscInterval* bounds : {&loss.bounds, &loss.end_bounds}) {
      bounds->lo = in_.Number();
      bounds->hi = in_.Number();
    }
    const Bytes detail = in_.Block();
    loss.detail.assign(detail.begin(), detail.end());
    loss.stay = Stay();
    const uint64_t name = in_.Number();
    if (name == 0) return;
    const AddressSpace* space = spaces_.Find(static_cast<uint32_t>(name - 1));
    if (space != nullptr) loss.code = space->SectionOrReason(loss.last_ip);
    if (loss.code == nullptr) in_.Fail();
  }
  const ThreadStay* Stay() {
    const uint64_t name = in_.Number();
    if (name == 0) return nullptr;
    if (name <= input_->changes.size()) return input_->changes[name - 1].stay;
    in_.Fail();
    return nullptr;
  }

  const SpaceNames spaces_;
  NumberReader in_;
  const DecodeInput* input_ = nullptr;
};

std::string NameOf(const IndexCache& cache) { return "sums-" + cache.key; }

}  // namespace

std::vector<uint8_t> SumsToBytes(const std::vector<FlowSummary>& sums, const Recording& recording,
                                 const StreamInputs& inputs) {
  SumWriter writer(SpacesOf(recording, inputs));
  for (const Stream& stream : recording.streams) writer.Put(sums[stream.index], inputs.For(stream));
  return writer.Take();
}

std::optional<std::vector<FlowSummary>> SumsFromBytes(Bytes bytes, const Recording& recording,
                                                      const StreamInputs& inputs) {
  SumReader reader(SpacesOf(recording, inputs), bytes);
  std::vector<FlowSummary> sums;
  for (const Stream& stream : recording.streams) {
    sums.push_back(reader.Sum(inputs.For(stream)));
    if (!IsOf(sums.back(), stream, inputs)) return std::nullopt;
  }
  if (!reader.Done()) return std::nullopt;
  return sums;
}

KeptSums::KeptSums(const Recording& recording, const StreamInputs& inputs, IndexCache cache)
    : recording_(recording),
      inputs_(inputs),
      cache_(std::move(cache)),
      sums_(recording.streams.size()) {
  if (!IsUsable(cache_)) return;
  const auto file = DiskOf(cache_).Load(NameOf(cache_));
  if (file == nullptr) return;
  auto sums = SumsFromBytes(file->content(), recording, inputs);
  if (!sums) return;
  for (size_t i = 0; i < sums->size(); ++i) sums_[i] = std::move((*sums)[i]);
  were_kept_ = true;
}

Result<FlowSummary> KeptSums::Of(const Stream& stream, Decoder& decoder) {
  std::optional<FlowSummary>& sum = sums_[stream.index];
  if (sum) return *sum;
  Result<FlowSummary> summary = decoder.Summarize(inputs_.For(stream));
  if (summary && IsUsable(cache_)) sum = *summary;
  return summary;
}

void KeptSums::Keep() const {
  if (were_kept_ || !IsUsable(cache_)) return;
  std::vector<FlowSummary> all;
  for (const Stream& stream : recording_.streams) {
    const std::optional<FlowSummary>& sum = sums_[stream.index];
    if (!sum || !IsOf(*sum, stream, inputs_)) return;
    all.push_back(*sum);
  }
  const std::vector<uint8_t> bytes = SumsToBytes(all, recording_, inputs_);
  const DiskCache disk = DiskOf(cache_);
  if (!bytes.empty() && disk.Store(NameOf(cache_), bytes)) disk.Trim();
}

}  // namespace flowback
