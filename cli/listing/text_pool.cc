// SPDX-License-Identifier: MIT
#include "cli/listing/text_pool.h"

#include <algorithm>
#include <utility>

#include "base/threads.h"

namespace flowback::cli {

TextPool::TextPool(std::vector<PieceTools> tools) {
  for (PieceTools& each : tools) workers_.push_back({.tools = std::move(each), .queue = {}});
}

void TextPool::Start() {
  if (std::exchange(started_, true) || workers_.size() < 2) return;
  StartThreads(threads_, workers_.size(), [this](size_t number) { Run(number); });
  // Pieces are given to those only that run.
  const std::scoped_lock lock(mutex_);
  if (!threads_.empty()) workers_.resize(threads_.size());
}

TextPool::~TextPool() {
  {
    const std::scoped_lock lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
}

size_t TextPool::Idlest() const {
  const auto idlest = std::ranges::min_element(workers_, {}, &Worker::pieces);
  return static_cast<size_t>(idlest - workers_.begin());
}

void TextPool::Begin(Piece& piece) {
  Start();
  const std::scoped_lock lock(mutex_);
  // A place that was kept is its decoder's, so a piece that has rested goes on with the same one.
  if (!std::exchange(piece.begun_, true)) piece.tools_ = Idlest();
  ++workers_[piece.tools_].pieces;
  piece.stopped_ = false;
  if (WorksAhead()) Want(piece);
}

// Somebody makes the piece's next chunk, unless there are enough.
void TextPool::Want(Piece& piece) {
  if (piece.at_work_ || piece.stopped_ || piece.ended_ || piece.chunks_.size() >= kAhead) return;
  piece.at_work_ = true;
  workers_[piece.tools_].queue.push_back(&piece);
  changed_.notify_all();
}

bool TextPool::Next(Piece& piece, ListingText& text) {
  std::unique_lock lock(mutex_);
  if (!WorksAhead() && piece.chunks_.empty() && !piece.ended_) Make(piece, lock);
  changed_.wait(lock, [&] { return failure_ || !piece.chunks_.empty() || piece.ended_; });
  if (failure_) std::rethrow_exception(failure_);
  if (piece.chunks_.empty()) {
    --workers_[piece.tools_].pieces;
    return false;
  }
  text = std::move(piece.chunks_.front());
  piece.chunks_.pop_front();
  if (WorksAhead()) Want(piece);
  return true;
}

std::deque<ListingText> TextPool::Stop(Piece& piece) {
  std::unique_lock lock(mutex_);
  piece.stopped_ = true;
  std::deque<Piece*>& queue = workers_[piece.tools_].queue;
  if (std::erase(queue, &piece) != 0) piece.at_work_ = false;
  changed_.wait(lock, [&] { return failure_ || !piece.at_work_; });
  if (failure_) std::rethrow_exception(failure_);
  --workers_[piece.tools_].pieces;
  piece.text_.Rest();
  return std::exchange(piece.chunks_, {});
}

// Makes a chunk. REQUIRES: nobody else does for this piece, or with its tools.
void TextPool::Make(Piece& piece, std::unique_lock<std::mutex>& lock) {
  PieceTools& tools = workers_[piece.tools_].tools;
  ListingText text{.text = {}, .marks = {}, .keeps_marks = true};
  lock.unlock();
  Status status = piece.text_.Print(tools, text);
  lock.lock();
  piece.ended_ = !status || piece.text_.ended();
  piece.status_ = std::move(status);
  if (!text.text.empty()) piece.chunks_.push_back(std::move(text));
}

void TextPool::Run(size_t number) {
  std::unique_lock lock(mutex_);
  try {
    for (;;) {
      changed_.wait(lock, [&] { return quit_ || failure_ || !workers_[number].queue.empty(); });
      if (quit_ || failure_) return;
      Piece& piece = *workers_[number].queue.front();
      workers_[number].queue.pop_front();
      Make(piece, lock);
      piece.at_work_ = false;
      Want(piece);
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

}  // namespace flowback::cli
