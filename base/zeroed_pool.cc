// SPDX-License-Identifier: MIT
#include "base/zeroed_pool.h"

#include <sys/mman.h>

#include <new>

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace flowback {

ZeroedPool::ZeroedPool(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = {static_cast<uint8_t*>(memory), size};
}

ZeroedPool::~ZeroedPool() { munmap(memory_.data(), memory_.size()); }

void ZeroedPool::MakeResident() { madvise(memory_.data(), memory_.size(), MADV_POPULATE_WRITE); }

}  // namespace flowback
