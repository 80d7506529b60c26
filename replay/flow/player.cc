// SPDX-License-Identifier: MIT
// The stays of all threads, in the order in which they are played, are jobs. Workers take them in
// that order and keep what they decode in segments; the calling thread plays the segments of the
// first job that has not been played to its end, and where no worker has that job, decodes it
// itself, straight into the consumer.
//
//   jobs       played | first       | taken        | taken     | not taken yet
//                       calling       worker 1       worker 2
//                       thread
//
// A worker whose job is not the first one waits when `in_flight` segments exist already; the first
// job's worker goes on, a little ahead of the calling thread. So the calling thread always gets
// more flow, and memory is limited to those segments. A long job is always a worker's: then
// decoding it and what the consumer makes of it go on side by side.
#include "flowback/replay/player.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/threads.h"
#include "flowback/model/flow_segment.h"
#include "replay/flow/absence_notifier.h"
#include "replay/flow/table_mirror.h"

namespace flowback {
namespace {

constexpr size_t kSegmentItems = 4096;
constexpr size_t kAheadOfPlay = 2;   // segments of the job that is being played
constexpr size_t kStepsOfItem = 16;  // as many steps of batches weigh as much as an item
constexpr uint64_t kLongJob = uint64_t{1} << 18;  // bytes of trace

// One thread's flow of a stay.
struct StayJob {
  const FlowPiece* piece = nullptr;
  size_t thread = 0;  // its number
  bool begins_thread = false;
  bool ends_thread = false;

  bool IsLong() const { return piece->end - piece->begin >= kLongJob; }
};

std::vector<StayJob> JobsOf(const std::vector<const ThreadFlow*>& threads) {
  std::vector<StayJob> jobs;
  for (size_t number = 0; number < threads.size(); ++number) {
    const std::vector<FlowPiece>& pieces = threads[number]->pieces;
    for (const FlowPiece& piece : pieces)
      jobs.push_back({.piece = &piece,
                      .thread = number,
                      .begins_thread = &piece == &pieces.front(),
                      .ends_thread = &piece == &pieces.back()});
  }
  return jobs;
}

// A segment, and blocks that its batches have and those before it had not.
struct HandedSegment {
  FlowSegment flow;
  std::vector<NewBlocks> blocks;
  size_t steps = 0;  // of its batches
};

// What a worker gives the calling thread.
struct Handed {
  std::deque<std::unique_ptr<HandedSegment>> segments;
  bool ended = false;  // nothing more comes
  Status status;
};

// One call of Play on several threads.
class ParallelPlay {
 public:
  using Decode = std::function<Status(const FlowPiece&, Decoder&, ExecutionConsumer&)>;

  ParallelPlay(const std::vector<StayJob>& jobs, Decode decode, size_t in_flight,
               size_t segment_items)
      : jobs_(jobs),
        decode_(std::move(decode)),
        in_flight_(in_flight),
        segment_items_(segment_items) {}
  ~ParallelPlay() { Stop(nullptr); }
  ParallelPlay(const ParallelPlay&) = delete;
  ParallelPlay& operator=(const ParallelPlay&) = delete;

  // One thread for each decoder but the last one, which is the calling thread's.
  void Start(std::vector<std::unique_ptr<Decoder>>& decoders, std::deque<TableMirror>& mirrors) {
    StartThreads(workers_, decoders.size() - 1, [&](size_t i) { Work(*decoders[i], mirrors[i]); });
  }

  // Plays the job's flow. REQUIRES: all jobs before it have been played.
  Status Play(size_t job, Decoder& decoder, ExecutionConsumer& consumer) {
    if (!IsTaken(job)) return decode_(*jobs_[job].piece, decoder, consumer);
    while (std::unique_ptr<HandedSegment> segment = Next(job)) {
      for (const NewBlocks& blocks : segment->blocks) blocks.Add();
      segment->flow.Play(consumer);
      if (consumer.Done()) return {};
      const std::scoped_lock lock(mutex_);
      free_.push_back(std::move(segment));
    }
    const std::scoped_lock lock(mutex_);
    return std::move(handed_.extract(job).mapped().status);
  }

 private:
  // Keeps the decoded flow. The decoder goes on writing a batch's table: so the batch gets a copy
  // of it.
  class Recorder final : public ExecutionConsumer {
   public:
    Recorder(ParallelPlay& play, size_t job, TableMirror& mirror)
        : play_(play), job_(job), mirror_(mirror) {
      Begin();
    }

    void OnBlocks(const BlockBatch& batch) override {
      BlockBatch copy = batch;
      copy.table = mirror_.CopyOf(*batch.table, segment_->blocks);
      segment_->steps += batch.steps.size();
      recorder_->OnBlocks(copy);
      MaybeHand();
    }
    void OnBlock(const BlockRun& run) override {
      recorder_->OnBlock(run);
      MaybeHand();
    }
    void OnEvent(const TraceEvent& event) override {
      recorder_->OnEvent(event);
      MaybeHand();
    }
    void OnLoss(const DataLoss& loss) override {
      recorder_->OnLoss(loss);
      MaybeHand();
    }
    void OnUnknown(const UnknownFlow& unknown) override {
      recorder_->OnUnknown(unknown);
      MaybeHand();
    }
    bool Done() const override { return stopped_; }
    void Finish() {
      if (!segment_->flow.empty()) Hand();
    }

