// SPDX-License-Identifier: MIT
#include "tests/support/kernel/simulated_ring.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace flowback::test {
namespace {

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void Append(std::vector<uint8_t>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void AppendNumber(std::vector<uint8_t>& out, T value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// Over the ring's end, if need be.
void CopyInto(std::span<uint8_t> ring, uint64_t head, Bytes bytes) {
  const size_t at = head % ring.size();
  const size_t first = std::min(bytes.size(), ring.size() - at);
  std::memcpy(ring.data() + at, bytes.data(), first);
  std::memcpy(ring.data(), bytes.data() + first, bytes.size() - first);
}

std::vector<uint8_t> AuxBody(uint64_t offset, uint64_t size, uint64_t flags) {
  std::vector<uint8_t> body;
  for (const uint64_t value : {offset, size, flags}) AppendNumber(body, value);
  return body;
}

}  // namespace

SimulatedRing::SimulatedRing(size_t bytes) : memory_(bytes), watermark_((bytes - PageSize()) / 2) {
  page().data_offset = PageSize();
  page().data_size = bytes - PageSize();
  page().cap_user_time_zero = 1;
  page().time_mult = 1;
}

std::span<uint8_t> SimulatedRing::MapAux(size_t bytes) {
  aux_.resize(bytes);
  return aux_;
}

bool SimulatedRing::Put(uint32_t type, uint16_t misc, Bytes body, Bytes end) {
  std::vector<uint8_t> record;
  AppendNumber(record, type);
  AppendNumber(record, misc);
  AppendNumber(record, static_cast<uint16_t>(8 + body.size() + end.size()));
  Append(record, body);
  Append(record, end);
  const std::span<uint8_t> ring = pages().subspan(PageSize());
  perf_event_mmap_page& shared = page();
  if (ring.size() - (shared.data_head - shared.data_tail) < record.size()) return false;
  CopyInto(ring, shared.data_head, record);
  shared.data_head += record.size();
  if (shared.data_head - woken_at_ > watermark_) {
    woken_at_ += watermark_;
    wakes_ = true;
  }
  return true;
}

void SimulatedRing::Write(uint32_t type, uint16_t misc, Bytes body, Bytes end) {
  if (lost_ != 0) {
    std::vector<uint8_t> loss;
    AppendNumber(loss, uint64_t{0});
    AppendNumber(loss, lost_);
    if (Put(PERF_RECORD_LOST, 0, loss, end)) lost_ = 0;
  }
  if (lost_ == 0 && Put(type, misc, body, end)) return;
  ++lost_;
  ++lost_in_all_;
}

size_t SimulatedRing::RoomForAux(size_t size) {
  return std::min<uint64_t>(aux_.size() - (page().aux_head - page().aux_tail), size);
}

// `size` bytes of data are there.
void SimulatedRing::TellAux(size_t size, uint64_t flags, Bytes end) {
  const uint64_t head = page().aux_head;
  page().aux_head += size;
  if (const uint64_t half = aux_.size() / 2; page().aux_head - aux_woken_at_ >= half) {
    aux_woken_at_ = page().aux_head / half * half;
    wakes_ = true;
  }
  if (size != 0 || flags != 0) Write(PERF_RECORD_AUX, 0, AuxBody(head, size, flags), end);
}

size_t SimulatedRing::WriteAux(Bytes data, Bytes end) {
  const size_t size = RoomForAux(data.size());
  CopyInto(aux_, page().aux_head, data.first(size));
  TellAux(size, size < data.size() ? PERF_AUX_FLAG_TRUNCATED : 0, end);
  return size;
}

size_t SimulatedRing::RepeatAux(size_t size, Bytes end) {
  const size_t room = RoomForAux(size);
  TellAux(room, room < size ? PERF_AUX_FLAG_TRUNCATED : 0, end);
  return room;
}

void SimulatedRing::OverwriteAux(Bytes data) {
  for (const uint8_t byte : data) {
    aux_[place_ % aux_.size()] = byte;
    ++place_;
  }
}

void SimulatedRing::EndOverwriting(Bytes end) {
  page().aux_head = place_ % aux_.size();
  Write(PERF_RECORD_AUX, 0, AuxBody(page().aux_head, aux_.size(), PERF_AUX_FLAG_OVERWRITE), end);
}

void SimulatedRing::NoteAux(uint64_t flags, Bytes end) {
  Write(PERF_RECORD_AUX, 0, AuxBody(page().aux_head, 0, flags), end);
}

}  // namespace flowback::test
