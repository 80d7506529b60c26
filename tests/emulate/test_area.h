// SPDX-License-Identifier: MIT
// A shared area without other processes; the test is the recorder.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "capture/record/emulate/ring.h"
#include "capture/record/emulate/shared_area.h"

namespace flowback::emulate {

class TestArea {
 public:
  TestArea()
      : area_(*new(mmap(nullptr, record::SharedArea::Size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) record::SharedArea) {
    area_.recorder_pid = getpid();
  }
  ~TestArea() { munmap(&area_, record::SharedArea::Size()); }
  TestArea(const TestArea&) = delete;
  TestArea& operator=(const TestArea&) = delete;

  record::SharedArea& area() { return area_; }
  record::Slot& slot() { return area_.slots[0]; }
  // What the first slot's thread wrote since the last call.
  std::vector<uint8_t> TakeTrace() {
    std::vector<uint8_t> bytes;
    record::TakeAll(slot().trace, area_.TraceRing(0), record::kTraceRingBytes, bytes);
    return bytes;
  }

 private:
  record::SharedArea& area_;
};

}  // namespace flowback::emulate
