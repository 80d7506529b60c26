// SPDX-License-Identifier: MIT
// Where in a stream the stays of its CPU began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

// Between which pauses a stay began: stream offsets of the first one and of the last. The other way
// round: the stream does not tell.
struct SwitchPlace {
  uint64_t first = 1;
  uint64_t last = 0;
  bool missed = false;  // and it was in none of these: that pause is missing

  bool found() const { return first <= last; }
  bool known() const { return found() && !missed; }
  bool operator==(const SwitchPlace&) const = default;
};

// The places of `stays` stays. A CPU may have many stays and many buffers, each with little trace:
// then most stays have their place in common with the one before. So it is the runs that are kept,
// of which there are no more than a few for each pause.
class SwitchPlaces {
 public:
  // Of stays in succession, half-open.
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

  // One that is not found for stays of no run.
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
