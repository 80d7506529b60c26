// SPDX-License-Identifier: MIT
// LLDB's schema, key by key. A wrong value is an error that names its key; keys that are not known
// are left alone, because newer LLDBs have more.
#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "capture/formats/input/text.h"
#include "capture/formats/lldb_bundle.h"

namespace flowback::lldb {
namespace {

using Kind = JsonValue::Kind;

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

// A place in the description. The first thing that is wrong there is kept for the whole document.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  const std::optional<Error>& error() const { return error_; }

  void Wrong(const std::string& key, const std::string& problem, const std::string& expected) {
    if (error_) return;
    error_.emplace(ErrorCode::kUnreadable, path_ + ": " + key + " " + problem);
    error_->Remedy("it should be " + expected +
                   "; `trace schema intel-pt` in LLDB shows what a bundle holds");
  }

  // Null, and an error unless it may be absent, when it is not there.
  const JsonValue* Member(const JsonValue& object, const std::string& key, const std::string& name,
                          Kind kind, const char* expected, bool optional = false) {
    const std::string full = key.empty() ? name : key + "." + name;
    const JsonValue* value = object.Find(name);
    if (!value || value->kind == Kind::kNull) {
      if (!optional) Wrong(full, "is missing", expected);
      return nullptr;
    }
    if (value->kind == kind) return value;
    Wrong(full, "is " + value->Describe(), expected);
    return nullptr;
  }

  uint64_t Number(const JsonValue& object, const std::string& key, const std::string& name,
                  uint64_t most) {
    const std::string expected = "a number from 0 to " + Dec(most);
    const JsonValue* value = Member(object, key, name, Kind::kInteger, expected.c_str());
    if (!value) return 0;
    if (!value->negative && value->number <= most) return value->number;
    Wrong(key.empty() ? name : key + "." + name, "is " + value->Describe(), expected);
    return 0;
  }

  std::string Text(const JsonValue& object, const std::string& key, const std::string& name,
                   bool optional = false) {
    const JsonValue* value = Member(object, key, name, Kind::kString, "a string", optional);
    return value ? value->text : std::string();
  }

  // A number, or a string with one in decimal or 0x-hexadecimal: JSON's numbers are often limited
  // to 53 bits.
  std::optional<uint64_t> Address(const JsonValue& object, const std::string& key,
                                  const std::string& name, bool optional = false) {
    constexpr char kExpected[] = "an address: a number, or a string with a decimal or 0x number";
    const std::string full = key + "." + name;
    const JsonValue* value = object.Find(name);
    if (!value || value->kind == Kind::kNull) {
      if (!optional) Wrong(full, "is missing", kExpected);
      return std::nullopt;
    }
    if (value->kind == Kind::kInteger && !value->negative) return value->number;
    if (value->kind == Kind::kString) {
      if (const auto number = ParseAddress(value->text)) return number;
    }
    Wrong(full, "is " + value->Describe(), kExpected);
    return std::nullopt;
  }

  // Calls `read(item, key)` for each object of the array `name`.
  template <class Read>
  void Each(const JsonValue& object, const std::string& key, const std::string& name, bool optional,
            const Read& read) {
    const JsonValue* array = Member(object, key, name, Kind::kArray, "an array", optional);
    if (!array) return;
    for (size_t i = 0; i < array->items.size() && !error_; ++i) {
      const std::string item_key = (key.empty() ? "" : key + ".") + name + "[" + Dec(i) + "]";
      const JsonValue& item = array->items[i];
      if (item.kind == Kind::kObject) {
        read(item, item_key);
      } else {
        Wrong(item_key, "is " + item.Describe(), "an object");
      }
    }
  }

 private:
  static std::optional<uint64_t> ParseAddress(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
      return std::nullopt;
    }
    return value;
  }

