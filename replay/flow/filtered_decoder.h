// SPDX-License-Identifier: MIT
// A decoder that delivers only a part of another one's flow.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"

namespace flowback {

// What passes a filter, read in segments. The filter goes on over the borders of segments: its
// state is a part of the reader's.
template <class Filter>
class FilteredReader final : public FlowReader {
 public:
  FilteredReader(std::unique_ptr<FlowReader> reader, Filter filter)
      : reader_(std::move(reader)), filter_(std::move(filter)) {}

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override {
    filter_.PassTo(consumer);
    reader_->ReadTo(offset, filter_);
  }
  uint64_t offset() const override { return reader_->offset(); }
  bool at_end() const override { return reader_->at_end() || filter_.is_over(); }
  size_t waiting() const override { return reader_->waiting(); }

  std::shared_ptr<const State> Save() override {
    return std::make_shared<Kept>(reader_->Save(), filter_);
  }
  void Return(const State& state) override {
    const Kept& kept = static_cast<const Kept&>(state);
    reader_->Return(*kept.inner);
    filter_ = kept.filter;
  }

 private:
  struct Kept final : State {
    Kept(std::shared_ptr<const State> state, const Filter& at)
        : inner(std::move(state)), filter(at) {}

    std::shared_ptr<const State> inner;
    Filter filter;
  };

  std::unique_ptr<FlowReader> reader_;
  Filter filter_;
};

// A filter is a consumer that can be copied. PassTo sets the consumer behind it; is_over() says
// that no later element can pass. Each stream gets a new copy of `filter`. Decode's byte account
// covers only a part if a filter ended the decoding.
template <class Filter>
class FilteredDecoder final : public Decoder {
 public:
  FilteredDecoder(std::unique_ptr<Decoder> decoder, Filter filter)
      : decoder_(std::move(decoder)), filter_(std::move(filter)) {}

  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    Filter filter = filter_;
    filter.PassTo(consumer);
    return decoder_->Decode(input, filter);
  }
  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    Result<std::unique_ptr<FlowReader>> reader = decoder_->Read(input);
    if (!reader) return reader;
    return std::make_unique<FilteredReader<Filter>>(*std::move(reader), filter_);
  }

 private:
  std::unique_ptr<Decoder> decoder_;
  const Filter filter_;
};

}  // namespace flowback
