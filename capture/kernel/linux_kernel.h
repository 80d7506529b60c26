// SPDX-License-Identifier: MIT
// The kernel that this program runs on.
#pragma once

#include <string>

#include "capture/kernel/kernel.h"

namespace flowback::kernel {

class LinuxKernel : public SystemKernel {
 public:
  // Files are read below `root`: "" is this machine, another folder holds a copy of /proc and /sys.
  explicit LinuxKernel(std::string root = "") : root_(std::move(root)) {}

  Called<int> OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                        unsigned long flags) override;
  void CloseEvent(int event) override;
  Called<std::span<uint8_t>> Map(int event, size_t size, uint64_t offset, bool writable) override;
  void Unmap(std::span<uint8_t> pages) override;
  Called<int> Control(int event, unsigned long request, uint64_t argument) override;
  Called<size_t> Read(int event, std::span<uint8_t> into) override;
  Called<int> Wait(std::span<pollfd> events, int milliseconds) override;
  Called<int> OpenFolder(const std::string& path) override;
  void CloseFolder(int folder) override;
  std::optional<std::string> ReadFile(const std::string& path) const override;
  Called<size_t> ReadPart(const std::string& path, uint64_t offset,
                          std::span<uint8_t> into) const override;
  std::vector<std::string> List(const std::string& folder) const override;

 private:
  const std::string root_;
};

}  // namespace flowback::kernel
