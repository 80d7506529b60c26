// SPDX-License-Identifier: MIT
#include "capture/kernel/machine_tree.h"

#include <errno.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "capture/kernel/pmu.h"

namespace flowback::kernel {
namespace {

// Whole files.
constexpr const char* kFiles[] = {"/proc/sys/kernel/osrelease",
                                  "/proc/sys/kernel/perf_event_paranoid",
                                  "/proc/sys/kernel/perf_event_mlock_kb",
                                  "/proc/sys/kernel/perf_event_max_sample_rate",
                                  "/proc/sys/kernel/kptr_restrict",
                                  "/proc/sys/kernel/yama/ptrace_scope",
                                  "/sys/kernel/security/lockdown",
                                  "/sys/devices/system/cpu/online",
                                  "/sys/devices/system/cpu/possible",
                                  "/sys/class/dmi/id/product_name",
                                  "/sys/hypervisor/type"};

// Files of which only the lines that begin so are kept.
struct Part {
  const char* file;
  std::array<std::string_view, 12> lines;
};
constexpr Part kParts[] = {{"/proc/cpuinfo",
                            {"processor", "vendor_id", "cpu family", "model", "stepping", "flags",
                             "Features", "CPU implementer", "CPU part", "CPU variant"}},
                           {"/proc/self/status", {"CapEff:", "Seccomp:"}},
                           {"/proc/self/limits", {"Max locked memory"}}};

// Files of a PMU, and folders of them.
constexpr const char* kPmuFiles[] = {"type", "cpus", "cpumask", "nr_addr_filters"};
constexpr const char* kPmuFolders[] = {"format", "caps", "events"};

constexpr std::string_view kHeader =
    "# What a machine can record, by its kernel: flowback doctor --tree FILE judges it.\n";

template <class Each>
void ForLines(std::string_view text, Each each) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    each(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void AddFile(const SystemKernel& kernel, const std::string& path, MachineTree& tree) {
  if (const auto text = kernel.ReadFile(path))
    ForLines(*text, [&](std::string_view line) { tree.Add(path, line); });
}

bool BeginsSo(std::string_view line, const Part& part) {
  return std::ranges::any_of(part.lines, [&](std::string_view start) {
    return !start.empty() && line.starts_with(start);
  });
}

// Per-CPU files: reads the first CPU's lines, and counts the CPUs.
void AddPart(const SystemKernel& kernel, const Part& part, MachineTree& tree) {
  const auto text = kernel.ReadFile(part.file);
  if (!text) return;
  std::vector<std::string> told;
  ForLines(*text, [&](std::string_view line) {
    if (!BeginsSo(line, part)) return;
    const std::string key(line.substr(0, line.find(':')));
    const bool again = std::ranges::find(told, key) != told.end();
    if (again && !key.starts_with("processor")) return;
    told.push_back(key);
    tree.Add(part.file, line);
  });
}

void AddPmu(const SystemKernel& kernel, const std::string& name, MachineTree& tree) {
  const std::string folder = std::string(kPmuFolder) + "/" + name + "/";
  for (const char* file : kPmuFiles) AddFile(kernel, folder + file, tree);
  for (const char* sub : kPmuFolders)
    for (const std::string& file : kernel.List(folder + sub))
      AddFile(kernel, folder + sub + "/" + file, tree);
}

}  // namespace

MachineTree MachineTree::Of(const SystemKernel& kernel) {
  MachineTree tree;
  for (const char* file : kFiles) AddFile(kernel, file, tree);
  for (const Part& part : kParts) AddPart(kernel, part, tree);
  for (const std::string& name : kernel.List(kPmuFolder)) AddPmu(kernel, name, tree);
  return tree;
}

Result<MachineTree> MachineTree::Parse(std::string_view text) {
  MachineTree tree;
  size_t number = 0;
  size_t wrong = 0;
  ForLines(text, [&](std::string_view line) {
    ++number;
    if (line.empty() || line[0] == '#') return;
    const size_t colon = line.find(": ");
    const bool empty = line.ends_with(':');
    if (line[0] != '/' || (colon == std::string_view::npos && !empty)) {
      if (wrong == 0) wrong = number;
      return;
    }
    if (colon == std::string_view::npos)
      tree.Add(std::string(line.substr(0, line.size() - 1)), "");
    else
      tree.Add(std::string(line.substr(0, colon)), line.substr(colon + 2));
  });
  if (wrong != 0)
    return Fail(
        Error(ErrorCode::kUnreadable, "line " + std::to_string(wrong) + " is no 'PATH: TEXT'")
            .Remedy("flowback doctor --save-tree FILE writes such a file"));
  return tree;
}

std::string MachineTree::Text() const {
  std::string text(kHeader);
  for (const auto& [path, content] : files_)
    ForLines(content, [&](std::string_view line) {
      text += path + ": ";
      text += line;
      text += '\n';
    });
  return text;
}

std::optional<std::string> MachineTree::ReadFile(const std::string& path) const {
  const auto file = files_.find(path);
  if (file == files_.end()) return std::nullopt;
  return file->second;
}

std::vector<std::string> MachineTree::List(const std::string& folder) const {
  std::vector<std::string> names;
  const std::string start = folder.ends_with('/') ? folder : folder + "/";
  for (auto file = files_.lower_bound(start); file != files_.end(); ++file) {
    if (!file->first.starts_with(start)) break;
    std::string name = file->first.substr(start.size());
    name.resize(std::min(name.find('/'), name.size()));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

void MachineTree::Add(const std::string& path, std::string_view line) {
  files_[path] += std::string(line) + '\n';
}

Called<int> TreeKernel::OpenEvent(perf_event_attr&, pid_t, int, int, unsigned long) {
  return std::unexpected(ENOSYS);
}

Called<std::span<uint8_t>> TreeKernel::Map(int, size_t, uint64_t, bool) {
  return std::unexpected(EBADF);
}

Called<int> TreeKernel::Control(int, unsigned long, uint64_t) { return std::unexpected(EBADF); }

Called<size_t> TreeKernel::Read(int, std::span<uint8_t>) { return std::unexpected(EBADF); }

Called<int> TreeKernel::OpenFolder(const std::string& path) {
  constexpr int kNobodys = 1 << 20;  // no number of any real descriptor
  if (List(path).empty()) return std::unexpected(ENOENT);
  return kNobodys;
}

Called<size_t> TreeKernel::ReadPart(const std::string& path, uint64_t offset,
                                    std::span<uint8_t> into) const {
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return std::unexpected(ENOENT);
  const size_t begin = std::min<uint64_t>(offset, text->size());
  const size_t size = std::min(into.size(), text->size() - begin);
  std::copy_n(text->begin() + static_cast<ptrdiff_t>(begin), size, into.begin());
  return size;
}

Called<int> TreeKernel::Wait(std::span<pollfd>, int) { return std::unexpected(EBADF); }

}  // namespace flowback::kernel
