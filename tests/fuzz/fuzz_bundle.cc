// SPDX-License-Identifier: MIT
// Arbitrary bytes as the description of an LLDB bundle: an error that says something, or a
// recording. Its files are not there, or are this program's own.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "capture/formats/input/format.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

constexpr std::string_view kSeed = R"({"type": "intel-pt",
"cpuInfo": {"vendor": "GenuineIntel", "family": 6, "model": 79, "stepping": 1},
"processes": [{"pid": 1, "triple": "x86_64-*-linux", "threads": [{"tid": 2}],
 "modules": [{"systemPath": "/proc/self/exe", "loadAddress": "0x400000", "uuid": "6AA9-5B41261A"},
             {"systemPath": "a", "file": "b", "loadAddress": 4194304}]}],
"cpus": [{"id": 0, "iptTrace": "/proc/self/exe", "contextSwitchTrace": "/proc/self/exe"}],
"tscPerfZeroConversion": {"timeMult": 1, "timeShift": 31, "timeZero": "18433473881008870804"}})";

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  flowback::Candidate candidate;
  candidate.path = "/nonexistent/trace.json";
  candidate.bytes = exact;
  flowback::Recording recording;
  recording.path = candidate.path;
  const flowback::Status status = flowback::ReadLldbBundle(candidate, recording);
  if (status) {
    Check(recording.time.shift <= 32);
    for (const flowback::Stream& stream : recording.streams) Check(!stream.file.empty());
  } else {
    Check(!status.error().message().empty() && !status.error().remedy().empty());
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int) {
  if (size < 2) {
    size = std::min(kSeed.size(), max_size);
    std::memcpy(data, kSeed.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
