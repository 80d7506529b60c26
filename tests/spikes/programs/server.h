// SPDX-License-Identifier: MIT
// A server of the tests: it handles requests that are all alike, but for a few in which a cause of
// slowness is planted. Comments in the sources mark the planted places and name the cause: the
// tests read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// No clones and no inlining: the tests expect the functions' own names at every level of
// optimisation.
#define APART __attribute__((noinline, noclone))

namespace spiky {

// The price of a request's goods, by a method that the request chooses.
class Pricing {
 public:
  virtual ~Pricing() = default;
  virtual uint64_t Price(uint64_t units) const = 0;
};
const Pricing& UsualPricing();
const Pricing& CostlyPricing();

// What a request asks for. Usual values vary a little; a planted cause makes one of them unusual.
struct Request {
  uint64_t number = 0;
  std::string text;
  unsigned units = 0;        // a thousand or more: rare-branch
  unsigned items = 0;        // trips of a loop: longer-loop
  unsigned depth = 0;        // of a recursion: deep-recursion
  unsigned block_bytes = 0;  // of each block of memory: grow-heap
  unsigned pages = 0;        // that it writes to: page-fault-storm
  unsigned wait_us = 0;      // that it sleeps: sleep
  bool prints = false;       // calls functions of the library that nothing else calls: first-symbol
  bool spins = false;        // for a lock: spinning-lock
  const Pricing* pricing = nullptr;  // virtual-callee
};

// The parts of the work. Each returns something that depends on all of its work.
uint64_t describe(const Request& request);
uint64_t look_up(const Request& request);
uint64_t discount(const Request& request);
uint64_t count_items(const Request& request);
uint64_t nest(unsigned depth, uint64_t value);
uint64_t collect(const Request& request);
uint64_t touch(const Request& request);
uint64_t parse(const Request& request);
uint64_t take_ticket();
uint64_t count_stock();
uint64_t count_quickly();
uint64_t print(const Request& request);
void throttle(const Request& request);

// Prepares what the parts share. `pages` pages can be touched.
void PrepareParts(unsigned pages);
// Takes the pages away that requests touched: each is a new one when it is touched again.
void ForgetPages();

// Another thread of the server, which gets in the way of requests. Every call returns when the
// thread has begun.
class Neighbour {
 public:
  // Waits `wait_us` microseconds each time before it lets go.
  explicit Neighbour(unsigned wait_us);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  void HoldMutex();      // which count_stock takes
  void HoldSpinLock();   // which count_quickly takes
  void DelayTicket();    // which take_ticket reads
  void LetTicketPass();  // without a delay and without the other thread
  // Works now and then, on the CPU of the calling thread alone. False: the machine does not let it.
  bool ShareCpu();

 private:
  struct State;
  State* state_;
};

}  // namespace spiky
