// SPDX-License-Identifier: MIT
// A flow in segments from a decoder that can't keep its state: each segment is found by decoding
// from the begin and passing over what has been told. Segments become longer, up to a bound, so
// that all but long streams are decoded a few times only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"

namespace flowback {

class RepeatedReader final : public FlowReader {
 public:
  // Both must outlive it. Errors: as Decoder::Decode.
  static Result<std::unique_ptr<FlowReader>> Open(Decoder& decoder, const DecodeInput& input) {
    auto reader = std::make_unique<RepeatedReader>(decoder, input);
    Part nothing(0, 0, nullptr);
    const Result<ByteAccount> account = decoder.Decode(input, nothing);
    if (!account) return Fail(account.error());
    return reader;
  }
  RepeatedReader(Decoder& decoder, const DecodeInput& input) : decoder_(decoder), input_(input) {}

  // Tells a number of items, wherever they lie.
  void ReadTo(uint64_t /*offset*/, ExecutionConsumer& consumer) override {
    Part part(told_, items_, &consumer);
    // That it can be set up was seen when this was opened.
    static_cast<void>(decoder_.Decode(input_, part));
    told_ += part.passed();
    at_end_ = !part.is_full();
    items_ = std::min(2 * items_, kMostItems);
  }
  uint64_t offset() const override { return at_end_ ? input_.bytes.size() : input_.from; }
  bool at_end() const override { return at_end_; }
  size_t waiting() const override { return 0; }
  std::shared_ptr<const State> Save() override {
    return std::make_shared<Kept>(told_, items_, at_end_);
  }
  void Return(const State& state) override {
    std::tie(told_, items_, at_end_) = static_cast<const Kept&>(state).place;
  }

 private:
  static constexpr uint64_t kFirstItems = 4096;  // block runs, events, losses
  static constexpr uint64_t kMostItems = uint64_t{1} << 17;

  struct Kept final : State {
    Kept(uint64_t told, uint64_t items, bool at_end) : place(told, items, at_end) {}
    std::tuple<uint64_t, uint64_t, bool> place;
  };

  // So many items, behind so many.
  class Part final : public ExecutionConsumer {
   public:
    Part(uint64_t skip, uint64_t most, ExecutionConsumer* next)
        : skip_(skip), most_(most), next_(next) {}

    void OnBlock(const BlockRun& run) override {
      if (Passes()) next_->OnBlock(run);
    }
    void OnEvent(const TraceEvent& event) override {
      if (Passes()) next_->OnEvent(event);
    }
    void OnLoss(const DataLoss& loss) override {
      if (Passes()) next_->OnLoss(loss);
    }
    bool Done() const override { return is_full() || next_->Done(); }

    bool is_full() const { return passed_ == most_; }
    uint64_t passed() const { return passed_; }

   private:
    bool Passes() {
      if (skip_ != 0) {
        --skip_;
        return false;
      }
      if (is_full()) return false;
      ++passed_;
      return true;
    }

    uint64_t skip_;
    const uint64_t most_;
    ExecutionConsumer* next_;  // of no items: null
    uint64_t passed_ = 0;
  };

  Decoder& decoder_;
  const DecodeInput& input_;
  uint64_t told_ = 0;  // items
  uint64_t items_ = kFirstItems;
  bool at_end_ = false;
};

}  // namespace flowback
