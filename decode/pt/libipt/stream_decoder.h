// SPDX-License-Identifier: MIT
// The reference engine's outer loop: from one PSB to the next place where libipt can't go on.
//
// A stream is first divided at the gaps its recorder reported. In each part the packets from a PSB
// on are read once for readability, up to the first that libipt does not know: walking only over
// whole, known packets keeps damage from eating good packets before it (see walk.h). If a walk ends
// early, the next one starts at the next PSB, and the bytes between are a loss.
//
// Keeping the place where it stands. libipt's decoder can't be copied. But the same walk over the
// same bytes and code takes the same steps. So the decoder keeps a copy of its own state from where
// the walk began, and the number of rounds since; returning there means to go through them again,
// in silence. To a place further on in the walk at hand only the rounds between are gone through.
//
//   loss | walk ............... | loss | walk ...................... | loss
//        PSB                  error    PSB: what was ours   ^ kept: the number of rounds
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "decode/null_consumer.h"
#include "decode/pt/libipt/code_reader.h"
#include "decode/pt/libipt/flow_writer.h"
#include "decode/pt/libipt/readable.h"
#include "decode/pt/libipt/walk.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/decode/decoder.h"

namespace flowback::libipt {

class StreamDecoder {
 public:
  static constexpr uint64_t kEnd = ~uint64_t{0};

  // All that is known at a place; see Save.
  struct Place;

  // `input` must outlive it.
  explicit StreamDecoder(const DecodeInput& input);

  // Hands on the flow up to the first packet after `offset`; to the stream's end with kEnd. Stops
  // for good once the consumer is done. Errors: kSystem, where libipt gets no memory.
  Status RunTo(uint64_t offset, ExecutionConsumer& consumer);
  uint64_t offset() const { return now_.offset; }
  bool at_end() const { return now_.phase == Phase::kEnd; }
  // The account of the whole stream, once it is at the end.
  ByteAccount account() const;
  // Pieces that wait for what proves where they lead.
  size_t waiting() const { return now_.writer.waiting(); }

  std::shared_ptr<const Place> Save() const;
  // REQUIRES: a place of this decoder, or of another one of an equal input.
  Status Return(const Place& place);

 private:
  // A loss whose end is found later.
  struct OpenLoss {
    LossCause cause = LossCause::kNoSync;
    uint64_t begin = 0;
    uint64_t last_ip = 0;
    std::string detail;
    std::shared_ptr<const CodeSection> code = nullptr;
  };
  // What comes next.
  enum class Phase : uint8_t { kPart, kSearch, kWalk, kEnd };
  // One go over the packets of a walk; see walk.h for why there may be several.
  struct Attempt {
    WalkRange range;
    WalkEnd first;      // how the first one ended
    uint64_t skip = 0;  // steps handed on by earlier attempts
    int cuts = 0;       // attempts made before this one
  };
  // All that is ours, as a value.
  struct Progress {
    Progress(const DecodeInput& input, ExecutionConsumer& consumer)
        : code(input), writer(consumer) {}

    Phase phase = Phase::kPart;
    size_t next_gap = 0;      // the first that has not been gone past
    uint64_t part_begin = 0;  // the part at hand, between two gaps; half-open
    uint64_t part_end = 0;
    bool behind_gap = false;   // the one before `next_gap` is in front of the next part
    OpenLoss loss;             // ends at the next place to begin
    bool must_report = false;  // even if it has no bytes
    uint64_t search_from = 0;  // for a PSB
    uint64_t psb = 0;          // where the walk at hand began
    std::shared_ptr<const Readable> readable = std::make_shared<Readable>();
    ImageReader code;
    FlowWriter writer;
    uint64_t retired = 0;  // instructions before the walk at hand
    ByteAccount account;   // without what was decoded
    uint64_t offset = 0;   // the flow has been read so far
    bool stopped = false;  // the consumer was done
  };

  Status Step(uint64_t offset);
  void BeginPart();
  void EndPart();
  Status Search();
  Status BeginWalk(uint64_t psb);
  Status BeginAttempts();
  Status BeginAttempt();
  Status GoOnWalking(const Walk::Limit& limit);
  Status EndAttempt(WalkEnd end);
  void EndWalk(const WalkEnd& end);
  OpenLoss LossOf(const WalkEnd& end, pt_error_code code) const;
  void TellEndlessEnd(uint64_t ip);
  void Report(OpenLoss loss, uint64_t end);
  bool IsAhead(const Place& place) const;
  Status GoBack(const Place& place);
  Bytes part() const { return input_.bytes.first(now_.part_end); }

  const DecodeInput& input_;
  StreamWindow window_;
  NullConsumer nobody_;
  Progress now_;
  // While it walks; what `now_` was when that began.
  std::shared_ptr<const Progress> started_;
  Attempt attempt_;
  std::optional<Walk> walk_;
};

struct StreamDecoder::Place {
  std::shared_ptr<const Progress> progress;
  bool walks = false;   // `progress` is where that began
  int cuts = 0;         // attempts before the one at hand
  uint64_t rounds = 0;  // of that
  uint64_t offset = 0;
};

}  // namespace flowback::libipt
