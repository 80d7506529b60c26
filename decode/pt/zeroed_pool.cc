// SPDX-License-Identifier: MIT
#include "decode/pt/zeroed_pool.h"

#include <sys/mman.h>

#include <new>

#ifndef MADV_COLLAPSE  // Linux 6.1
#define MADV_COLLAPSE 25
#endif

namespace flowback::pt {

ZeroedPool::ZeroedPool(size_t size) {
  const size_t whole = (size + kHugePage - 1) & ~(kHugePage - 1);
  const size_t room = whole + kHugePage;  // the boundary may be anywhere
  void* memory = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping_ = {static_cast<uint8_t*>(memory), room};
  const size_t past = reinterpret_cast<uintptr_t>(memory) & (kHugePage - 1);
  begin_ = mapping_.data() + (past == 0 ? 0 : kHugePage - past);
}

ZeroedPool::~ZeroedPool() { munmap(mapping_.data(), mapping_.size()); }

void ZeroedPool::MakeHuge() {
  const size_t whole = (taken_ + kHugePage - 1) & ~(kHugePage - 1);
  madvise(begin_, whole, MADV_COLLAPSE);
}

}  // namespace flowback::pt
