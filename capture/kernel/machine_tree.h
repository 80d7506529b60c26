// SPDX-License-Identifier: MIT
// A machine's /proc and /sys in one file that its owner can give away: the facts that decide which
// events it has and who may open them, and nothing that names the machine or its users.
//
// Each line is PATH: TEXT, one for each line of that file. Lines that begin with # are comments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"

namespace flowback::kernel {

class MachineTree {
 public:
  // Reads a machine.
  static MachineTree Of(const SystemKernel& kernel);
  // Errors: kUnreadable, with the line.
  static Result<MachineTree> Parse(std::string_view text);

  std::string Text() const;
  // As SystemKernel has them.
  std::optional<std::string> ReadFile(const std::string& path) const;
  std::vector<std::string> List(const std::string& folder) const;
  // Adds a line to the file, and makes the file if it does not exist.
  void Add(const std::string& path, std::string_view line);
  void Remove(const std::string& path) { files_.erase(path); }

 private:
  std::map<std::string, std::string> files_;  // path: content
};

// A machine known only from such a file: it opens no events.
class TreeKernel : public SystemKernel {
 public:
  explicit TreeKernel(MachineTree tree) : tree_(std::move(tree)) {}

  Called<int> OpenEvent(perf_event_attr& attr, pid_t pid, int cpu, int group,
                        unsigned long flags) override;
  void CloseEvent(int) override {}
  Called<std::span<uint8_t>> Map(int event, size_t size, uint64_t offset, bool writable) override;
  void Unmap(std::span<uint8_t>) override {}
  Called<int> Control(int event, unsigned long request, uint64_t argument) override;
  Called<size_t> Read(int event, std::span<uint8_t> into) override;
  Called<int> Wait(std::span<pollfd> events, int milliseconds) override;
  Called<int> OpenFolder(const std::string& path) override;
  void CloseFolder(int) override {}
  std::optional<std::string> ReadFile(const std::string& path) const override {
    return tree_.ReadFile(path);
  }
  Called<size_t> ReadPart(const std::string& path, uint64_t offset,
                          std::span<uint8_t> into) const override;
  std::vector<std::string> List(const std::string& folder) const override {
    return tree_.List(folder);
  }

 protected:
  MachineTree tree_;
};

}  // namespace flowback::kernel
