// SPDX-License-Identifier: MIT
#include "decode/pt/libipt/libipt_decoder.h"

#include <new>

#include "decode/pt/libipt/stream_decoder.h"

namespace flowback {
namespace {

using libipt::StreamDecoder;

class LibiptReader final : public FlowReader {
 public:
  explicit LibiptReader(const DecodeInput& input) : stream_(input) {}

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override {
    Expect(stream_.RunTo(offset, consumer));
  }
  uint64_t offset() const override { return stream_.offset(); }
  bool at_end() const override { return stream_.at_end(); }
  size_t waiting() const override { return stream_.waiting(); }

  std::shared_ptr<const State> Save() override {
    return std::make_shared<const Kept>(stream_.Save());
  }
  void Return(const State& state) override {
    Expect(stream_.Return(*static_cast<const Kept&>(state).place));
  }

 private:
  struct Kept final : State {
    explicit Kept(std::shared_ptr<const StreamDecoder::Place> kept) : place(std::move(kept)) {}
    std::shared_ptr<const StreamDecoder::Place> place;
  };

  // All that can fail is that libipt gets no memory for a decoder.
  static void Expect(const Status& status) {
    if (!status) throw std::bad_alloc();
  }

  StreamDecoder stream_;
};

class LibiptDecoder final : public Decoder {
 public:
  Result<ByteAccount> Decode(const DecodeInput& input, ExecutionConsumer& consumer) override {
    StreamDecoder stream(input);
    if (Status status = stream.RunTo(StreamDecoder::kEnd, consumer); !status)
      return Fail(status.error());
    return stream.account();
  }
  Result<std::unique_ptr<FlowReader>> Read(const DecodeInput& input) override {
    return std::make_unique<LibiptReader>(input);
  }
};

}  // namespace

std::unique_ptr<Decoder> MakeLibiptDecoder() { return std::make_unique<LibiptDecoder>(); }

}  // namespace flowback
