// SPDX-License-Identifier: MIT
// Where in a stream the stays of its CPU began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

// The pauses in which a stay may have begun: the stream offsets of the first one and of the last.
// If `first` is greater than `last`, the place is unknown.
struct SwitchPlace {
  uint64_t first = 1;
  uint64_t last = 0;
  bool missed = false;  // it began in none of these, so the stream lacks that pause

  bool found() const { return first <= last; }
  bool known() const { return found() && !missed; }
  bool operator==(const SwitchPlace&) const = default;
};

// The places of a number of stays. A CPU may have many stays and many buffers with little trace in
// each; then most stays have the same place as the stay before. So runs of stays with one place are
// kept, only a few for each pause.
class SwitchPlaces {
 public:
  // A half-open range of consecutive stays.
  struct Run {
    size_t begin = 0;
    size_t end = 0;
    SwitchPlace place;

    bool operator==(const Run&) const = default;
  };

  SwitchPlaces() = default;
  explicit SwitchPlaces(size_t stays) : stays_(stays) {}

  // REQUIRES: the stays are behind those of all runs so far.
  void Add(size_t begin, size_t end, const SwitchPlace& place);
  // A switch is not behind the one that follows it.
  void KeepOrder();

  // The place of a stay; one that is not found() where the stay is in no run.
  SwitchPlace operator[](size_t stay) const;
  size_t size() const { return stays_; }
  bool empty() const { return stays_ == 0; }
  const std::vector<Run>& runs() const { return runs_; }
  bool operator==(const SwitchPlaces&) const = default;

 private:
  size_t stays_ = 0;
  std::vector<Run> runs_;  // in order; what lies between them was not found
};

}  // namespace flowback
