// SPDX-License-Identifier: MIT
// contended LOCK,... [THREADS [ROUNDS]]: threads fight for locks, one after the other, and write
// what each waited as JSON lines. A LOCK is a name or the name of a family; `list` lists them.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "contention.h"

namespace contention {
namespace {

struct Family {
  const char* name;
  std::span<const Lock> locks;
};

std::vector<Family> Families() {
  return {{"spinning", SpinningLocks()},
          {"queues", QueueLocks()},
          {"posix", PosixLocks()},
          {"others", OtherLocks()},
          {"standard", StandardLocks()}};
}

void Write(const Lock& lock, const Worker& worker, const Tally& tally, bool knows_waits,
           bool knows_trips, bool sleeps) {
  if (tally.function == nullptr || (&tally != &worker.lock && tally.acquisitions == 0)) {
    return;
  }
  std::printf(
      "{\"lock\": \"%s\", \"function\": \"%s\", \"tid\": %d, \"acquisitions\": %ld, "
      "\"waits\": %ld, \"trips\": %ld, \"sleeps\": %ld, \"at_least_ns\": %llu, "
      "\"at_most_ns\": %llu, \"longest_ns\": %llu, \"sleeping\": %s, \"knows_waits\": %s, "
      "\"knows_trips\": %s}\n",
      lock.name, tally.function, worker.tid.load(), tally.acquisitions, tally.waits, tally.trips,
      tally.sleeps, static_cast<unsigned long long>(tally.at_least_ns),
      static_cast<unsigned long long>(tally.at_most_ns),
      static_cast<unsigned long long>(tally.longest_ns), sleeps ? "true" : "false",
      knows_waits ? "true" : "false", knows_trips ? "true" : "false");
}

void Fight(const Lock& lock, int threads, long rounds) {
  Team team;
  for (int number = 0; number < threads; ++number) {
    auto worker = std::make_unique<Worker>();
    worker->number = number;
    worker->rounds = rounds;
    worker->team = &team;
    worker->lock.function = lock.function;
    worker->unlock.function = lock.releasing;
    worker->announcements.function = "await_announced";
    worker->rounds_of_others.function = "await_at_least";
    worker->handing_over.function = "await_taken";
    team.workers.push_back(std::move(worker));
  }
  if (lock.prepare != nullptr) {
    lock.prepare(threads, rounds);
  }
  team.unfinished.store(threads);
  std::vector<std::thread> running;
  for (const auto& worker : team.workers) {
    running.emplace_back([&lock, me = worker.get()] {
      me->tid.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
      lock.run(*me, lock);
      me->state.store(State::kFinished, std::memory_order_release);
      me->team->unfinished.fetch_sub(1, std::memory_order_release);
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  for (const auto& worker : team.workers) {
    Write(lock, *worker, worker->lock, lock.knows_waits, lock.knows_trips, lock.sleeps);
    for (const Tally* tally : {&worker->unlock, &worker->announcements, &worker->rounds_of_others,
                               &worker->handing_over}) {
      Write(lock, *worker, *tally, true, true, false);
    }
  }
  std::fflush(stdout);
}

bool IsAsked(std::string_view asked, std::string_view name) {
  const std::string commas = "," + std::string(asked) + ",";
  return commas.find("," + std::string(name) + ",") != std::string::npos;
}

int List() {
  for (const Family& family : Families()) {
    for (const Lock& lock : family.locks) {
      std::printf("%s %s\n", family.name, lock.name);
    }
  }
  return 0;
}

int Main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: contended LOCK,...|list [THREADS [ROUNDS]]\n", stderr);
    return 2;
  }
  if (std::strcmp(words[1], "list") == 0) {
    return List();
  }
  const int threads = count > 2 ? std::atoi(words[2]) : 3;
  const long rounds = count > 3 ? std::atol(words[3]) : 20;
  bool any = false;
  for (const Family& family : Families()) {
    for (const Lock& lock : family.locks) {
      if (IsAsked(words[1], family.name) || IsAsked(words[1], lock.name)) {
        Fight(lock, threads, rounds);
        any = true;
      }
    }
  }
  return any ? 0 : 2;
}

}  // namespace
}  // namespace contention

int main(int count, char** words) { return contention::Main(count, words); }
