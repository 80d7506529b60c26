// SPDX-License-Identifier: MIT
// What AssembledServer executed, as a perf.data file and as a person asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/spikes/assembled_server.h"

namespace flowback::spikes {

inline constexpr int32_t kServer = 4000, kNeighbour = 4001;  // thread ids

// Which records contain switches.
enum class SwitchRecords : uint8_t {
  kNone,
  kOwn,      // SWITCH records of the server's thread
  kCpuWide,  // SWITCH_CPU_WIDE records, which name the next thread
};

// A sampled load of the server's thread, as perf writes it for `cpu/mem-loads/P`.
struct SampledLoad {
  uint64_t tsc = 0;
  uint64_t ip = 0;
  uint64_t cycles = 0;  // that it waited for its data
};

class AssembledRecording {
 public:
  // Writes the recording of a server that has not finished yet, and finishes it. `events`: the
  // names in its header; none: it has no such table.
  AssembledRecording(const AssembledCode& code, AssembledServer& server,
                     const testing::GeneratorOptions& options, SwitchRecords switches,
                     const std::vector<std::string>& events = {});

  // With samples beside the trace, which they may follow: `loads` returns them when the server has
  // finished.
  AssembledRecording(const AssembledCode& code, AssembledServer& server,
                     const testing::GeneratorOptions& options,
                     const std::function<std::vector<SampledLoad>()>& loads);

  // Runs `flowback spikes RECORDING handle` with these words more, with a cache of its own.
  test::ProgramResult Run(std::vector<std::string> words) const;
  // The same with other words for the region.
  test::ProgramResult RunFor(std::vector<std::string> words) const;
  // Returns its JSON; null: it failed.
  nlohmann::json Json(std::vector<std::string> words = {}) const;
  // Returns the rows of --save-instances, by column.
  std::vector<std::map<std::string, std::string>> Instances() const;
  // Nanoseconds of a value of the counter.
  static uint64_t TimeOf(uint64_t tsc);

 private:
  void Write(const AssembledCode& code, const AssembledServer& server,
             const std::vector<uint8_t>& trace, const testing::GeneratorOptions& options,
             SwitchRecords records, const std::vector<std::string>& events,
             const std::vector<SampledLoad>& loads = {});

  test::ScratchFolder folder_;
};

// Whether one of the sentences of the JSON contains the words.
bool Says(const nlohmann::json& answer, const std::string& words);

// Parts of assembled_server: the program, and the lines of its source that end with a comment.
std::string ServerPath();
std::set<int> LinesWith(const std::string& comment);

}  // namespace flowback::spikes
