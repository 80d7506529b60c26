// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/instance.h"

namespace flowback {

uint64_t MeasureOf(const Instance& instance, InstanceMeasure measure) {
  switch (measure) {
    case InstanceMeasure::kTime:
      return instance.time();
    case InstanceMeasure::kInstructions:
      return instance.instructions;
    case InstanceMeasure::kOffCpu:
      return instance.Of(TimeClass::kOffCpu);
    case InstanceMeasure::kKernel:
      return instance.Of(TimeClass::kKernel);
    case InstanceMeasure::kCycles:
      return instance.cycles;
  }
  return 0;
}

const char* Name(InstanceMeasure measure) {
  switch (measure) {
    case InstanceMeasure::kTime:
      return "time";
    case InstanceMeasure::kInstructions:
      return "instructions";
    case InstanceMeasure::kOffCpu:
      return "off-cpu";
    case InstanceMeasure::kKernel:
      return "kernel";
    case InstanceMeasure::kCycles:
      return "cycles";
  }
  return "";
}

}  // namespace flowback