   private:
    void Begin() {
      segment_ = play_.NewSegment();
      recorder_.emplace(segment_->flow);
    }
    void MaybeHand() {
      if (segment_->flow.size() + segment_->steps / kStepsOfItem < play_.segment_items_) return;
      Hand();
      Begin();
    }
    void Hand() { stopped_ = !play_.Hand(job_, std::move(segment_)); }

    ParallelPlay& play_;
    const size_t job_;
    TableMirror& mirror_;
    std::unique_ptr<HandedSegment> segment_;
    std::optional<SegmentRecorder> recorder_;
    bool stopped_ = false;
  };

  void Work(Decoder& decoder, TableMirror& mirror) {
    try {
      for (;;) {
        const size_t job = TakeJob();
        if (job == jobs_.size()) return;
        Recorder recorder(*this, job, mirror);
        Status status = decode_(*jobs_[job].piece, decoder, recorder);
        recorder.Finish();
        const std::scoped_lock lock(mutex_);
        Handed& handed = handed_.at(job);
        handed.status = std::move(status);
        handed.ended = true;
        changed_.notify_all();
      }
    } catch (...) {
      Stop(std::current_exception());
    }
  }
  // Whether a worker has it; else nobody will.
  bool IsTaken(size_t job) {
    std::unique_lock lock(mutex_);
    playing_ = job;
    changed_.notify_all();
    // Nothing is in a worker's way to it: all before it has been played.
    if (jobs_[job].IsLong() && !workers_.empty())
      changed_.wait(lock, [&] { return stopped_ || next_ > job; });
    if (failure_) std::rethrow_exception(failure_);
    if (next_ > job) return true;
    next_ = job + 1;
    return false;
  }
  // Returns the next job; the number of jobs: no job is left.
  size_t TakeJob() {
    std::unique_lock lock(mutex_);
    // So far ahead that small stays keep all workers busy, and no further.
    changed_.wait(lock, [this] {
      return stopped_ || next_ >= jobs_.size() || (next_ <= playing_ + in_flight_ && HasRoom());
    });
    if (stopped_ || next_ >= jobs_.size()) return jobs_.size();
    handed_.try_emplace(next_);
    changed_.notify_all();
    return next_++;
  }
  bool HasRoom() const { return waiting_ < in_flight_; }
  std::unique_ptr<HandedSegment> NewSegment() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<HandedSegment>();
    std::unique_ptr<HandedSegment> segment = std::move(free_.back());
    free_.pop_back();
    segment->flow.Clear();
    segment->blocks.clear();
    segment->steps = 0;
    return segment;
  }
  // False: nothing more is wanted.
  bool Hand(size_t job, std::unique_ptr<HandedSegment> segment) {
    std::unique_lock lock(mutex_);
    Handed& handed = handed_.at(job);
    changed_.wait(lock, [&] {
      return stopped_ || (job == playing_ ? handed.segments.size() < kAheadOfPlay : HasRoom());
    });
    if (stopped_) return false;
    handed.segments.push_back(std::move(segment));
    ++waiting_;
    changed_.notify_all();
    return true;
  }
  // Null: the job has been played.
  std::unique_ptr<HandedSegment> Next(size_t job) {
    std::unique_lock lock(mutex_);
    Handed& handed = handed_.at(job);
    changed_.wait(lock, [&] { return failure_ || !handed.segments.empty() || handed.ended; });
    if (failure_) std::rethrow_exception(failure_);
    if (handed.segments.empty()) return nullptr;
    std::unique_ptr<HandedSegment> segment = std::move(handed.segments.front());
    handed.segments.pop_front();
    --waiting_;
    changed_.notify_all();
    return segment;
  }
  void Stop(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stopped_ = true;
    changed_.notify_all();
  }

  const std::vector<StayJob>& jobs_;
  const Decode decode_;
  const size_t in_flight_;
  const size_t segment_items_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, Handed> handed_;  // of jobs that workers have
  std::vector<std::unique_ptr<HandedSegment>> free_;
  size_t playing_ = 0;
  size_t next_ = 0;     // job to be taken
  size_t waiting_ = 0;  // segments, of all jobs
  bool stopped_ = false;
  std::exception_ptr failure_;  // of a worker

  std::vector<std::jthread> workers_;  // the last member: they end before the others go
};

}  // namespace

class Player::Impl {
 public:
  Impl(InputOf input_of, const TraceSource& source, MakeDecoder make_decoder, PlayOptions options)
      : input_of_(std::move(input_of)),
        source_(source),
        make_decoder_(std::move(make_decoder)),
        options_(std::move(options)) {}

