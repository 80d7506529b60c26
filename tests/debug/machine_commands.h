// SPDX-License-Identifier: MIT
// Random commands for a replayed machine, and for the listing of its flow (listed_machine.h).
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/debug/listed_machine.h"
#include "tests/support/random.h"

namespace flowback::listed {

// Gives both machines the same commands.
class Commands {
 public:
  Commands(ReplayedMachine& machine, ListedMachine& truth, uint64_t seed)
      : machine_(machine), truth_(truth), random_(seed) {}

  void Run(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
      RunOne();
      ExpectSame("command " + std::to_string(i) + ": " + last_);
    }
  }

 private:
  using Others = ReplayedMachine::Others;

  void RunOne() {
    const size_t thread = random_.Below(machine_.size());
    const bool forward = random_.Below(2) == 0;
    const Direction direction = forward ? Direction::kForward : Direction::kBackward;
    const Marks marks = SomeMarks(thread);
    StopMarks stops{.addresses = marks.addresses, .losses = marks.losses, .unknown = marks.unknown};
    if (marks.calls) stops.calls.emplace();
    const bool held = random_.Below(3) == 0;
    const Others others = held ? Others::kAreHeld : Others::kMayStop;
    switch (random_.Below(11)) {
      case 0:
        last_ = "to the begin";
        machine_.ToBegin(thread);
        return truth_.ToBegin(thread);
      case 1:
        last_ = "to the end";
        machine_.ToEnd(thread);
        return truth_.ToEnd(thread);
      case 2: {
        const size_t number = random_.Below(truth_.places(thread).size());
        last_ = "to number " + std::to_string(number);
        EXPECT_TRUE(machine_.ToInstruction(thread, number));
        return truth_.ToInstruction(thread, number);
      }
      case 3:
      case 4:
        last_ = std::string("step ") + (forward ? "on" : "back") + " in " + std::to_string(thread);
        return Compare(machine_.Step(thread, direction, stops, Always(), others),
                       truth_.Step(thread, forward, marks, held));
      case 5: {
        const uint64_t tsc = SomeTime(thread);
        last_ = "to time " + std::to_string(tsc);
        machine_.ToTime(tsc);
        return truth_.ToTime(tsc);
      }
      case 6:
      case 7: {
        const AddressRange range = SomeRange(thread);
        last_ = "step out of a range in " + std::to_string(thread);
        return Compare(machine_.StepOut(thread, range, stops, Always(), others),
                       truth_.StepOut(thread, range.begin, range.end, marks, held));
      }
      case 8:
        last_ = std::string("run alone ") + (forward ? "on" : "back");
        return Compare(machine_.Continue(direction, stops, thread, Always()),
                       truth_.Continue(forward, marks, thread));
      default:
        last_ = std::string("run ") + (forward ? "on" : "back");
        return Compare(machine_.Continue(direction, stops, std::nullopt, Always()),
                       truth_.Continue(forward, marks, std::nullopt));
    }
  }

  static KeepOn Always() {
    return [] { return true; };
  }

  // Returns the time of a place, or one beside it.
  uint64_t SomeTime(size_t thread) {
    const auto& places = truth_.places(thread);
    const uint64_t tsc = places[random_.Below(places.size())].tsc;
    return tsc + random_.Below(3) - (tsc == 0 ? 0 : 1);
  }

  // Around where the thread stands, so that it takes a while to leave it.
  AddressRange SomeRange(size_t thread) {
    const uint64_t pc = truth_.places(thread)[truth_.Standing(thread).first].address;
    const uint64_t before = random_.Below(200);
    return {pc - std::min(pc, before), pc + 1 + random_.Below(2'000)};
  }

  Marks SomeMarks(size_t thread) {
    Marks marks{.addresses = {},
                .losses = random_.Below(4) == 0,
                .calls = random_.Below(6) == 0,
                .unknown = random_.Below(4) == 0};
    for (uint64_t i = random_.Below(4); i-- != 0;) {
      const auto& places = truth_.places(i == 0 ? thread : random_.Below(machine_.size()));
      marks.addresses.push_back(places[random_.Below(places.size())].address);
    }
    std::ranges::sort(marks.addresses);
    return marks;
  }

  void Compare(const MachineStop& stop, const ListedMachine::Stop& truth) {
    EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(truth.reason)) << last_;
    EXPECT_EQ(stop.thread, truth.thread) << last_;
    EXPECT_EQ(stop.of_thread, truth.of_thread) << last_;
  }

  void ExpectSame(const std::string& what) {
    EXPECT_EQ(machine_.current(), truth_.current()) << what;
    for (size_t thread = 0; thread < machine_.size(); ++thread) {
      const auto [place, ended] = truth_.Standing(thread);
      const MachineThread at = machine_.At(thread);
      EXPECT_EQ(at.number, place) << what << ", thread " << thread;
      EXPECT_EQ(at.pc, truth_.places(thread)[place].address) << what << ", thread " << thread;
      EXPECT_EQ(at.state == ThreadState::kEnded, ended) << what << ", thread " << thread;
      if (::testing::Test::HasFailure()) return;
    }
  }

  ReplayedMachine& machine_;
  ListedMachine& truth_;
  testing::Random random_;
  std::string last_;
};

}  // namespace flowback::listed