  std::string path_;
  std::optional<Error> error_;
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// A UUID is the build-id in groups of hexadecimal digits. What LLDB makes up for a file without one
// is a checksum of four or eight bytes, which nothing here can be compared with.
BuildId ReadUuid(const JsonValue& object, const std::string& key, Reader& reader) {
  constexpr size_t kShortestBuildId = 9;
  constexpr size_t kLongestBuildId = 20;
  const std::string text = reader.Text(object, key, "uuid", true);
  BuildId id;
  int high = -1;
  bool wrong = false;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = HexDigit(c);
    wrong |= digit < 0;
    if (high >= 0) id.bytes.push_back(static_cast<uint8_t>(high << 4 | (digit & 15)));
    high = high >= 0 ? -1 : digit;
  }
  if (wrong || high >= 0 || id.bytes.size() > kLongestBuildId) {
    reader.Wrong(key + ".uuid", "is \"" + text + "\"",
                 "up to 20 bytes in hexadecimal digits, with dashes between");
    return {};
  }
  return id.bytes.size() >= kShortestBuildId ? id : BuildId();
}

void ReadCpuInfo(const JsonValue& root, Reader& reader, CpuId& cpu) {
  const JsonValue* info = reader.Member(root, "", "cpuInfo", Kind::kObject,
                                        "an object with vendor, family, model and stepping");
  if (!info) return;
  constexpr uint64_t kMostFamily = 0xf + 0xff;  // CPUID's base and extended family
  const std::string vendor = reader.Text(*info, "cpuInfo", "vendor");
  cpu.intel = vendor == "GenuineIntel";
  if (!cpu.intel && vendor != "unknown") {
    reader.Wrong("cpuInfo.vendor", "is \"" + vendor + "\"",
                 "\"GenuineIntel\", or \"unknown\" as LLDB has it: only Intel's processors have "
                 "Intel PT");
  }
  cpu.family = static_cast<uint16_t>(reader.Number(*info, "cpuInfo", "family", kMostFamily));
  cpu.model = static_cast<uint8_t>(reader.Number(*info, "cpuInfo", "model", 0xff));
  cpu.stepping = static_cast<uint8_t>(reader.Number(*info, "cpuInfo", "stepping", 0xf));
}

void ReadTime(const JsonValue& root, Reader& reader, Bundle& bundle) {
  constexpr char kKey[] = "tscPerfZeroConversion";
  const JsonValue* time = reader.Member(root, "", kKey, Kind::kObject,
                                        "an object with timeMult, timeShift and timeZero", true);
  if (!time) return;
  TimeConversion conversion;
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  conversion.mult = static_cast<uint32_t>(reader.Number(*time, kKey, "timeMult", kMax32));
  conversion.shift = static_cast<uint16_t>(reader.Number(*time, kKey, "timeShift", 32));
  conversion.zero = reader.Address(*time, kKey, "timeZero").value_or(0);
  if (!conversion.known()) reader.Wrong(std::string(kKey) + ".timeMult", "is 0", "above 0");
  bundle.time = conversion;
}

void ReadKernel(const JsonValue& root, Reader& reader, Bundle& bundle) {
  const JsonValue* value =
      reader.Member(root, "", "kernel", Kind::kObject, "an object with file and loadAddress", true);
  if (!value) return;
  Kernel kernel;
  kernel.key = "kernel";
  kernel.file = reader.Text(*value, "kernel", "file");
  if (const auto address = reader.Address(*value, "kernel", "loadAddress", true)) {
    kernel.load_address = *address;
  }
  bundle.kernel = std::move(kernel);
}

Process ReadProcess(const JsonValue& value, const std::string& key, Reader& reader) {
  Process process;
  process.pid = static_cast<int32_t>(reader.Number(value, key, "pid", kMaxId));
  reader.Text(value, key, "triple", true);
  reader.Each(value, key, "threads", false, [&](const JsonValue& item, const std::string& at) {
    Thread thread;
    thread.key = at;
    thread.tid = static_cast<int32_t>(reader.Number(item, at, "tid", kMaxId));
    thread.trace = reader.Text(item, at, "iptTrace", true);
    process.threads.push_back(std::move(thread));
  });
  reader.Each(value, key, "modules", false, [&](const JsonValue& item, const std::string& at) {
    Module module;
    module.key = at;
    module.system_path = reader.Text(item, at, "systemPath");
    module.file = reader.Text(item, at, "file", true);
    module.load_address = reader.Address(item, at, "loadAddress").value_or(0);
    module.uuid = ReadUuid(item, at, reader);
    process.modules.push_back(std::move(module));
  });
  return process;
}

