// SPDX-License-Identifier: MIT
// blocking eventfd|pipe|poll|epoll ROUNDS: a thread waits for another one by a descriptor, which
// only --blocking calls a wait. Written as `contended` does.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "contention.h"

namespace contention {
namespace {

int descriptors[2];
int epoll = -1;
std::atomic<long> announced{0};

void Check(bool good) {
  if (!good) {
    std::perror("blocking");
    std::exit(3);
  }
}

}  // namespace

APART void await_event(bool polls) {
  if (epoll >= 0) {
    epoll_event event{};
    Check(epoll_wait(epoll, &event, 1, -1) == 1);
  } else if (polls) {
    pollfd waits{.fd = descriptors[0], .events = POLLIN, .revents = 0};
    Check(::poll(&waits, 1, -1) == 1);
  }
  uint64_t value = 0;
  Check(read(descriptors[0], &value, sizeof value) == sizeof value);
}

namespace {

int Main(int count, char** words) {
  const long rounds = count > 2 ? std::atol(words[2]) : 10;
  if (count < 2) {
    std::fputs("usage: blocking eventfd|pipe|poll|epoll [ROUNDS]\n", stderr);
    return 2;
  }
  if (std::strcmp(words[1], "pipe") == 0) {
    Check(pipe(descriptors) == 0);
  } else {
    descriptors[0] = descriptors[1] = eventfd(0, EFD_CLOEXEC);
    Check(descriptors[0] >= 0);
  }
  const bool polls = std::strcmp(words[1], "poll") == 0;
  if (std::strcmp(words[1], "epoll") == 0) {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    Check(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, descriptors[0], &event) == 0);
  }
  std::thread waiter([rounds, polls] {
    Tally tally;
    for (long round = 0; round < rounds; ++round) {
      announced.fetch_add(1);
      const uint64_t before = Now();
      await_event(polls);
      tally.Add({.trips = 0, .sleeps = 1}, true, before, before, Now());
    }
    std::printf(
        "{\"lock\": \"blocking\", \"function\": \"await_event\", \"tid\": %d, \"acquisitions\": "
        "%ld, \"waits\": %ld, \"trips\": 0, \"sleeps\": %ld, \"at_most_ns\": %llu}\n",
        static_cast<int>(syscall(SYS_gettid)), rounds, rounds, rounds,
        static_cast<unsigned long long>(tally.at_most_ns));
  });
  for (long round = 0; round < rounds; ++round) {
    while (announced.load() <= round) {
      usleep(100);
    }
    usleep(2000);
    const uint64_t value = 1;
    Check(write(descriptors[1], &value, sizeof value) == sizeof value);
  }
  waiter.join();
  return 0;
}

}  // namespace
}  // namespace contention

int main(int count, char** words) { return contention::Main(count, words); }
