// SPDX-License-Identifier: MIT
// Bytes that lie in many parts, read as if they were one range, a window at a time.
//
// A recorder writes a long stream in parts, at places of the file that no mapping can make
// adjacent. JoinedBytes reserves addresses for the whole stream and copies into them only the
// *granules* that a reader needs:
//
//      parts   |====|  |=========|   |==|  |======|       in the file, mapped
//      joined   |....:..XX:XX.....:........:.......|       X: held by a window; . : no memory
//
// Memory is bounded by the windows, not by the stream. Bytes that are not in memory cannot be read:
// a reader without a window ends the program there, it never sees zeros. This includes bytes that
// are computed from the file's content when a window needs them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback {

// Any thread may use it. Throws std::bad_alloc where there is no memory, as a vector does.
class JoinedBytes {
 public:
  struct Limits {
    // Bytes that come and go together; made a multiple of the page size. A huge page by default.
    size_t granule = size_t{2} << 20;
    // Granules that are kept although no reader uses them now, for later readers.
    size_t idle = 4;
  };

  // The parts in order; what they point to must outlive the object.
  explicit JoinedBytes(std::vector<Bytes> parts);
  // Makes bytes from `offset` on, as many as there are and fit; returns how many. Any thread may
  // call it, several at a time; the same place has the same bytes each time.
  using Maker = std::function<size_t(size_t offset, std::span<uint8_t> to)>;
  JoinedBytes(size_t size, Maker maker);
  JoinedBytes(const JoinedBytes&) = delete;
  JoinedBytes& operator=(const JoinedBytes&) = delete;
  ~JoinedBytes();

  // Where the bytes are, or would be: to be read within a window only.
  Bytes bytes() const { return {base_, size_}; }
  // REQUIRES: nothing has been acquired.
  void SetLimits(const Limits& limits);

  size_t GranuleOf(size_t offset) const { return offset / granule_; }
  size_t BeginOf(size_t granule) const { return granule * granule_; }
  // Granules [first, last) can be read between these two; each Acquire needs its own Release.
  void Acquire(size_t first, size_t last);
  void Release(size_t first, size_t last);
  // Copies bytes from `offset` on, as many as there are and fit; returns how many. Holds nothing.
  size_t Copy(size_t offset, std::span<uint8_t> to) const;

  // Granules in memory, and the most there ever were at one time.
  size_t present() const;
  size_t most_present() const;
  // How many times a granule has come into memory: what a pass reads, each of its granules once.
  size_t brought() const;

 private:
  enum class State : uint8_t { kAbsent, kComing, kPresent };
  struct Granule {
    State state = State::kAbsent;
    uint32_t users = 0;
  };
  struct Part {
    size_t begin = 0;  // in the joined bytes
    Bytes bytes;
  };

  void Reserve();
  size_t CopyParts(size_t offset, std::span<uint8_t> to) const;
  std::span<uint8_t> RangeOf(size_t granule) const;
  void Bring(size_t granule);
  void Drop(size_t granule);

  std::vector<Part> parts_;  // by `begin`; none is empty
  Maker maker_;              // without parts
  size_t size_ = 0;
  size_t page_ = 0;
  size_t granule_ = 0;
  size_t most_idle_ = 0;
  uint8_t* base_ = nullptr;
  void* reserved_ = nullptr;
  size_t reserved_size_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable has_come_;
  std::vector<Granule> granules_;
  std::deque<size_t> idle_;  // present without users, the one that was left first in front
  size_t present_ = 0;
  size_t most_present_ = 0;
  size_t brought_ = 0;
};

// Holds the part of a stream that one reader needs, and moves along with it. For one thread. Does
// nothing if the bytes are not joined of parts: then all of them can be read.
class StreamWindow {
 public:
  // This many bytes can be read from each place reached, or all bytes up to the end. It is more
  // than the largest packet has.
  static constexpr size_t kAhead = 64;

  // REQUIRES: without `joined`, `bytes` can be read; else they are a part of its.
  explicit StreamWindow(Bytes bytes, std::shared_ptr<JoinedBytes> joined = nullptr);
  StreamWindow(const StreamWindow&) = delete;
  StreamWindow& operator=(const StreamWindow&) = delete;
  ~StreamWindow();

  Bytes bytes() const { return bytes_; }
  // `at` and kAhead bytes from there can be read; those before it may go. Offsets are in bytes().
  void MoveTo(size_t at) {
    if (at < begin_ || at >= reach_) Move(at);
  }
  // The same, but what could be read stays. REQUIRES: `at` is not before the last MoveTo's.
  void Reach(size_t at) {
    if (at >= reach_) Extend(at);
  }
  // [begin, end) can be read, and nothing else need be.
  void Hold(size_t begin, size_t end);
  void HoldAll() { Hold(0, bytes_.size()); }
  // All of the bytes can be read, always.
  bool is_everything() const { return joined_ == nullptr; }
  // Up to here bytes can be read.
  size_t end() const { return end_; }
  // A reader that has come here must call MoveTo; bytes_.size() where that is not needed any more.
  size_t reach() const { return reach_ < end_ ? reach_ : end_; }
  // Copies bytes from `at` on, as many as there are and fit, held or not; returns how many.
  size_t Copy(size_t at, std::span<uint8_t> to) const;

 private:
  void Move(size_t at);
  void Extend(size_t at);
  void Take(size_t first, size_t last);
  size_t GranuleAfter(size_t end) const;

  Bytes bytes_;
  std::shared_ptr<JoinedBytes> joined_;
  size_t skew_ = 0;  // of bytes_ in the joined
  size_t first_ = 0;
  size_t last_ = 0;  // granules held: [first_, last_)
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t reach_ = 0;
};

}  // namespace flowback
