// SPDX-License-Identifier: MIT
// What the tables of a query read: an opened recording and what analyses made of it, each once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/call_stack.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_stack.h"
#include "flowback/replay/timeline.h"
#include "flowback/session.h"
#include "replay/timeline/function_table.h"

namespace flowback {

// One of the selected threads, as the flow index has it.
struct QueriedThread {
  const StreamOwner* owner = nullptr;
  size_t number = 0;  // in the index
};

// What scans of tables cost so far.
struct QueryEffort {
  uint64_t instructions = 0;  // that were played for rows
  uint64_t shares = 0;
  uint64_t all_instructions = 0;  // of the selected threads; 0: no index was asked for
};

// Belongs to one thread.
class QuerySource {
 public:
  // `session` has its threads selected, and must outlive this.
  explicit QuerySource(Session& session);
  ~QuerySource();

  Session& session() { return session_; }
  // The functions that the rows of calls name.
  FunctionTable& functions() { return functions_; }
  QueryEffort& effort() { return effort_; }
  const QueryEffort& effort() const { return effort_; }
  // The name of the thread when the recording ends; empty: not known.
  std::string_view CommOf(int32_t tid) const;

  // Errors: kUnsupported if the recording holds no trace, or none that flow follows from.
  Status CheckFlow() const;
  // Errors: as CheckFlow; kUnsupported if the recording holds samples. `what` names in plural the
  // facts that those lack.
  Status CheckWholeFlow(std::string_view what) const;

  // Returns what the selected threads did; made by the first call. Errors: as MakeTimeline's.
  Result<const Timeline*> TimelineOfThreads();
  // Returns the index of the flow; made by the first call. Errors: as Session::Index.
  Result<FlowIndex*> Index();
  // REQUIRES: Index has succeeded.
  const std::vector<QueriedThread>& threads() const { return threads_; }
  // Makes `stack` what it was at the begin of that share, or of one before it. Returns that share's
  // number. Of calls that are open there it knows what KeptStacks::GoTo says.
  size_t EnterStack(const QueriedThread& thread, size_t share, CallStack& stack);
  // Returns the thread's stack before the first element whose time is not before that value of the
  // clock. Empty: not in its flow.
  std::optional<ThreadStack> StackAt(const QueriedThread& thread, uint64_t time);

  // Returns what `make` returned when this name was asked for first. REQUIRES: each name has one
  // type.
  template <class Found>
  Result<const Found*> Once(const std::string& name, const std::function<Result<Found>()>& make) {
    std::shared_ptr<const void>& found = found_[name];
    if (found == nullptr) {
      Result<Found> made = make();
      if (!made) return Fail(made.error());
      found = std::make_shared<const Found>(*std::move(made));
    }
    return static_cast<const Found*>(found.get());
  }

  // Asks `stop` while rows are made from the flow: true ends the scan with an error. An empty
  // function never does.
  void StopWhen(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool stops() const { return stop_ && stop_(); }

  // Keeps for later commands what was made. Call it when no user waits.
  void Keep() const;

 private:
  class Kept;
  bool HasStacks(const QueriedThread& thread);

  Session& session_;
  FunctionTable functions_;
  QueryEffort effort_;
  std::function<bool()> stop_;
  FlowIndex* index_ = nullptr;  // the session's
  std::vector<QueriedThread> threads_;
  std::unique_ptr<Kept> kept_;
  std::map<std::string, std::shared_ptr<const void>> found_;
};

}  // namespace flowback
