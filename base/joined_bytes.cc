// SPDX-License-Identifier: MIT
#include "flowback/base/joined_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace flowback {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

JoinedBytes::JoinedBytes(std::vector<Bytes> parts)
    : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
  for (const Bytes part : parts) {
    if (!part.empty()) parts_.push_back({size_, part});
    size_ += part.size();
  }
  Reserve();
}

JoinedBytes::JoinedBytes(size_t size, Maker maker)
    : maker_(std::move(maker)), size_(size), page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
  Reserve();
}

void JoinedBytes::Reserve() {
  SetLimits({});
  if (size_ == 0) return;
  // Only from their own multiples on do huge pages serve.
  reserved_size_ = RoundUp(size_, page_) + kHugePage;
  reserved_ =
      mmap(nullptr, reserved_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(reserved_);
  base_ = static_cast<uint8_t*>(reserved_) + (RoundUp(address, kHugePage) - address);
  madvise(reserved_, reserved_size_, MADV_HUGEPAGE);  // a kernel without them does as well
}

JoinedBytes::~JoinedBytes() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_size_);
}

void JoinedBytes::SetLimits(const Limits& limits) {
  granule_ = RoundUp(std::max<size_t>(limits.granule, 1), page_);
  most_idle_ = limits.idle;
  granules_.assign(RoundUp(size_, granule_) / granule_, {});
}

std::span<uint8_t> JoinedBytes::RangeOf(size_t granule) const {
  const size_t begin = BeginOf(granule);
  return {base_ + begin, std::min(granule_, RoundUp(size_, page_) - begin)};
}

void JoinedBytes::Acquire(size_t first, size_t last) {
  std::unique_lock lock(mutex_);
  for (size_t i = first; i < last; ++i) {
    Granule& granule = granules_[i];
    if (granule.users++ == 0 && granule.state == State::kPresent) std::erase(idle_, i);
    has_come_.wait(lock, [&] { return granule.state != State::kComing; });
    if (granule.state == State::kPresent) continue;
    granule.state = State::kComing;
    most_present_ = std::max(most_present_, ++present_);
    lock.unlock();
    try {
      Bring(i);
    } catch (const std::bad_alloc&) {
      // As if nothing had been asked for; whoever waits for the same tries for itself.
      lock.lock();
      granule.state = State::kAbsent;
      --granule.users;
      --present_;
      has_come_.notify_all();
      lock.unlock();
      Release(first, i);
      throw;
    }
    lock.lock();
    granule.state = State::kPresent;
    ++brought_;
    has_come_.notify_all();
  }
}

void JoinedBytes::Release(size_t first, size_t last) {
  const std::scoped_lock lock(mutex_);
  for (size_t i = first; i < last; ++i)
    if (--granules_[i].users == 0) idle_.push_back(i);
  while (idle_.size() > most_idle_) {
    Drop(idle_.front());
    idle_.pop_front();
  }
}

// Runs without the lock: other threads may read present bytes meanwhile.
void JoinedBytes::Bring(size_t granule) {
  const std::span<uint8_t> range = RangeOf(granule);
  if (mprotect(range.data(), range.size(), PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  Copy(BeginOf(granule), range);
}

void JoinedBytes::Drop(size_t granule) {
  const std::span<uint8_t> range = RangeOf(granule);
  madvise(range.data(), range.size(), MADV_DONTNEED);
  // Where the system has no room to note that, zeros could be read, were there a reader without a
  // window.
  static_cast<void>(mprotect(range.data(), range.size(), PROT_NONE));
  granules_[granule].state = State::kAbsent;
  --present_;
}

size_t JoinedBytes::Copy(size_t offset, std::span<uint8_t> to) const {
  return maker_ ? maker_(offset, to) : CopyParts(offset, to);
}

size_t JoinedBytes::CopyParts(size_t offset, std::span<uint8_t> to) const {
  const auto after = std::ranges::upper_bound(parts_, offset, {}, &Part::begin);
  size_t done = 0;
  for (auto part = after - (after != parts_.begin()); part != parts_.end(); ++part) {
    const Bytes found = Slice(part->bytes, offset + done - part->begin, to.size() - done);
    if (found.empty()) break;
    std::memcpy(to.data() + done, found.data(), found.size());
    done += found.size();
  }
  return done;
}

size_t JoinedBytes::present() const {
  const std::scoped_lock lock(mutex_);
  return present_;
}

size_t JoinedBytes::most_present() const {
  const std::scoped_lock lock(mutex_);
  return most_present_;
}

size_t JoinedBytes::brought() const {
  const std::scoped_lock lock(mutex_);
  return brought_;
}

StreamWindow::StreamWindow(Bytes bytes, std::shared_ptr<JoinedBytes> joined)
    : bytes_(bytes), joined_(std::move(joined)) {
  if (bytes_.empty()) joined_ = nullptr;
  if (joined_ != nullptr) {
    skew_ = static_cast<size_t>(bytes_.data() - joined_->bytes().data());
    return;
  }
  end_ = bytes_.size();
  reach_ = SIZE_MAX;
}

StreamWindow::~StreamWindow() {
  if (joined_ != nullptr) joined_->Release(first_, last_);
}

// The granule behind the one that holds the byte before `end`.
size_t StreamWindow::GranuleAfter(size_t end) const {
  return joined_->GranuleOf(skew_ + std::min(end, bytes_.size()) - 1) + 1;
}

void StreamWindow::Move(size_t at) {
  at = std::min(at, bytes_.size() - 1);
  Take(joined_->GranuleOf(skew_ + at), GranuleAfter(at + kAhead));
}

void StreamWindow::Extend(size_t at) {
  at = std::min(at, bytes_.size() - 1);
  const size_t first = first_ == last_ ? joined_->GranuleOf(skew_ + at) : first_;
  Take(first, std::max(last_, GranuleAfter(at + kAhead)));
}

void StreamWindow::Hold(size_t begin, size_t end) {
  if (joined_ == nullptr || begin >= end) return;
  Take(joined_->GranuleOf(skew_ + begin), GranuleAfter(end));
}

void StreamWindow::Take(size_t first, size_t last) {
  joined_->Acquire(first, last);
  joined_->Release(first_, last_);
  first_ = first;
  last_ = last;
  begin_ = joined_->BeginOf(first) - std::min(joined_->BeginOf(first), skew_);
  end_ = std::min(joined_->BeginOf(last) - skew_, bytes_.size());
  reach_ = end_ == bytes_.size() ? SIZE_MAX : end_ < kAhead ? 0 : end_ - kAhead + 1;
}

size_t StreamWindow::Copy(size_t at, std::span<uint8_t> to) const {
  const Bytes found = Slice(bytes_, at, to.size());
  if (joined_ != nullptr) return joined_->Copy(skew_ + at, to.first(found.size()));
  std::ranges::copy(found, to.begin());
  return found.size();
}

}  // namespace flowback
