// SPDX-License-Identifier: MIT
// spiky_server --cause NAME --every N --requests N --seed S --threads N --wait-us N --truth FILE:
// handles requests, and plants a cause of slowness in one of `--every` requests. FILE then
// contains, as JSON, what was planted in each request and how long it took by the program's own
// clocks.
#include <malloc.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "server.h"

using spiky::Request;

// The function whose calls are compared. It alone keeps its name in a stripped program.
__attribute__((visibility("default"))) APART uint64_t handle(Request& request) {
  uint64_t sum = spiky::describe(request) + spiky::look_up(request);
  sum += spiky::discount(request);
  sum += spiky::count_items(request);
  sum += request.pricing->Price(request.units);  // CAUSE virtual-callee
  sum += spiky::nest(request.depth, sum);        // CAUSE deep-recursion
  sum += spiky::collect(request);
  sum += spiky::touch(request);  // CAUSE page-fault-storm
  try {
    sum += spiky::parse(request);    // CAUSE exception
  } catch (const std::exception&) {  // CAUSE exception
    ++sum;
  }
  sum += spiky::take_ticket();
  sum += spiky::count_stock();
  if (request.spins) sum += spiky::count_quickly();
  sum += spiky::print(request);
  spiky::throttle(request);
  return sum;
}

namespace {

struct Options {
  std::string cause = "none";
  unsigned every = 40;
  unsigned requests = 400;
  unsigned threads = 1;
  uint64_t seed = 1;
  unsigned wait_us = 4000;
  std::string truth;
};

struct Outcome {
  std::vector<std::string> planted;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
};

Options OptionsOf(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const char* const value = words[i + 1];
    if (name == "--cause") options.cause = value;
    if (name == "--every") options.every = static_cast<unsigned>(atoi(value));
    if (name == "--requests") options.requests = static_cast<unsigned>(atoi(value));
    if (name == "--threads") options.threads = static_cast<unsigned>(atoi(value));
    if (name == "--seed") options.seed = strtoull(value, nullptr, 10);
    if (name == "--wait-us") options.wait_us = static_cast<unsigned>(atoi(value));
    if (name == "--truth") options.truth = value;
  }
  return options;
}

// A number that only depends on the seed and on what it is for.
uint64_t Chosen(uint64_t seed, uint64_t purpose, uint64_t number) {
  uint64_t value = seed * 0x9e3779b97f4a7c15 + purpose * 0xbf58476d1ce4e5b9 + number;
  for (int round = 0; round < 3; ++round) value = (value ^ (value >> 31)) * 0x94d049bb133111eb;
  return value >> 11;
}

// One request of each `every` has the cause: which one is chosen for each purpose apart.
bool IsPlanted(const Options& options, uint64_t purpose, uint64_t number) {
  const uint64_t group = number / options.every;
  return number % options.every == 1 + Chosen(options.seed, purpose, group) % (options.every - 1);
}

std::vector<std::string> PlantedIn(const Options& options, uint64_t number) {
  if (options.cause == "none" || options.cause == "preemption") return {};
  if (options.cause == "two-together") {
    if (!IsPlanted(options, 1, number)) return {};
    return {"rare-branch", "virtual-callee"};
  }
  if (options.cause != "two-apart") {
    return IsPlanted(options, 1, number) ? std::vector{options.cause} : std::vector<std::string>();
  }
  std::vector<std::string> planted;
  if (IsPlanted(options, 1, number)) planted.emplace_back("rare-branch");
  if (IsPlanted(options, 2, number) && planted.empty()) planted.emplace_back("virtual-callee");
  return planted;
}

Request UsualRequest(const Options& options, uint64_t number) {
  const auto vary = [&](uint64_t purpose, uint64_t least, uint64_t most) {
    return static_cast<unsigned>(least +
                                 Chosen(options.seed, 100 + purpose, number) % (most - least + 1));
  };
  Request request;
  request.number = number;
  request.text = std::string(vary(0, 10, 30), static_cast<char>('a' + number % 26));
  request.units = vary(1, 1, 99);
  request.items = vary(2, 8, 24);
  request.depth = vary(3, 2, 6);
  request.block_bytes = vary(4, 24, 400);
  request.pages = options.cause == "page-fault-storm" ? 128 : 2;
  request.pricing = &spiky::UsualPricing();
  // A thread that is interrupted while it holds the lock would make others slow.
  request.spins = options.threads == 1;
  return request;
}

