// SPDX-License-Identifier: MIT
// Which objects each process had mapped, and what was lost while it had them.
//
//   process 7    sh: [sh libc]         | exec |  ls: [ls libc libselinux]
//   process 8          \ fork: [sh libc]
//                             ^ loss: sh and libc have one
//
// A process's life from one exec to the next is a program. A child begins with what its parent had.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"
#include "replay/coverage/coverage_objects.h"

namespace flowback {

class MappedObjects {
 public:
  using Losses = std::map<std::string, uint64_t>;  // how many, by cause

  MappedObjects(const Recording& recording, CoverageObjects& objects);

  // The process executed in that time. `pid` -1: it is not known which one did.
  void NoteRan(int32_t pid, TimeSpan when);
  void AddLoss(int32_t pid, TimeSpan when, const std::string& cause, uint64_t count);
  // Sets, for each object that a process which ran had mapped, what was lost meanwhile, by number.
  std::map<uint32_t, Losses> Take() const;
  // All that was lost.
  Losses AllLosses() const;

 private:
  struct Program {
    TimeSpan life;
    size_t parent = kNone;                        // whose objects it began with
    size_t inherited = 0;                         // the number of these objects
    std::vector<uint32_t> objects;                // its own, in the order of their mapping
    std::unordered_map<uint32_t, size_t> places;  // in them
    bool ran = false;
    Losses losses;
  };
  static constexpr size_t kNone = ~size_t{0};
  // No real process has more ancestors; the limit bounds the time for a file that claims so.
  static constexpr unsigned kMostAncestors = 1000;

  void Begin(int32_t pid, uint64_t time, size_t parent);
  size_t Current(int32_t pid);
  bool Has(size_t program, uint32_t object) const;
  void Map(const MmapRecord& record, CoverageObjects& objects);
  template <class Visit>
  void ForEach(int32_t pid, TimeSpan when, Visit&& visit);

  std::vector<Program> programs_;
  std::unordered_map<int32_t, std::vector<size_t>> of_process_;  // in order
  Losses nobodys_;                                               // of no process that is known
};

}  // namespace flowback
