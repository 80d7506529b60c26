// SPDX-License-Identifier: MIT
// The kernel, as far as recorders need it: perf events, and the content of /proc and /sys. There is
// one that is real (linux_kernel.h); tests play another.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"

struct pollfd;

namespace flowback::kernel {

// The number that a failed call left in errno.
using Errno = int;
template <class T>
using Called = std::expected<T, Errno>;

// Any thread may call it. An event is named by the descriptor that OpenEvent gave.
class SystemKernel {
 public:
  virtual ~SystemKernel() = default;

  // perf_event_open(2). After E2BIG, attr.size is what the kernel knows.
  virtual Called<int> OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                unsigned long flags) = 0;
  virtual void CloseEvent(int event) = 0;
  // An event's buffer, or its area for AUX data: `size` bytes at `offset` of its pages. The kernel
  // overwrites what was not read where it is not `writable`.
  virtual Called<std::span<uint8_t>> Map(int event, size_t size, uint64_t offset,
                                         bool writable) = 0;
  virtual void Unmap(std::span<uint8_t> pages) = 0;
  // ioctl(2): PERF_EVENT_IOC_*.
  virtual Called<int> Control(int event, unsigned long request, uint64_t argument) = 0;
  // read(2) of an event's counters. Returns how many bytes came.
  virtual Called<size_t> Read(int event, std::span<uint8_t> into) = 0;
  // poll(2): how many are ready.
  virtual Called<int> Wait(std::span<pollfd> events, int milliseconds) = 0;

  // A descriptor of a control group's folder, which OpenEvent takes as a process.
  virtual Called<int> OpenFolder(const std::string& path) = 0;
  virtual void CloseFolder(int folder) = 0;

  // A file of /proc or /sys, whole; empty: it can't be read.
  virtual std::optional<std::string> ReadFile(const std::string& path) const = 0;
  // Reads such a file at `offset`: as many bytes as come at once, 0 at its end.
  virtual Called<size_t> ReadPart(const std::string& path, uint64_t offset,
                                  std::span<uint8_t> into) const = 0;
  // The names in a folder of /proc or /sys, in alphabetical order; none: it can't be read.
  virtual std::vector<std::string> List(const std::string& folder) const = 0;
};

// The file's first line.
std::optional<std::string> ReadLine(const SystemKernel& kernel, const std::string& path);
// The decimal number that the file begins with.
std::optional<int64_t> ReadNumber(const SystemKernel& kernel, const std::string& path);

}  // namespace flowback::kernel
