// SPDX-License-Identifier: MIT
#include "capture/record/host_facts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "capture/kernel/linux_kernel.h"
#include "capture/record/emulate/emulator_file.h"
#include "flowback/capture/record.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;

using kernel::ReadLine;
using kernel::ReadNumber;
using kernel::SystemKernel;

std::map<std::string, std::string> ReadFolder(const SystemKernel& kernel,
                                              const std::string& folder) {
  std::map<std::string, std::string> values;
  for (const std::string& name : kernel.List(folder))
    values[name] = ReadLine(kernel, folder + "/" + name).value_or("");
  return values;
}

std::istringstream TextOf(const SystemKernel& kernel, const std::string& path) {
  return std::istringstream(kernel.ReadFile(path).value_or(""));
}

// "flags\t\t: fpu vme" -> {"flags", "fpu vme"}
std::pair<std::string, std::string> SplitAtColon(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return {};
  const size_t key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
  const size_t value = line.find_first_not_of(" \t", colon + 1);
  return {line.substr(0, key_end + 1), value == std::string::npos ? "" : line.substr(value)};
}

void ReadCpu(const SystemKernel& kernel, HostFacts& facts) {
  std::istringstream file = TextOf(kernel, "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto [key, value] = SplitAtColon(line);
    if (key == "processor") ++facts.cpus;
    if (key == "vendor_id") facts.vendor = value;
    if (key == "CPU implementer") facts.vendor = value == "0x41" ? "ARM" : "ARM-compatible";
    if (key == "model name") facts.model = value;
    if ((key == "flags" || key == "Features") && facts.cpu_flags.empty()) {
      std::istringstream words(value);
      facts.cpu_flags.insert(std::istream_iterator<std::string>(words), {});
    }
  }
}

void ReadDevices(const SystemKernel& kernel, HostFacts& facts) {
  const std::string devices = std::string(kPmuFolder) + "/";
  facts.has_brs_event = kernel.ReadFile(devices + "cpu/events/branch-brs").has_value();
  facts.pt_type = ReadLine(kernel, devices + "intel_pt/type");
  facts.pt_caps = ReadFolder(kernel, devices + "intel_pt/caps");
  facts.pt_formats = ReadFolder(kernel, devices + "intel_pt/format");
  facts.pmus = kernel.List(kPmuFolder);
  for (const std::string& name : facts.pmus) {
    const bool arm = name.starts_with("armv8_") || name.starts_with("armv9_");
    if (!arm && name != "cpu" && name != "cpu_core") continue;
    const std::string file = devices + name + "/caps/branches";
    const auto entries = ReadNumber(kernel, file);
    if (!entries || *entries <= 0) continue;
    facts.branch_entries = static_cast<uint64_t>(*entries);
    facts.branch_source = file;
  }
}

// Bit numbers of linux/capability.h.
struct Capability {
  unsigned bit;
  const char* name;
};
constexpr Capability kCapabilities[] = {{19, "CAP_SYS_PTRACE"}, {21, "CAP_SYS_ADMIN"},
                                        {14, "CAP_IPC_LOCK"},   {34, "CAP_SYSLOG"},
                                        {38, "CAP_PERFMON"},    {39, "CAP_BPF"}};

void ReadProcess(const SystemKernel& kernel, HostFacts& facts) {
  std::istringstream file = TextOf(kernel, "/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    const auto [key, value] = SplitAtColon(line);
    if (key == "Seccomp") facts.seccomp = std::atoll(value.c_str());
    if (key != "CapEff") continue;
    uint64_t mask = 0;
    std::from_chars(value.data(), value.data() + value.size(), mask, 16);
    for (const Capability& capability : kCapabilities)
      if ((mask >> capability.bit & 1) != 0) facts.capabilities.insert(capability.name);
  }
}

// The soft limit: "Max locked memory  8388608  8388608  bytes" -> "8388608".
void ReadLimits(const SystemKernel& kernel, HostFacts& facts) {
  constexpr std::string_view kName = "Max locked memory";
  std::istringstream file = TextOf(kernel, "/proc/self/limits");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kName))
      std::istringstream(line.substr(kName.size())) >> facts.locked_memory;
}

void ReadHypervisor(const SystemKernel& kernel, HostFacts& facts) {
  for (const char* file :
       {"/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor", "/sys/hypervisor/type"})
    if (facts.hypervisor.empty() && facts.Flag("hypervisor"))
      facts.hypervisor = ReadLine(kernel, file).value_or("");
}

// "none [integrity] confidentiality" -> "integrity"
std::string ChosenWord(const std::string& line) {
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return line.substr(open + 1, close - open - 1);
}

std::string FindProgram(const std::string& root, const std::string& path, const char* name) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = root + folder + "/" + name;
    std::error_code ignored;
    const auto permissions = fs::status(candidate, ignored).permissions();
    if (fs::is_regular_file(candidate, ignored) &&
        (permissions & fs::perms::others_exec) != fs::perms::none)
      return folder + "/" + name;
  }
  return "";
}

// Plugins are linked against the emulator itself: it has to export what they call.
std::optional<EmulatorPlugins> ReadEmulator(const std::string& emulator) {
  std::ifstream file(emulator, std::ios::binary);
  std::string magic(4, '\0');
  if (!file.read(magic.data(), 4) || magic !=
                                         "\x7f"
                                         "ELF")
    return std::nullopt;
  return PluginsOf(emulator);
}

}  // namespace

HostFacts ReadHostFacts(const SystemKernel& kernel) {
  HostFacts facts;
  ReadCpu(kernel, facts);
  ReadDevices(kernel, facts);
  ReadProcess(kernel, facts);
  ReadLimits(kernel, facts);
  ReadHypervisor(kernel, facts);
  const std::string settings = "/proc/sys/kernel/";
  facts.kernel_release = ReadLine(kernel, settings + "osrelease").value_or("");
  facts.perf_event_paranoid = ReadNumber(kernel, settings + "perf_event_paranoid");
  facts.perf_event_mlock_kb = ReadNumber(kernel, settings + "perf_event_mlock_kb");
  facts.kptr_restrict = ReadNumber(kernel, settings + "kptr_restrict");
  facts.ptrace_scope = ReadNumber(kernel, settings + "yama/ptrace_scope");
  facts.lockdown = ChosenWord(ReadLine(kernel, "/sys/kernel/security/lockdown").value_or(""));
  return facts;
}

void ReadPrograms(const std::string& root, const std::string& path, HostFacts& facts) {
  facts.programs_known = true;
  std::error_code ignored;
  for (const char* file : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"})
    if (facts.container.empty() && fs::exists(root + file, ignored)) facts.container = file;
  facts.qemu_user = FindProgram(root, path, "qemu-x86_64");
  if (!facts.qemu_user.empty()) facts.qemu_plugins = ReadEmulator(root + facts.qemu_user);
  facts.short_qemu_user = FindProgram(root, path, "qemu-i386");
  if (!facts.short_qemu_user.empty())
    facts.short_qemu_plugins = ReadEmulator(root + facts.short_qemu_user);
}

HostFacts ReadThisHost() {
  const char* path = std::getenv("PATH");
  HostFacts facts = ReadHostFacts(kernel::LinuxKernel());
  ReadPrograms("", path == nullptr ? "" : path, facts);
  return facts;
}

}  // namespace flowback
