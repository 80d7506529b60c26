// SPDX-License-Identifier: MIT
// All threads of an index at one moment: what did the others do while this one waited?
//
//   CursorGroup group(index);
//   group.ToTime(cursor.tsc());
//   for (size_t i = 0; i < group.size(); ++i) Use(group[i]);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "flowback/replay/thread_cursor.h"

namespace flowback {

// A cursor for each thread, of which the few that were used last are in memory: a recording may
// have thousands of threads. Belongs to the index's thread, and must not outlive the index.
class CursorGroup {
 public:
  // So many cursors are in memory at most.
  static constexpr size_t kLive = 8;

  // Each at its thread's first element.
  explicit CursorGroup(FlowIndex& index);
  CursorGroup(CursorGroup&&) noexcept;
  CursorGroup& operator=(CursorGroup&&) noexcept;
  ~CursorGroup();

  // Threads, in the index's order.
  size_t size() const;
  // All of them as ThreadCursor::ToTime.
  void ToTime(uint64_t tsc);
  // The thread's cursor, where ToTime and those who moved it left it. Valid until kLive others have
  // been asked for. REQUIRES: thread < size().
  ThreadCursor& operator[](size_t thread);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