void Plant(const std::string& cause, const Options& options, spiky::Neighbour& neighbour,
           Request* request) {
  if (cause == "rare-branch") request->units += 1000;
  if (cause == "longer-loop") request->items += 1200;
  if (cause == "virtual-callee") request->pricing = &spiky::CostlyPricing();
  if (cause == "deep-recursion") request->depth += 500;
  if (cause == "grow-heap") request->block_bytes += 200000;
  if (cause == "exception") request->text += '?';
  if (cause == "sleep") request->wait_us = options.wait_us;
  if (cause == "first-symbol") request->prints = true;
  if (cause == "page-fault-storm") spiky::ForgetPages();
  if (cause == "contended-lock") neighbour.HoldMutex();
  if (cause == "spinning-lock") neighbour.HoldSpinLock();
  if (cause == "slow-syscall") neighbour.DelayTicket();
}

uint64_t Now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

// Calls every part once, so that the symbols that usual requests need are bound before the first
// one.
uint64_t WarmUp(const Options& options, spiky::Neighbour& neighbour) {
  const Request request = UsualRequest(options, 1);
  neighbour.LetTicketPass();
  return spiky::describe(request) + spiky::look_up(request) + spiky::collect(request) +
         spiky::touch(request) + spiky::parse(request) + spiky::take_ticket() +
         spiky::count_stock() + spiky::count_quickly();
}

// Handles each `options.threads`-th request, beginning with number `first`.
uint64_t HandleShare(const Options& options, unsigned first, spiky::Neighbour& neighbour,
                     std::vector<Outcome>* outcomes) {
  uint64_t sum = 0;
  for (unsigned number = first; number < options.requests; number += options.threads) {
    Outcome& outcome = (*outcomes)[number];
    outcome.planted = PlantedIn(options, number);
    Request request = UsualRequest(options, number);
    for (const std::string& cause : outcome.planted) Plant(cause, options, neighbour, &request);
    if (options.cause != "slow-syscall" || outcome.planted.empty()) neighbour.LetTicketPass();
    const uint64_t cpu = Now(CLOCK_THREAD_CPUTIME_ID), wall = Now(CLOCK_MONOTONIC);
    sum += handle(request);
    outcome.wall_ns = Now(CLOCK_MONOTONIC) - wall;
    outcome.cpu_ns = Now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  }
  return sum;
}

// Only causes that need no neighbour can be planted in the requests of several threads.
std::vector<Outcome> HandleAll(const Options& options, spiky::Neighbour& neighbour, uint64_t* sum) {
  std::vector<Outcome> outcomes(options.requests);
  std::vector<uint64_t> sums(options.threads);
  std::vector<std::thread> others;
  for (unsigned i = 1; i < options.threads; ++i) {
    others.emplace_back([&, i] { sums[i] = HandleShare(options, i, neighbour, &outcomes); });
  }
  sums[0] = HandleShare(options, 0, neighbour, &outcomes);
  for (std::thread& other : others) other.join();
  for (const uint64_t share : sums) *sum += share;
  return outcomes;
}

bool WriteTruth(const Options& options, bool shares_cpu, const std::vector<Outcome>& outcomes) {
  FILE* const file = fopen(options.truth.c_str(), "w");
  if (file == nullptr) return false;
  fprintf(file, "{\"cause\":\"%s\",\"requests\":%zu,\"shares_cpu\":%s,\"outcomes\":[",
          options.cause.c_str(), outcomes.size(), shares_cpu ? "true" : "false");
  for (const Outcome& outcome : outcomes) {
    fprintf(file, "%s{\"planted\":[", &outcome == &outcomes.front() ? "\n" : ",\n");
    for (const std::string& cause : outcome.planted) {
      fprintf(file, "%s\"%s\"", &cause == &outcome.planted.front() ? "" : ",", cause.c_str());
    }
    fprintf(file, "],\"wall_ns\":%llu,\"cpu_ns\":%llu}",
            static_cast<unsigned long long>(outcome.wall_ns),
            static_cast<unsigned long long>(outcome.cpu_ns));
  }
  fprintf(file, "]}\n");
  return fclose(file) == 0;
}

}  // namespace

int main(int count, char** words) {
  const Options options = OptionsOf(count, words);
  // Large blocks are always mapped, however many were given back.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  spiky::PrepareParts(128);
  std::vector<Outcome> outcomes;
  bool shares_cpu = false;
  uint64_t sum = 0;
  {
    spiky::Neighbour neighbour(options.wait_us);
    sum = WarmUp(options, neighbour);
    if (options.cause == "preemption") shares_cpu = neighbour.ShareCpu();
    outcomes = HandleAll(options, neighbour, &sum);
  }
  if (!options.truth.empty() && !WriteTruth(options, shares_cpu, outcomes)) return 2;
  printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
