// SPDX-License-Identifier: MIT
// Plays threads' flow to a consumer: one thread after the other, each in program order over all
// CPUs that it ran on, with its events in their places.
//
//   thread begins
//     stay begins  (CPU 3)     blocks, events, losses; untraced: a system call; blocks ...   stay
//     ends absent: off CPUs stay begins  (CPU 0)     blocks ... stay ends
//   thread ends
//
// The stays are decoded side by side, on as many threads as one likes: each from the sync point
// before it, which contains the whole state. The consumer, on the calling thread, gets the same for
// any number of threads, and any number and size of segments in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/execution.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback {

// A time in which a thread has no flow although nothing was lost.
struct Absence {
  enum class Kind : uint8_t {
    kOffCpu,    // between two stays on CPUs
    kUntraced,  // on a CPU: in the kernel where user code alone is traced, or at a place that the
                // recorder's filters leave out
  };
  Kind kind{};
  uint64_t begin = 0;  // values of the RecordingClock, the best estimates; begin < end
  uint64_t end = 0;
};

// Gets the flow of one thread after the other. Once it is Done nothing follows, not even an end.
class PlayConsumer : public ExecutionConsumer {
 public:
  // `number` is the thread's in the list that is played.
  virtual void OnThreadBegin(const ThreadFlow& /*thread*/, size_t /*number*/) {}
  virtual void OnThreadEnd(const ThreadFlow& /*thread*/, size_t /*number*/) {}
  // The thread comes to the CPU whose stream that is, or, of a stream that is one thread's, goes on
  // in it.
  virtual void OnStayBegin(const FlowPiece& /*stay*/) {}
  virtual void OnStayEnd(const FlowPiece& /*stay*/) {}
  // Between two stays, or ahead of the event or the end of the stay that ends it. Only where both
  // its ends are known.
  virtual void OnAbsence(const Absence& /*absence*/) {}
};

struct PlayOptions {
  // Threads that decode, with the calling one: that works while others do, and alone with 1.
  unsigned threads = 1;
  // The largest number of decoded segments that wait to be played, beside those of the stay that is
  // being played; 0: the player chooses.
  size_t in_flight = 0;
  // Items (block runs, events, losses) of a segment; 0: the player chooses.
  size_t segment_items = 0;
  // Enables absences; must outlive the player.
  const RecordingClock* clock = nullptr;
  // Which stays are decoded at all; the others begin and end only. Empty: all.
  std::function<bool(const FlowPiece& stay)> piece_filter{};
  // Checks the byte account of each stream that was decoded from begin to end in one piece. May be
  // empty.
  std::function<Status(const ByteAccount& account, const Stream& stream)> check{};
};

// Needs memory for the segments in flight and its decoders, however long the flow is. The decoders
// are kept, so that a second Play is warm.
class Player {
 public:
  // Makes a decoder for each thread that decodes; called by the thread that calls Play.
  using MakeDecoder = std::function<Result<std::unique_ptr<Decoder>>()>;

  // How a stream is decoded; may be called by any thread.
  using InputOf = std::function<const DecodeInput&(const Stream& stream)>;

  // `inputs` must outlive it.
  Player(const StreamInputs& inputs, MakeDecoder make_decoder, PlayOptions options);
  // As above. FlowSource::piece_filter takes the place of PlayOptions::piece_filter.
  Player(const FlowSource& flow, PlayOptions options);
  // The same, of streams of any making. `source` must outlive it.
  Player(InputOf input_of, const TraceSource& source, MakeDecoder make_decoder,
         PlayOptions options);
  Player(Player&&) noexcept;
  Player& operator=(Player&&) noexcept;
  ~Player();

  // Errors: as Decoder::Decode's, PlayOptions::check's and MakeDecoder's; what came before has been
  // played. Blocks point into the player's decoders.
  Status Play(const std::vector<const ThreadFlow*>& threads, PlayConsumer& consumer);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
