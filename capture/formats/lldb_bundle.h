// SPDX-License-Identifier: MIT
// An LLDB trace bundle: what its JSON description says.  [LLDB, `trace schema intel-pt`]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/formats/input/json_document.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback::lldb {

struct Module {
  std::string key;  // "processes[0].modules[1]": for messages
  std::string system_path;
  std::string file;           // where a copy is; empty: at system_path
  uint64_t load_address = 0;  // of the file's lowest page
  BuildId uuid;
};

struct Thread {
  std::string key;
  int32_t tid = -1;
  std::string trace;  // empty: its part is in the CPUs' traces
};

struct Process {
  int32_t pid = -1;
  std::vector<Thread> threads;
  std::vector<Module> modules;
};

struct Cpu {
  std::string key;
  int32_t id = -1;
  std::string trace;
  std::string context_switches;  // raw perf records
};

struct Kernel {
  std::string key;
  std::string file;
  uint64_t load_address = 0xffffffff81000000;  // where an x86-64 kernel lies without KASLR
};

struct Bundle {
  CpuId cpu;
  std::vector<Process> processes;
  std::vector<Cpu> cpus;
  std::optional<TimeConversion> time;
  std::optional<Kernel> kernel;
};

// Checks the description against the schema. `path` is for messages. Errors: kUnreadable; the
// message names the key, its value and the expected value.
Result<Bundle> ReadBundle(const JsonValue& root, const std::string& path);

// `name` as the bundle in `folder` means it: relative to the folder unless absolute.
std::string InBundle(const std::string& folder, const std::string& name);

// The executable parts of a process's modules as if they had been mapped before the trace began. A
// module whose file is not there gives one map of no size, so that it is known to be missing.
// Errors: kUnreadable for a load address that can't be.
Result<std::vector<MmapRecord>> MapModules(const Process& process, const std::string& folder,
                                           const std::string& path);

}  // namespace flowback::lldb
