// SPDX-License-Identifier: MIT
// Locks with an order, and places at which threads wait for a state: tickets, queues, sequence
// locks, barriers.
#include "contention.h"

namespace contention {
namespace {

constexpr int kThreads = 512;

struct alignas(64) Node {
  std::atomic<Node*> next{nullptr};
  std::atomic<int> locked{0};
};

std::atomic<unsigned> next_ticket{0};
std::atomic<unsigned> served{0};
std::atomic<Node*> tail{nullptr};
Node nodes[kThreads + 1];
Node* own_node[kThreads];
Node* pred_node[kThreads];

std::atomic<unsigned> sequence{0};
volatile long data_a = 0;
volatile long data_b = 0;

std::atomic<int> missing{0};
std::atomic<int> sense{0};
int barrier_threads = 0;

std::atomic<int> turn{0};

void Reset(int threads, long) {
  next_ticket.store(0);
  served.store(0);
  for (Node& node : nodes) {
    node.next.store(nullptr);
    node.locked.store(0);
  }
  for (int i = 0; i < kThreads; ++i) {
    own_node[i] = &nodes[i];
  }
  tail.store(nullptr);
  sequence.store(0);
  missing.store(threads);
  sense.store(0);
  barrier_threads = threads;
  turn.store(0);
}

void ResetClh(int threads, long rounds) {
  Reset(threads, rounds);
  tail.store(&nodes[kThreads]);
}

}  // namespace

APART Wait lock_ticket(Worker&) {
  const unsigned mine = next_ticket.fetch_add(1, std::memory_order_relaxed);
  long trips = 0;
  while (served.load(std::memory_order_acquire) != mine) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

// Pauses longer where more threads are ahead. Counts its checks, not its pauses.
APART Wait lock_ticket_backoff(Worker&) {
  const unsigned mine = next_ticket.fetch_add(1, std::memory_order_relaxed);
  long trips = 0;
  for (;;) {
    const unsigned now = served.load(std::memory_order_acquire);
    if (now == mine) {
      return {.trips = trips};
    }
    for (unsigned i = 0; i != 10 * (mine - now); ++i) {
      Pause();
    }
    ++trips;
  }
}

APART Wait unlock_ticket(Worker&) {
  served.store(served.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return {};
}

APART Wait lock_mcs(Worker& me) {
  Node& mine = nodes[me.number];
  mine.next.store(nullptr, std::memory_order_relaxed);
  mine.locked.store(1, std::memory_order_relaxed);
  Node* ahead = tail.exchange(&mine, std::memory_order_acq_rel);
  if (ahead == nullptr) {
    return {};
  }
  ahead->next.store(&mine, std::memory_order_release);
  long trips = 0;
  while (mine.locked.load(std::memory_order_acquire) != 0) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait unlock_mcs(Worker& me) {
  Node& mine = nodes[me.number];
  long trips = 0;
  if (mine.next.load(std::memory_order_acquire) == nullptr) {
    Node* expected = &mine;
    if (tail.compare_exchange_strong(expected, nullptr, std::memory_order_release)) {
      return {};
    }
    while (mine.next.load(std::memory_order_acquire) == nullptr) {
      Pause();
      ++trips;
    }
  }
  mine.next.load(std::memory_order_relaxed)->locked.store(0, std::memory_order_release);
  return {.trips = trips};
}

APART Wait lock_clh(Worker& me) {
  Node* mine = own_node[me.number];
  mine->locked.store(1, std::memory_order_relaxed);
  Node* ahead = tail.exchange(mine, std::memory_order_acq_rel);
  pred_node[me.number] = ahead;
  long trips = 0;
  while (ahead->locked.load(std::memory_order_acquire) != 0) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

APART Wait unlock_clh(Worker& me) {
  Node* mine = own_node[me.number];
  own_node[me.number] = pred_node[me.number];
  mine->locked.store(0, std::memory_order_release);
  return {};
}

// Waits while a writer is in the middle of it, and reads again what changed meanwhile.
APART Wait read_sequence(Worker&) {
  long trips = 0;
  for (;;) {
    unsigned begin = sequence.load(std::memory_order_acquire);
    while ((begin & 1) != 0) {
      Pause();
      ++trips;
      begin = sequence.load(std::memory_order_acquire);
    }
    const long a = data_a;
    const long b = data_b;
    if (sequence.load(std::memory_order_acquire) == begin) {
      return {.trips = a == b ? trips : -1000000};
    }
    ++trips;
  }
}

// The first thread writes, the others read, once in each round.
void SequenceRounds(Worker& me, const Lock&) {
  const auto others = static_cast<long>(me.team->workers.size()) - 1;
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number == 0) {
      sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
      data_a = round;
      me.round.store(round, std::memory_order_release);
      AwaitAnnounced(me);
      Delay(2000);
      data_b = round;
      sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      AwaitAtLeast(me, me.team->taken, others * (round + 1));
      continue;
    }
    AwaitAtLeast(me, me.team->workers.front()->round, round);
    me.Announce();
    const uint64_t before = Now();
    const Wait wait = read_sequence(me);
    const uint64_t after = Now();
    me.Acquired();
    me.lock.Add(wait, wait.trips > 0, before, before, after);
  }
}

// A barrier whose threads wait for the sense to turn over.
APART Wait arrive(Worker&) {
  const int turned = 1 - sense.load(std::memory_order_relaxed);
  if (missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    missing.store(barrier_threads, std::memory_order_relaxed);
    sense.store(turned, std::memory_order_release);
    return {};
  }
  long trips = 0;
  while (sense.load(std::memory_order_acquire) != turned) {
    Pause();
    ++trips;
  }
  return {.trips = trips};
}

void BarrierRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    // Each is the last one once, and makes the others wait.
    if (round % barrier_threads == me.number) {
      AwaitAnnounced(me);
      Delay(4000);
    }
    me.Announce();
    const uint64_t before = Now();
    const Wait wait = arrive(me);
    const uint64_t after = Now();
    me.Acquired();
    me.lock.Add(wait, wait.trips > 0, before, before, after);
  }
}

// Threads take turns, as between a producer and a consumer of one value.
APART Wait await_turn(Worker& me) {
  long trips = 0;
  while (turn.load(std::memory_order_acquire) != me.number) {
    ++trips;
  }
  return {.trips = trips};
}

void TurnRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    const uint64_t before = Now();
    const Wait wait = await_turn(me);
    const uint64_t after = Now();
    me.lock.Add(wait, wait.trips > 0, before, me.team->released, after);
    Delay(500);
    me.team->released = Now();
    turn.store((me.number + 1) % barrier_threads, std::memory_order_release);
  }
}

std::span<const Lock> QueueLocks() {
  static const Lock locks[] = {
      {"ticket", "lock_ticket", nullptr, false, MutualExclusion, lock_ticket, unlock_ticket, Reset},
      {"ticket-backoff", "lock_ticket_backoff", nullptr, false, MutualExclusion,
       lock_ticket_backoff, unlock_ticket, Reset},
      {"mcs", "lock_mcs", "unlock_mcs", false, MutualExclusion, lock_mcs, unlock_mcs, Reset},
      {"clh", "lock_clh", nullptr, false, MutualExclusion, lock_clh, unlock_clh, ResetClh},
      {"sequence", "read_sequence", nullptr, false, SequenceRounds, nullptr, nullptr, Reset},
      {"spinning-barrier", "arrive", nullptr, false, BarrierRounds, nullptr, nullptr, Reset},
      {"turns", "await_turn", nullptr, false, TurnRounds, nullptr, nullptr, Reset},
  };
  return locks;
}

}  // namespace contention
