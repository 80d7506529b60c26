// SPDX-License-Identifier: MIT
// odd throw|jump|fork|crowd|short THREADS: waits that end in unusual ways, written as `contended`
// does.
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "contention.h"

namespace contention {
namespace {

std::atomic<int> word{0};
std::atomic<bool> done{false};

// How often the locks below look before they give up.
constexpr long kPatience = 40;

struct Impatient : std::runtime_error {
  Impatient() : std::runtime_error("waited for long enough") {}
};

bool TestAndSet() { return word.exchange(1, std::memory_order_acquire) != 0; }

void Write(const char* lock, const char* function, long waits, long trips) {
  std::printf(
      "{\"lock\": \"%s\", \"function\": \"%s\", \"tid\": %d, \"acquisitions\": %ld, "
      "\"waits\": %ld, \"trips\": %ld, \"sleeps\": 0}\n",
      lock, function, static_cast<int>(syscall(SYS_gettid)), waits, waits, trips);
}

}  // namespace

// Throws after the last failed check.
APART void lock_or_throw() {
  long trips = 0;
  while (TestAndSet()) {
    Pause();
    if (++trips == kPatience) {
      throw Impatient();
    }
  }
}

APART void lock_or_jump(jmp_buf& target) {
  long trips = 0;
  while (TestAndSet()) {
    Pause();
    if (++trips == kPatience) {
      longjmp(target, 1);
    }
  }
}

// A thread, since a program with one thread waits for none.
template <typename Work>
void InThreadOfItsOwn(Work work) {
  std::thread thread(work);
  thread.join();
}

namespace {

void Throw(long rounds) {
  word.store(1);
  InThreadOfItsOwn([rounds] {
    long caught = 0;
    for (long round = 0; round < rounds; ++round) {
      try {
        lock_or_throw();
      } catch (const Impatient&) {
        ++caught;
      }
    }
    Write("throw", "lock_or_throw", caught, caught * (kPatience - 1));
  });
}

void Jump(long rounds) {
  word.store(1);
  InThreadOfItsOwn([rounds] {
    static jmp_buf target;
    static volatile long round;
    for (round = 0; round < rounds;) {
      if (setjmp(target) == 0) {
        lock_or_jump(target);
      }
      round = round + 1;
    }
    Write("jump", "lock_or_jump", rounds, rounds * (kPatience - 1));
  });
}

// The child inherits a lock that is taken, and has no other thread.
void Fork() {
  word.store(1);
  std::thread other([] {
    while (!done.load()) {
      Pause();
    }
  });
  const pid_t child = fork();
  if (child == 0) {
    try {
      lock_or_throw();
    } catch (const Impatient&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  done.store(true);
  other.join();
  std::printf("{\"lock\": \"fork\", \"function\": \"child\", \"tid\": %d, \"status\": %d}\n", child,
              status);
}

}  // namespace

APART long lock_crowd() {
  long trips = 0;
  while (TestAndSet()) {
    syscall(SYS_sched_yield);
    ++trips;
  }
  return trips;
}

namespace {

// Hundreds of threads that all wait for the first one.
void Crowd(int threads) {
  word.store(1);
  std::vector<std::thread> all;
  std::atomic<int> ready{0};
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&ready] {
      ready.fetch_add(1);
      const long trips = lock_crowd();
      word.store(0, std::memory_order_release);
      Write("crowd", "lock_crowd", trips > 0, trips);
    });
  }
  while (ready.load() != threads) {
    usleep(100);
  }
  word.store(0, std::memory_order_release);
  for (std::thread& thread : all) {
    thread.join();
  }
}

std::mutex passed;
volatile long passages;

// Thousands of threads that live for a moment, a few at a time, each of which passes a mutex.
void Short(int threads) {
  constexpr int kAtOnce = 8;
  for (int begun = 0; begun < threads; begun += kAtOnce) {
    std::vector<std::thread> few;
    for (int i = 0; i < kAtOnce && begun + i < threads; ++i) {
      few.emplace_back([] {
        const std::lock_guard<std::mutex> guard(passed);
        passages = passages + 1;
      });
    }
    for (std::thread& thread : few) {
      thread.join();
    }
  }
  std::printf("{\"lock\": \"short\", \"function\": \"Short\", \"acquisitions\": %ld}\n", passages);
}

int Main(int count, char** words) {
  const long number = count > 2 ? std::atol(words[2]) : 10;
  if (count < 2) {
    std::fputs("usage: odd throw|jump|fork|crowd|short [NUMBER]\n", stderr);
    return 2;
  }
  if (std::strcmp(words[1], "throw") == 0) {
    Throw(number);
  } else if (std::strcmp(words[1], "jump") == 0) {
    Jump(number);
  } else if (std::strcmp(words[1], "fork") == 0) {
    Fork();
  } else if (std::strcmp(words[1], "short") == 0) {
    Short(static_cast<int>(number));
  } else {
    Crowd(static_cast<int>(number));
  }
  return 0;
}

}  // namespace
}  // namespace contention

int main(int count, char** words) { return contention::Main(count, words); }
