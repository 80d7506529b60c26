// SPDX-License-Identifier: MIT
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "server.h"
#include "shared.h"

namespace spiky {
namespace {

enum class Task { kEnd, kHoldMutex, kHoldSpinLock, kDelayTicket, kShareCpu };

void Wait(unsigned microseconds) {
  const timespec wait{.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
  nanosleep(&wait, nullptr);
}

void PassTicket() {
  if (write(ticket_pipe[1], "t", 1) != 1) abort();
}

void WaitFor(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
  }
}

uint64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

}  // namespace

struct Neighbour::State {
  unsigned wait_us = 0;
  Task task = Task::kEnd;
  sem_t given, begun, ended;
  std::atomic<bool> shares_cpu;
  bool busy = false;
  std::thread thread;

  void Run();
  void Do(Task next);
  void ShareCpu();
};

void Neighbour::State::Run() {
  for (;;) {
    WaitFor(given);
    switch (task) {
      case Task::kEnd:
        return;
      case Task::kHoldMutex:
        pthread_mutex_lock(&stock_mutex);
        sem_post(&begun);
        Wait(wait_us);
        pthread_mutex_unlock(&stock_mutex);
        break;
      case Task::kHoldSpinLock:
        stock_taken.store(true);
        sem_post(&begun);
        Wait(wait_us);
        stock_taken.store(false);
        break;
      case Task::kDelayTicket:
        sem_post(&begun);
        Wait(wait_us);
        PassTicket();
        break;
      case Task::kShareCpu:
        sem_post(&begun);
        ShareCpu();
        break;
    }
    sem_post(&ended);
  }
}

void Neighbour::State::ShareCpu() {
  while (shares_cpu.load()) {
    Wait(2 * wait_us);
    for (const uint64_t end = Now() + wait_us * 1000ull; Now() < end;) {
    }
  }
}

// Returns when the thread has begun with the task, and has ended the one before.
void Neighbour::State::Do(Task next) {
  if (busy) WaitFor(ended);
  busy = true;
  task = next;
  sem_post(&given);
  if (next != Task::kEnd) WaitFor(begun);
}

Neighbour::Neighbour(unsigned wait_us) : state_(new State) {
  state_->wait_us = wait_us;
  for (sem_t* semaphore : {&state_->given, &state_->begun, &state_->ended})
    sem_init(semaphore, 0, 0);
  state_->thread = std::thread([this] { state_->Run(); });
}

Neighbour::~Neighbour() {
  state_->shares_cpu.store(false);
  state_->Do(Task::kEnd);
  state_->thread.join();
  delete state_;
}

void Neighbour::HoldMutex() { state_->Do(Task::kHoldMutex); }

void Neighbour::HoldSpinLock() { state_->Do(Task::kHoldSpinLock); }

void Neighbour::DelayTicket() { state_->Do(Task::kDelayTicket); }

void Neighbour::LetTicketPass() { PassTicket(); }

bool Neighbour::ShareCpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  // The other thread has its own CPUs: of each thread its own are set.
  if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one) != 0) return false;
  if (pthread_setaffinity_np(state_->thread.native_handle(), sizeof(one), &one) != 0) return false;
  state_->shares_cpu.store(true);
  state_->Do(Task::kShareCpu);
  return true;
}

}  // namespace spiky
