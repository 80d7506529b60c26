// SPDX-License-Identifier: MIT
// Executes programs/assembled_server.s virtually and traces it as a CPU with Intel PT would. The
// test decides every branch and how many cycles pass where, so it knows when each instruction
// executed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/generator/stream_generator_hardware.h"
#include "tests/support/random.h"

namespace flowback::spikes {

// The places at which the test decides, in the order of the program's section .places.
enum class Place : uint8_t {
  kAgain,
  kRare,
  kRounds,
  kItems,
  kTrials,
  kDeepest,
  kLoad,
  kCopied,
  kStore,
  kTouched,
  kTicket,
  kHurries,
  kSleeps,
  kSpins,
  kUsual,
  kCostly,
  kNeighbour,
  kDone,
  kSubmit,
  kSubmits,
};
inline constexpr size_t kPlaces = 20;

// The program's code as a graph.
struct AssembledCode {
  // Reads the program that was made of the source.
  explicit AssembledCode(const std::string& file);

  uint32_t At(Place place) const { return places[static_cast<size_t>(place)]; }

  std::string path;
  uint64_t address = 0;
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;
  std::vector<testing::Node> nodes;
  std::array<uint32_t, kPlaces> places{};     // nodes
  std::map<uint32_t, std::string> functions;  // names by their first nodes
};

// How one request makes the code execute.
struct AssembledRequest {
  uint64_t rounds = 0;              // trips of the loop on the rare way; 0: the usual way
  uint64_t items = 16;              // trips of the loop in count_items
  bool costly = false;              // the virtual call goes to costly, else to usual
  uint64_t depth = 4;               // calls of nest beyond the first
  uint64_t load_cycles = 0;         // cycles that each load waits
  uint64_t fault_cycles = 0;        // cycles of a page fault at each store; 0: no fault
  uint64_t ticket_cycles = 300;     // cycles that the system call read takes
  uint64_t sleep_cycles = 0;        // cycles that nanosleep takes; 0: no call
  std::optional<uint32_t> value{};  // that the server writes when it is done
  uint64_t neighbour_trips = 0;     // trips of the neighbour's loop in a preemption; 0: none
  bool lost = false;                // the trace is lost from count_items to copy
};

// The CPU went from the server to another thread, or back.
struct CpuSwitch {
  uint64_t tsc = 0;
  bool to_server = false;
  bool neighbour = false;  // the other thread is the neighbour, else none runs
};

// One call of handle. Instructions are numbered in the order of the server's flow; times are TSC.
struct ExecutedRequest {
  uint64_t instructions = 0;
  uint64_t cycles = 0;  // from its call on, those in the kernel too
  // It began after its call executed at `called` and before its first instruction did at `begun`.
  uint64_t called = 0, begun = 0;
  // It ended at `ended`, when its return executed, and before the next instruction did at `left`.
  uint64_t ended = 0, left = 0;
  std::map<std::string, uint64_t> in_calls;  // TSC ticks in the functions that handle calls

  uint64_t time() const { return ended - called; }
};

class AssembledServer {
 public:
  AssembledServer(const AssembledCode& code, const testing::GeneratorOptions& options);

  // Executes one call of handle.
  void Handle(const AssembledRequest& request);
  // Another thread hands requests to the server: it writes the value of each, some cycles apart.
  void Submit(const std::vector<uint32_t>& values, uint64_t cycles);
  // The server's process ends, and another one that begins has the same number.
  void Restart();
  // Ends the trace and returns it. Then `requests` and `switches` are complete.
  std::vector<uint8_t> Finish();

  std::vector<ExecutedRequest> requests;
  // TSC when a value was written by the one thread and by the other.
  std::map<uint32_t, uint64_t> submitted, done;
  std::vector<CpuSwitch> switches;
  uint64_t restarted = 0;  // TSC; 0: it was not
  testing::GeneratedTruth truth;

 private:
  struct Thread {
    uint32_t at = 0;
    std::vector<uint32_t> frames;  // nodes to return to
  };
  // Numbers of instructions in the flow.
  struct Span {
    uint64_t first = 0, last = 0;
  };
  struct Executed {
    Span all;
    std::map<std::string, Span> in_calls;
    uint64_t not_its_own = 0;  // instructions of the neighbour
  };

  const testing::Node& Here() const { return code_.nodes[thread_->at]; }
  bool IsAt(Place place) const { return thread_->at == code_.At(place); }
  void Step();
  bool Taken();
  void Go(testing::Transfer kind, uint32_t target);
  void Call(testing::Transfer kind, uint32_t target);
  void Return();
  void Delay();
  void Fault();
  void SystemCall();
  void Write(uint32_t value, std::map<uint32_t, uint64_t>& counts);
  void GoToNeighbour();
  void GoToServer();
  void RunNeighbour();
  void Switch(bool to_server, bool neighbour);
  ExecutedRequest InTime(const Executed& executed) const;

  const AssembledCode& code_;
  const testing::GeneratorOptions options_;
  testing::Random random_;
  testing::TracingHardware hardware_;
  std::map<uint32_t, uint64_t> submit_counts_, done_counts_;  // instructions before them
  std::vector<uint32_t> to_submit_;                           // the last one first
  Thread server_;
  Thread neighbour_;
  Thread* thread_ = &server_;
  AssembledRequest request_;
  uint64_t copies_ = 0, stores_ = 0, trials_ = 0;  // trips that are left
  std::vector<Executed> executed_;
  uint64_t count_ = 0;   // instructions in the flow
  bool losing_ = false;  // the trace
};

}  // namespace flowback::spikes