  Status Play(const std::vector<const ThreadFlow*>& threads, PlayConsumer& consumer);

 private:
  Status MakeDecoders(const std::vector<StayJob>& jobs, PlayConsumer& consumer);
  bool CountsRanges(const std::vector<StayJob>& jobs) const;
  Status Decode(const FlowPiece& piece, Decoder& decoder, ExecutionConsumer& consumer) const;
  size_t in_flight() const {
    return options_.in_flight != 0 ? options_.in_flight : 2 * size_t{options_.threads};
  }
  size_t segment_items() const {
    return options_.segment_items != 0 ? options_.segment_items : kSegmentItems;
  }

  const InputOf input_of_;
  const TraceSource& source_;
  const MakeDecoder make_decoder_;
  const PlayOptions options_;
  std::vector<std::unique_ptr<Decoder>> decoders_;  // the last one is the calling thread's
  std::deque<TableMirror> mirrors_;                 // of each
};

Status Player::Impl::Play(const std::vector<const ThreadFlow*>& threads, PlayConsumer& consumer) {
  const std::vector<StayJob> jobs = JobsOf(threads);
  if (Status status = MakeDecoders(jobs, consumer); !status) return status;
  ParallelPlay play(
      jobs,
      [this](const FlowPiece& piece, Decoder& decoder, ExecutionConsumer& to) {
        return Decode(piece, decoder, to);
      },
      in_flight(), segment_items());
  for (TableMirror& mirror : mirrors_) mirror.Restart();
  play.Start(decoders_, mirrors_);
  AbsenceNotifier teller(consumer, options_.clock);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const StayJob& job = jobs[i];
    if (job.begins_thread) {
      teller.BeginThread();
      consumer.OnThreadBegin(*threads[job.thread], job.thread);
    }
    teller.BeginStay(*job.piece);
    if (Status status = play.Play(i, *decoders_.back(), teller); !status) return status;
    if (consumer.Done()) return {};
    teller.EndStay(*job.piece);
    if (job.ends_thread) consumer.OnThreadEnd(*threads[job.thread], job.thread);
  }
  return {};
}

// Whether the first decoder counts ranges of code.
bool Player::Impl::CountsRanges(const std::vector<StayJob>& jobs) const {
  return std::ranges::all_of(jobs, [this](const StayJob& job) {
    return IsWholeStream(*job.piece) &&
           decoders_.front()->CountsRanges(input_of_(*job.piece->stream));
  });
}

// As many as can be used. Ranges of code are counted as they are decoded, on the calling thread:
// that is faster than to decode blocks on others.
Status Player::Impl::MakeDecoders(const std::vector<StayJob>& jobs, PlayConsumer& consumer) {
  const bool has_long = std::ranges::any_of(jobs, &StayJob::IsLong);
  const size_t most = std::min<size_t>(options_.threads, jobs.size() + (has_long ? 1 : 0));
  while (decoders_.empty() || decoders_.size() < most) {
    if (!decoders_.empty() && consumer.ranges() != nullptr && CountsRanges(jobs)) return {};
    Result<std::unique_ptr<Decoder>> decoder = make_decoder_();
    if (!decoder) return Fail(decoder.error());
    decoders_.push_back(*std::move(decoder));
    mirrors_.emplace_back();
  }
  return {};
}

// Any thread.
Status Player::Impl::Decode(const FlowPiece& piece, Decoder& decoder,
                            ExecutionConsumer& consumer) const {
  if (options_.piece_filter && !options_.piece_filter(piece)) return {};
  const DecodeInput& input = input_of_(*piece.stream);
  if (!IsWholeStream(piece)) return DecodePiece(piece, input, source_, decoder, consumer);
  const Result<ByteAccount> account = decoder.Decode(input, consumer);
  if (!account) return Fail(account.error());
  if (consumer.Done() || !options_.check) return {};
  return options_.check(*account, *piece.stream);
}

namespace {

PlayOptions WithPart(const FlowSource& flow, PlayOptions options) {
  options.piece_filter = flow.piece_filter;
  return options;
}

}  // namespace

Player::Player(const StreamInputs& inputs, MakeDecoder make_decoder, PlayOptions options)
    : Player([&inputs](const Stream& stream) -> const DecodeInput& { return inputs.For(stream); },
             inputs.source(), std::move(make_decoder), std::move(options)) {}
Player::Player(const FlowSource& flow, PlayOptions options)
    : Player(flow.inputs, flow.make_decoder, WithPart(flow, std::move(options))) {}
Player::Player(InputOf input_of, const TraceSource& source, MakeDecoder make_decoder,
               PlayOptions options)
    : impl_(std::make_unique<Impl>(std::move(input_of), source, std::move(make_decoder),
                                   std::move(options))) {}
Player::Player(Player&&) noexcept = default;
Player& Player::operator=(Player&&) noexcept = default;
Player::~Player() = default;

Status Player::Play(const std::vector<const ThreadFlow*>& threads, PlayConsumer& consumer) {
  return impl_->Play(threads, consumer);
}

}  // namespace flowback
