// SPDX-License-Identifier: MIT
// A thread holds a mutex while another one waits for it, and computes, sleeps, or waits for a
// second mutex meanwhile, which a third thread holds.
//
//   holders computes | sleeps | waits | leads
//
// With "leads" it waits for a second mutex as well, and three threads wait for it at once.
//
// Prints a line of JSON for each time that the first mutex was held: for how many nanoseconds.
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 5;

std::mutex held;
std::mutex second;
std::atomic<int> round_held;    // the round in which the first mutex has been acquired
std::atomic<int> round_second;  // of the second holder
std::atomic<int> round_waited;  // the round whose waiter has come through
volatile uint64_t sink;

uint64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

[[gnu::noinline]] void Doze() {
  const timespec time{.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&time, nullptr);
}

[[gnu::noinline]] void Compute() {
  const uint64_t begin = Now();
  while (Now() - begin < 20'000'000)
    for (uint64_t i = 0; i < 1000; ++i) sink = sink + i * i;
}

[[gnu::noinline]] void WaitForSecond() {
  const std::lock_guard<std::mutex> guard(second);
  sink = sink + 1;
}

void Await(const std::atomic<int>& which, int round) {
  for (int now = which; now < round; now = which) which.wait(now);
}

void Announce(std::atomic<int>& which, int round) {
  which = round;
  which.notify_all();
}

void Hold(const char* how) {
  for (int round = 1; round <= kRounds; ++round) {
    const bool waits = std::strcmp(how, "waits") == 0 || std::strcmp(how, "leads") == 0;
    if (waits) Await(round_second, round);
    {
      const std::lock_guard<std::mutex> guard(held);
      const uint64_t begin = Now();
      Announce(round_held, round);
      if (std::strcmp(how, "computes") == 0) Compute();
      if (std::strcmp(how, "sleeps") == 0) Doze();
      if (waits) WaitForSecond();
      std::printf("{\"held\": %lu}\n", static_cast<unsigned long>(Now() - begin));
    }
    Await(round_waited, round);
  }
}

void WaitForFirst() {
  for (int round = 1; round <= kRounds; ++round) {
    Await(round_held, round);
    held.lock();
    held.unlock();
    Announce(round_waited, round);
  }
}

// As WaitForFirst, but nobody waits for it.
void Follow() {
  for (int round = 1; round <= kRounds; ++round) {
    Await(round_held, round);
    held.lock();
    held.unlock();
  }
}

void HoldSecond() {
  for (int round = 1; round <= kRounds; ++round) {
    {
      const std::lock_guard<std::mutex> guard(second);
      Announce(round_second, round);
      Await(round_held, round);
      Doze();
    }
    Await(round_waited, round);
  }
}

}  // namespace

int main(int count, char** words) {
  const char* const how = count > 1 ? words[1] : "computes";
  std::thread holder(Hold, how);
  std::thread waiter(WaitForFirst);
  std::vector<std::thread> more;
  const bool leads = std::strcmp(how, "leads") == 0;
  if (leads)
    for (int i = 0; i < 2; ++i) more.emplace_back(Follow);
  if (leads || std::strcmp(how, "waits") == 0) std::thread(HoldSecond).join();
  waiter.join();
  holder.join();
  for (std::thread& each : more) each.join();
  return 0;
}
