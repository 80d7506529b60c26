// SPDX-License-Identifier: MIT
#include "cli/listing/piece_reader.h"

#include <utility>

namespace flowback::cli {
namespace {

// Readers are many: each keeps the text of the code that it is in.
constexpr size_t kCacheBytes = PrintTools::kCacheBytes / 16;

// One of the permits to work.
class Permit {
 public:
  explicit Permit(std::counting_semaphore<>& permits) : permits_(permits) { permits_.acquire(); }
  ~Permit() { permits_.release(); }
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;

 private:
  std::counting_semaphore<>& permits_;
};

}  // namespace

// Prints items and passes the text on in chunks.
class PieceReader::Consumer final : public ExecutionConsumer {
 public:
  Consumer(PieceReader& reader, FlowPrinter& printer, uint64_t skip)
      : reader_(reader), printer_(printer), skip_(skip), items_(skip) {
    text_.keeps_marks = true;
    printer_.WriteTo(text_);
    printer_.Use(reader.tools_);
  }

  void OnBlock(const BlockRun& run) override {
    if (!Takes()) return;
    printer_.OnBlock(run);
    MaybePush();
  }
  void OnEvent(const TraceEvent& event) override {
    if (!Takes()) return;
    printer_.OnEvent(event);
    MaybePush();
  }
  void OnLoss(const DataLoss& loss) override {
    if (!Takes()) return;
    if (reader_.settings_.ContainsLoss(loss)) {
      const std::scoped_lock lock(reader_.context_.tally);
      reader_.settings_.losses->Add(loss);
    }
    printer_.OnLoss(loss);
    MaybePush();
  }
  // Once it has said so it takes nothing more: what comes then may have holes.
  bool Done() const override {
    stopped_ = stopped_ || reader_.stop_.load(std::memory_order_relaxed);
    return stopped_;
  }

  bool stopped() const { return stopped_; }
  uint64_t items() const { return items_; }
  ListingText& text() { return text_; }

 private:
  static constexpr size_t kItems = 16384;

  // Marks take room, too.
  size_t Size() const { return text_.text.size() + text_.marks.size() * sizeof(LineMark); }

  bool Takes() {
    if (stopped_) return false;
    if (skip_ == 0) {
      ++items_;
      return true;
    }
    --skip_;
    return false;
  }
  void MaybePush() {
    // Somebody may be waiting for a line where lines are rare.
    const bool waited = ++since_push_ >= kItems && !text_.text.empty();
    if (Size() < reader_.context_.chunk_size && !waited) return;
    since_push_ = 0;
    if (!reader_.Push(text_)) stopped_ = true;
  }

  PieceReader& reader_;
  FlowPrinter& printer_;
  uint64_t skip_;   // items that are still to be left out
  uint64_t items_;  // that have been printed, with those left out
  ListingText text_;
  size_t since_push_ = 0;
  mutable bool stopped_ = false;
};

PieceReader::PieceReader(const PrintSettings& settings, ReaderContext& context,
                         std::unique_ptr<Decoder> decoder)
    : context_(context),
      settings_(settings),
      decoder_(std::move(decoder)),
      tools_(settings, kCacheBytes),
      thread_([this] { Run(); }) {}

PieceReader::~PieceReader() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = quit_ = true;
  }
  changed_.notify_all();
}

void PieceReader::Start(const FlowPiece& piece, FlowPrinter& printer, uint64_t skip) {
  const std::scoped_lock lock(mutex_);
  chunks_.clear();
  piece_ = &piece;
  printer_ = &printer;
  items_ = skip;
  stop_ = false;
  at_end_ = false;
  changed_.notify_all();
}

bool PieceReader::Next(ListingText& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !chunks_.empty() || piece_ == nullptr; });
  if (failure_) std::rethrow_exception(failure_);
  if (chunks_.empty()) return false;
  text = std::move(chunks_.front());
  chunks_.pop_front();
  changed_.notify_all();
  return true;
}

PieceReader::Stopped PieceReader::Stop() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return piece_ == nullptr; });
  if (failure_) std::rethrow_exception(failure_);
  return {.items = items_, .at_end = at_end_};
}

void PieceReader::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quit_ || piece_ != nullptr; });
    if (quit_) return;
    try {
      Work(lock);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
    }
    piece_ = nullptr;
    changed_.notify_all();
  }
}

void PieceReader::Work(std::unique_lock<std::mutex>& lock) {
  const FlowPiece& piece = *piece_;
  Consumer consumer(*this, *printer_, items_);
  lock.unlock();
  Status status;
  {
    const Permit permit(context_.permits);
    status = context_.decode(piece, *decoder_, consumer);
  }
  lock.lock();
  status_ = std::move(status);
  items_ = consumer.items();
  at_end_ = !consumer.stopped();
  if (!consumer.text().text.empty()) chunks_.push_back(std::move(consumer.text()));
}

// False when no more is wanted.
bool PieceReader::Push(ListingText& text) {
  std::unique_lock lock(mutex_);
  chunks_.push_back(std::exchange(text, {.text = {}, .marks = {}, .keeps_marks = true}));
  changed_.notify_all();
  if (stop_) return false;
  if (chunks_.size() < kChunks) return true;
  lock.unlock();
  context_.permits.release();
  lock.lock();
  changed_.wait(lock, [this] { return stop_ || chunks_.size() < kChunks; });
  const bool goes_on = !stop_;
  lock.unlock();
  context_.permits.acquire();
  return goes_on;
}

}  // namespace flowback::cli