Cpu ReadCpu(const JsonValue& value, const std::string& key, Reader& reader) {
  constexpr uint64_t kMaxCpu = 1 << 20;
  Cpu cpu;
  cpu.key = key;
  cpu.id = static_cast<int32_t>(reader.Number(value, key, "id", kMaxCpu));
  cpu.trace = reader.Text(value, key, "iptTrace");
  cpu.context_switches = reader.Text(value, key, "contextSwitchTrace");
  return cpu;
}

// Rejects duplicates, which would be decoded and counted twice.
void CheckOnce(const Bundle& bundle, Reader& reader) {
  const auto once = [&](std::set<int32_t>& seen, int32_t id, const std::string& key) {
    if (seen.insert(id).second) return;
    reader.Wrong(key, "is " + Dec(static_cast<uint64_t>(id)) + " again", "in the bundle once");
  };
  std::set<int32_t> pids, tids, cpus;
  for (size_t i = 0; i < bundle.processes.size(); ++i) {
    once(pids, bundle.processes[i].pid, "processes[" + Dec(i) + "].pid");
    for (const Thread& thread : bundle.processes[i].threads) {
      once(tids, thread.tid, thread.key + ".tid");
    }
  }
  for (const Cpu& cpu : bundle.cpus) once(cpus, cpu.id, cpu.key + ".id");
}

// Checks keys that require or exclude each other.
void CheckTogether(const Bundle& bundle, Reader& reader) {
  if (!bundle.cpus.empty() && !bundle.time) {
    reader.Wrong("tscPerfZeroConversion", "is missing although there are cpus",
                 "there: without it the switches of threads can't be put into the trace");
  }
  if (bundle.kernel && !bundle.processes.empty()) {
    reader.Wrong("processes", "is not empty although there is a kernel",
                 "empty: LLDB traces the kernel or processes");
  }
  if (bundle.kernel && bundle.cpus.empty()) {
    reader.Wrong("cpus", "is missing although there is a kernel", "an array with their traces");
  }
  for (const Process& process : bundle.processes) {
    for (const Thread& thread : process.threads) {
      if (bundle.cpus.empty() || thread.trace.empty()) continue;
      reader.Wrong(thread.key + ".iptTrace", "is there although there are cpus",
                   "absent: a trace is a thread's or a CPU's");
    }
  }
}

}  // namespace

Result<Bundle> ReadBundle(const JsonValue& root, const std::string& path) {
  Reader reader(path);
  Bundle bundle;
  if (root.kind != Kind::kObject) {
    reader.Wrong("the description", "is " + root.Describe(), "an object");
    return Fail(*reader.error());
  }
  const std::string type = reader.Text(root, "", "type");
  if (type != "intel-pt") reader.Wrong("type", "is \"" + type + "\"", "\"intel-pt\"");
  ReadCpuInfo(root, reader, bundle.cpu);
  ReadTime(root, reader, bundle);
  ReadKernel(root, reader, bundle);
  const bool no_processes = bundle.kernel.has_value();
  reader.Each(root, "", "processes", no_processes,
              [&](const JsonValue& item, const std::string& key) {
                bundle.processes.push_back(ReadProcess(item, key, reader));
              });
  reader.Each(root, "", "cpus", true, [&](const JsonValue& item, const std::string& key) {
    bundle.cpus.push_back(ReadCpu(item, key, reader));
  });
  CheckOnce(bundle, reader);
  CheckTogether(bundle, reader);
  if (reader.error()) return Fail(*reader.error());
  return bundle;
}

}  // namespace flowback::lldb
