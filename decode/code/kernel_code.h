// SPDX-License-Identifier: MIT
// The kernel's code over time: part of every process's address space.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/code/images/image_store.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

// The first address of the kernel's half.
inline constexpr uint64_t kKernelAddresses = 0xffff800000000000;

// Where the running kernel shows itself.
struct RunningKernel {
  std::string kcore = "/proc/kcore";
  std::string kallsyms = "/proc/kallsyms";
  std::string notes = "/sys/kernel/notes";
};

struct KernelCode {
  // Null when the recording is of user code alone and nothing of a kernel was given.
  std::shared_ptr<const AddressSpaceHistory> history;
  std::vector<ImageStatus> images;
};

// Errors: kUnreadable for a --kcore or --kallsyms that can't be read, kUsage for one of another
// kernel. `trace_start` as for ProcessCode.
Result<KernelCode> LoadKernelCode(const Recording& recording, const ImageSearch& search,
                                  uint64_t trace_start, ImageStore& store,
                                  const RunningKernel& running = {});

// A process's history with the kernel's code in it.
std::shared_ptr<const AddressSpaceHistory> WithKernel(const AddressSpaceHistory& process,
                                                      const AddressSpaceHistory& kernel);

}  // namespace flowback
