// SPDX-License-Identifier: MIT
// Where a writer's text goes.
//
// A writer appends to buffer() and calls Commit() now and then. The sink collects the text and
// hands it on in large writes: to a file, to a terminal, or to a string.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace flowback {

// Collects text. A derived class takes it. Not thread-safe.
class TextSink {
 public:
  virtual ~TextSink() = default;

  // The pending text: append to it, then call Commit.
  std::string& buffer() { return buffer_; }
  // Hands the pending text on once it is large, or has waited for long.
  void Commit() {
    if (buffer_.size() >= write_size_ || IsOld()) Flush();
  }
  // Large text is not copied into the buffer first.
  void Write(std::string_view text) {
    if (text.size() >= write_size_) return Take(text);
    buffer_ += text;
    Commit();
  }
  // Hands the pending text on now, unless the sink has a reason to keep it.
  void Flush() { Take({}); }

  // True once no more text is wanted: the reader has gone, or writing failed. The sink ignores text
  // that follows.
  bool closed() const { return closed_; }

 protected:
  static constexpr size_t kMostWrite = 256 * 1024;

  TextSink() = default;
  TextSink(TextSink&& other) noexcept
      : buffer_(std::exchange(other.buffer_, {})),
        write_size_(other.write_size_),
        commits_(other.commits_),
        taken_(other.taken_),
        closed_(other.closed_) {}
  TextSink& operator=(TextSink&&) = delete;

  // Hands on the pending text, then `more`, and calls Taken. Or appends `more` to the pending text,
  // to hand both on later.
  virtual void Take(std::string_view more) = 0;
  // Empties the buffer, whose text was handed on. Writes grow: only the first ones are small.
  void Taken() {
    buffer_.clear();
    write_size_ = std::min(2 * write_size_, kMostWrite);
    taken_ = std::chrono::steady_clock::now();
  }
  void set_closed(bool closed) { closed_ = closed; }

 private:
  // The first lines go out soon: somebody may be waiting for them.
  static constexpr size_t kFirstWrite = 4 * 1024;
  static constexpr unsigned kCommits = 64;

  // Looks at the clock once in kCommits commits: a look costs as much as a short line.
  bool IsOld() { return ++commits_ % kCommits == 0 && Waited(); }
  bool Waited() const;

  std::string buffer_;
  size_t write_size_ = kFirstWrite;
  unsigned commits_ = 0;
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
  bool closed_ = false;
};

// Keeps all text in memory.
class StringSink final : public TextSink {
 public:
  // Returns all text so far.
  const std::string& text() {
    Flush();
    return text_;
  }

 private:
  void Take(std::string_view more) override;

  std::string text_;
};

}  // namespace flowback
