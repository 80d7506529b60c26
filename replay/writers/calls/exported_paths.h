// SPDX-License-Identifier: MIT
// The calls of a flow summed up by call path, for formats that have one entry for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flowback/writers.h"
#include "replay/writers/calls/exported_calls.h"

namespace flowback {

// A function below a call path, or the root of a thread's.
struct ExportedPath {
  uint32_t parent = UINT32_MAX;         // before it in the list; UINT32_MAX: a thread's root
  uint32_t function = UINT32_MAX;       // kCut: several, which are not told apart
  uint64_t site = 0;                    // of the call; 0: not seen
  const AddressSpace* space = nullptr;  // in which it lies
  uint32_t thread = 0;                  // in ExportedPaths::threads
  uint64_t calls = 0;
  uint64_t instructions = 0;  // own
  uint64_t time = 0;          // in which it was the innermost one

  static constexpr uint32_t kCut = UINT32_MAX - 1;
  bool IsRoot() const { return parent == UINT32_MAX; }
};

// Needs memory for the paths, at most kMostPaths: calls in further paths become one path for each
// parent.
class ExportedPaths final : public CallsTeller {
 public:
  static constexpr size_t kMostPaths = size_t{1} << 20;

  // `sites`: calls from several places are several paths. The sink must outlive it.
  ExportedPaths(bool sites, const TextSink& sink) : sites_(sites), sink_(sink) {}

  const std::vector<ExportedPath>& paths() const { return paths_; }  // parents come first
  const std::vector<ExportedThread>& threads() const { return threads_; }
  bool is_cut() const { return is_cut_; }
  uint32_t at() const { return at_; }  // the innermost call's path

  void OnThread(const ExportedThread& thread) override;
  void OnEnter(const ExportedEntry& entry) override;
  void OnExit(const ExportedExit& exit) override;
  void OnThreadEnd(uint64_t time) override { Advance(time); }
  bool Done() const override { return sink_.closed(); }

 private:
  struct Key {
    uint32_t parent;
    uint32_t function;
    uint64_t site;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  void Advance(uint64_t time);
  uint32_t Child(const ExportedEntry& entry);

  const bool sites_;
  const TextSink& sink_;
  std::vector<ExportedPath> paths_;
  std::vector<ExportedThread> threads_;
  std::unordered_map<Key, uint32_t, KeyHash> children_;
  bool is_cut_ = false;
  // State of the current thread.
  uint32_t at_ = 0;
  std::vector<uint32_t> callers_;  // of the path that it is at
  uint64_t last_ = 0;
};

}  // namespace flowback
