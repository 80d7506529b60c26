// SPDX-License-Identifier: MIT
// flowback/self.h for C++: regions and recordings that end with their scope.
#pragma once

#include "flowback/self.h"

namespace flowback {

// Keeps the thread in a region from its construction to its destruction. `name` must outlive it.
// For one thread.
class SelfRegion {
 public:
  explicit SelfRegion(const char* name) { flowback_region_begin(name); }
  SelfRegion(const SelfRegion&) = delete;
  SelfRegion& operator=(const SelfRegion&) = delete;
  ~SelfRegion() { flowback_region_end(); }
};

// The recording of this process. Only one can exist at a time.
class SelfRecording {
 public:
  explicit SelfRecording(const flowback_self_options& options = {})
      : started_(flowback_self_start(&options) != 0) {}
  SelfRecording(const SelfRecording&) = delete;
  SelfRecording& operator=(const SelfRecording&) = delete;
  ~SelfRecording() {
    if (started_) flowback_self_stop();
  }

  // Else flowback_self_reason() says why.
  explicit operator bool() const { return started_; }

 private:
  const bool started_;
};

}  // namespace flowback
