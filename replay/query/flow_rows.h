// SPDX-License-Identifier: MIT
// Rows from the flow of threads, one share of the flow index after the other.
//
//   shares of a thread   |------|------|------|------|------|------|
//   limits                              [----------]
//   played                      |------|------|------|  and on, while a row that fits is not over
//
// Memory: the rows of one share, however long the recording is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowback/model/block_batch.h"
#include "flowback/replay/flow_index.h"
#include "replay/query/query_source.h"
#include "replay/query/table.h"

namespace flowback {

class FlowRows : public QueryRows, protected ExecutionConsumer {
 public:
  // Both must outlive it. REQUIRES: source.Index() has succeeded.
  FlowRows(QuerySource& source, const QueryLimits& limits);

  Result<bool> Next() final;

 protected:
  QuerySource& source() const { return source_; }
  const QueryLimits& limits() const { return limits_; }
  const QueriedThread& thread() const { return source_.threads()[thread_]; }
  const IndexedThread& flow() const { return *flow_; }
  // The share that was played last, or is being played.
  const FlowShare& share() const { return flow_->shares[share_ - 1]; }
  const RecordingClock& clock() const { return source_.session().clock(); }
  // Which of the rows that the share gave is the current one.
  size_t row() const { return row_; }

  // Before a share is played the rows of the last one are forgotten.
  virtual size_t row_count() const = 0;
  virtual void ForgetRows() = 0;
  // Begins a thread: the share with that number is the first one that can have rows that fit.
  // Returns the number of the share to begin with, which is not behind it.
  virtual size_t BeginThread(size_t share) = 0;
  // Whether a share of the thread is played at all.
  virtual bool Wants(const FlowShare& /*share*/) const { return true; }
  // The thread's flow was played up to its end.
  virtual void EndThread() {}
  // What the thread has behind the last element that was played has no row that fits. Asked behind
  // each element.
  virtual bool IsOver() const = 0;

  // Blocks go to these first.
  void Pass(const BlockRun& run) { Pass(run.lengths.size(), run.tsc); }
  void Pass(const BlockBatch& batch) { Pass(batch.instructions(), batch.last_tsc()); }
  // Returns the time of the last block with a known time; 0: no block has one.
  uint64_t now() const { return now_; }

 private:
  void Pass(uint64_t instructions, uint64_t tsc) {
    source_.effort().instructions += instructions;
    if (tsc != 0) now_ = clock().Value(tsc);
  }
  bool Done() const final { return IsOver(); }
  bool EnterNextThread();
  // False: there is no further share.
  bool PlayNextShare();
  bool IsBefore(const FlowShare& share) const;
  bool IsBehind(const FlowShare& share) const;

  QuerySource& source_;
  const QueryLimits limits_;
  FlowIndex& index_;
  size_t thread_ = 0;
  const IndexedThread* flow_ = nullptr;  // null: the thread has not begun
  size_t share_ = 0;
  size_t row_ = 0;
  bool has_row_ = false;
  uint64_t now_ = 0;
};

// Forwards to Open: makes rows of a class that derives from FlowRows once the index is there.
template <class Rows>
Result<std::unique_ptr<QueryRows>> OpenFlowRows(QuerySource& source, const QueryLimits& limits) {
  if (Result<FlowIndex*> index = source.Index(); !index) return Fail(index.error());
  return std::make_unique<Rows>(source, limits);
}

}  // namespace flowback
