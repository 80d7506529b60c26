// SPDX-License-Identifier: MIT
// A trip begins at an address to which a jump led backward, and ends where the thread comes there
// again for the first time. Each address takes part as the head of trips of its own, so an outer
// loop's trips contain the inner loop's.
#include "tests/locks/stepped_program.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "decode/instruction/effects.h"

namespace flowback {
namespace {

struct Step {
  uint64_t address = 0;
  const std::vector<uint8_t>* code = nullptr;
};

class Stepper {
 public:
  explicit Stepper(pid_t pid) : pid_(pid) {}

  // False: the program stopped for another reason than `expected` signal.
  bool Go(bool one_step) {
    if (ptrace(one_step ? PTRACE_SINGLESTEP : PTRACE_CONT, pid_, nullptr, nullptr) != 0)
      return false;
    int status = 0;
    return waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  Step Here() {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers);
    auto [at, added] = code_.try_emplace(registers.rip);
    if (added) {
      std::vector<uint8_t> bytes(15);
      iovec to{bytes.data(), bytes.size()};
      iovec from{reinterpret_cast<void*>(registers.rip), bytes.size()};  // NOLINT
      const ssize_t got = process_vm_readv(pid_, &to, 1, &from, 1, 0);
      InstructionEffects effects;
      const bool known = got > 0 && EffectsOf(Bytes(bytes).first(static_cast<size_t>(got)),
                                              registers.rip, CodeMode::kX86_64, effects);
      bytes.resize(known ? effects.length : 1);
      at->second = bytes;
    }
    return {registers.rip, &at->second};
  }

 private:
  pid_t pid_;
  std::map<uint64_t, std::vector<uint8_t>> code_;
};

// The parts of the steps [from, to).
SteppedTrip TripOf(const std::vector<Step>& steps, size_t from, size_t to) {
  SteppedTrip trip;
  trip.head = steps[from].address;
  for (size_t i = from; i < to; ++i) {
    const bool begins =
        i == from || steps[i - 1].address + steps[i - 1].code->size() != steps[i].address;
    if (begins) {
      if (!trip.parts.empty()) trip.parts.back().taken = true;
      trip.parts.push_back({.address = steps[i].address, .code = {}, .mode = CodeMode::kX86_64});
      trip.code.emplace_back();
    }
    trip.code.back().insert(trip.code.back().end(), steps[i].code->begin(), steps[i].code->end());
  }
  trip.parts.back().taken = steps[to - 1].address + steps[to - 1].code->size() != trip.head;
  for (size_t i = 0; i < trip.parts.size(); ++i) trip.parts[i].code = trip.code[i];
  return trip;
}

std::vector<uint64_t> HeadsOf(const std::vector<Step>& steps) {
  std::set<uint64_t> heads;
  for (size_t i = 1; i < steps.size(); ++i)
    if (steps[i].address <= steps[i - 1].address && steps[i - 1].address - steps[i].address < 4096)
      heads.insert(steps[i].address);
  return {heads.begin(), heads.end()};
}

void FindTrips(const std::vector<Step>& steps, SteppedProgram& program) {
  constexpr size_t kLongest = 1500;
  std::set<std::vector<uint64_t>> known;
  for (const uint64_t head : HeadsOf(steps)) {
    size_t from = steps.size();
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].address != head) continue;
      if (from < i && i - from <= kLongest) {
        std::vector<uint64_t> way;
        for (size_t k = from; k < i; ++k) way.push_back(steps[k].address);
        if (known.insert(way).second) {
          if (i + 2 * (i - from) >= steps.size()) program.last.push_back(program.trips.size());
          program.trips.push_back(TripOf(steps, from, i));
        } else if (i + 2 * (i - from) >= steps.size()) {
          const auto same = std::ranges::find_if(program.trips, [&](const SteppedTrip& trip) {
            const SteppedTrip now = TripOf(steps, from, i);
            return trip.head == now.head && trip.code == now.code;
          });
          if (same != program.trips.end())
            program.last.push_back(static_cast<size_t>(same - program.trips.begin()));
        }
      }
      from = i;
    }
  }
}

}  // namespace

SteppedProgram StepProgram(const std::string& path, const std::string& argument, size_t steps) {
  SteppedProgram program;
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execl(path.c_str(), path.c_str(), argument.c_str(), nullptr);
    _exit(1);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
    program.error = "cannot run " + path;
    return program;
  }
  Stepper stepper(pid);
  std::vector<Step> executed;
  if (!stepper.Go(false)) program.error = path + " " + argument + " does not reach its first INT3";
  while (program.error.empty() && executed.size() < steps) {
    const Step here = stepper.Here();
    if (here.code->front() == 0xcc) break;
    executed.push_back(here);
    if (!stepper.Go(true)) program.error = path + " " + argument + " ended while it was stepped";
  }
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  FindTrips(executed, program);
  return program;
}

}  // namespace flowback
