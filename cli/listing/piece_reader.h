// SPDX-License-Identifier: MIT
// A piece of flow decoded and printed on a thread of its own, as far as its text is asked for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>

#include "cli/listing/flow_printer.h"
#include "flowback/decode/decoder.h"

namespace flowback::cli {

// What all readers of a listing share.
struct ReaderContext {
  // So many of them work at a time; the others wait.
  std::counting_semaphore<>& permits;
  // Gives the consumer a piece's flow, the same one each time. Any thread.
  std::function<Status(const FlowPiece& piece, Decoder& decoder, ExecutionConsumer& consumer)>
      decode;
  std::mutex tally;       // of PrintSettings::losses
  size_t chunk_size = 0;  // of text, in bytes, about
};

// All members belong to one thread, the owner's.
class PieceReader {
 public:
  // Throws std::system_error where the system gives no thread.
  PieceReader(const PrintSettings& settings, ReaderContext& context,
              std::unique_ptr<Decoder> decoder);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  // Prints the piece without its first `skip` items (blocks, events and losses), which were printed
  // before. REQUIRES: it is new, has been stopped, or Next has said that the piece ends. `printer`
  // must outlive the work.
  void Start(const FlowPiece& piece, FlowPrinter& printer, uint64_t skip);
  // The next lines, complete ones; false at the piece's end. Waits for them.
  bool Next(ListingText& text);
  // Ends the work. What has been printed is there to be taken by Next. Returns how many items of
  // the piece have been printed now, in all, and whether that is all of them.
  struct Stopped {
    uint64_t items = 0;
    bool at_end = false;
  };
  Stopped Stop();
  // Next and Stop throw what the work threw, std::bad_alloc.
  // Why decoding ended, when it was an error.
  const Status& status() const { return status_; }

 private:
  class Consumer;
  static constexpr size_t kChunks = 2;  // that wait to be taken

  void Run();
  void Work(std::unique_lock<std::mutex>& lock);
  bool Push(ListingText& text);

  ReaderContext& context_;
  const PrintSettings& settings_;
  std::unique_ptr<Decoder> decoder_;
  PrintTools tools_;

  std::mutex mutex_;
  std::condition_variable changed_;
  const FlowPiece* piece_ = nullptr;  // null: nothing to do
  FlowPrinter* printer_ = nullptr;
  uint64_t items_ = 0;              // of the piece that have been printed
  std::atomic<bool> stop_ = false;  // ends the work on the piece
  bool quit_ = false;               // ends the thread
  bool at_end_ = false;
  std::deque<ListingText> chunks_;
  Status status_;
  std::exception_ptr failure_;

  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace flowback::cli
