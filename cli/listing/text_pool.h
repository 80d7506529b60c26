// SPDX-License-Identifier: MIT
// Pieces' text, made ahead of where it is asked for by a few threads.
//
// Each thread has a decoder, and the pieces that it began stay with it. While no thread waits for a
// piece's next chunk, two of them are made for it in advance. With one thread nothing is made in
// advance, and the one that asks makes it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/listing/piece_text.h"

namespace flowback::cli {

// All members belong to one thread, the owner's.
class TextPool {
 public:
  // A piece that is being printed. Must outlive the pool.
  class Piece {
   public:
    Piece(PieceContext& context, const FlowPiece& piece, FlowPrinter& printer)
        : text_(context, piece, printer) {}

   private:
    friend class TextPool;
    PieceText text_;
    size_t tools_ = 0;  // whose it is, from its first beginning on
    bool begun_ = false;
    std::deque<ListingText> chunks_;  // that wait to be taken
    bool at_work_ = false;            // somebody makes a chunk, or will
    bool stopped_ = false;            // nobody should
    bool ended_ = false;              // no more chunks come
    Status status_;
  };

  // Each of the tools for a thread of its own; as many as the system gives.
  explicit TextPool(std::vector<PieceTools> tools);
  ~TextPool();
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;

  // From now on the piece's text is made.
  void Begin(Piece& piece);
  // The next lines; false: that was the end, or what status says. Throws what the work threw,
  // std::bad_alloc.
  bool Next(Piece& piece, ListingText& text);
  const Status& status(const Piece& piece) const { return piece.status_; }
  // Ends the work; the piece gives its memory back, and may begin again. Returns what has been made
  // and not been taken.
  std::deque<ListingText> Stop(Piece& piece);

 private:
  static constexpr size_t kAhead = 2;  // chunks of a piece
  struct Worker {
    PieceTools tools;
    std::deque<Piece*> queue;  // that want a chunk
    size_t pieces = 0;         // that are its
  };

  void Start();
  bool WorksAhead() const { return !threads_.empty(); }
  size_t Idlest() const;
  void Want(Piece& piece);
  void Make(Piece& piece, std::unique_lock<std::mutex>& lock);
  void Run(size_t number);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Worker> workers_;
  bool started_ = false;
  bool quit_ = false;
  std::exception_ptr failure_;

  std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace flowback::cli
