// SPDX-License-Identifier: MIT
// The parts of the work of a request, with most of the planted causes.
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include "server.h"
#include "shared.h"

namespace spiky {
namespace {

constexpr unsigned kBlocks = 6;
constexpr size_t kPage = 4096;

std::unordered_map<uint64_t, uint64_t>* stock;
char* page_area;
size_t page_area_bytes;

// One step of a computation that no compiler shortens.
inline uint64_t Mix(uint64_t value) { return (value ^ (value >> 29)) * 0x9e3779b97f4a7c15; }

class Usual : public Pricing {
 public:
  APART uint64_t Price(uint64_t units) const override { return Mix(units) + units; }
};

class Costly : public Pricing {
 public:
  APART uint64_t Price(uint64_t units) const override {
    for (unsigned round = 0; round < 1500; ++round)  // CAUSE virtual-callee
      units = Mix(units + round);                    // CAUSE virtual-callee
    return units;
  }
};

}  // namespace

pthread_mutex_t stock_mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> stock_taken;
int ticket_pipe[2];

const Pricing& UsualPricing() {
  static const Usual pricing;
  return pricing;
}

const Pricing& CostlyPricing() {
  static const Costly pricing;
  return pricing;
}

void PrepareParts(unsigned pages) {
  stock = new std::unordered_map<uint64_t, uint64_t>;
  for (uint64_t i = 0; i < 1000; ++i) (*stock)[i * 7] = Mix(i);
  page_area_bytes = pages * kPage;
  void* area =
      mmap(nullptr, page_area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED || pipe(ticket_pipe) != 0) abort();
  madvise(area, page_area_bytes, MADV_NOHUGEPAGE);
  page_area = static_cast<char*>(area);
}

void ForgetPages() { madvise(page_area, page_area_bytes, MADV_DONTNEED); }

APART uint64_t describe(const Request& request) {
  std::string words = request.text;
  words += '/';
  words += request.text;
  uint64_t sum = words.find('!');
  for (const char letter : words) sum = sum * 31 + static_cast<unsigned char>(letter);
  return sum;
}

APART uint64_t look_up(const Request& request) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < 2 + request.number % 3; ++i) {
    const auto found = stock->find((request.number * 13 + i * 7) % 7000);
    sum += found == stock->end() ? 1 : found->second;
  }
  return sum;
}

APART uint64_t discount(const Request& request) {
  uint64_t sum = request.units;
  if (request.units >= 1000) {                       // CAUSE rare-branch
    for (unsigned round = 0; round < 2000; ++round)  // CAUSE rare-branch
      sum = Mix(sum + round);                        // CAUSE rare-branch
  }
  return sum % 100;
}

APART uint64_t count_items(const Request& request) {
  uint64_t sum = 0;
  for (unsigned item = 0; item < request.items; ++item) {  // CAUSE longer-loop
    sum = Mix(sum + item);                                 // CAUSE longer-loop
    if (sum % 5 == 0) sum += request.number;               // CAUSE longer-loop
  }
  return sum;
}

APART uint64_t nest(unsigned depth, uint64_t value) {
  if (depth == 0) return value;
  return Mix(nest(depth - 1, value + depth)) + depth;  // CAUSE deep-recursion
}

APART uint64_t collect(const Request& request) {
  void* blocks[kBlocks];
  uint64_t sum = 0;
  for (void*& block : blocks) {
    block = malloc(request.block_bytes);  // CAUSE grow-heap
    memset(block, 1, 16);                 // CAUSE grow-heap
    sum += *static_cast<unsigned char*>(block);
  }
  for (void* block : blocks) free(block);  // CAUSE grow-heap
  return sum;
}

APART uint64_t touch(const Request& request) {
  uint64_t sum = 0;
  for (unsigned page = 0; page < request.pages; ++page) {  // CAUSE page-fault-storm
    page_area[page * kPage] += 1;                          // CAUSE page-fault-storm
    sum += page_area[page * kPage];                        // CAUSE page-fault-storm
  }
  return sum;
}

APART uint64_t parse(const Request& request) {
  if (request.text.back() == '?') throw std::runtime_error("no such word");  // CAUSE exception
  return request.text.size();
}

APART uint64_t take_ticket() {
  char ticket = 0;
  if (read(ticket_pipe[0], &ticket, 1) != 1) abort();  // CAUSE slow-syscall
  return static_cast<unsigned char>(ticket);
}

APART uint64_t count_stock() {
  pthread_mutex_lock(&stock_mutex);  // CAUSE contended-lock
  const uint64_t sum = stock->size();
  pthread_mutex_unlock(&stock_mutex);
  return sum;
}

APART uint64_t count_quickly() {
  while (stock_taken.exchange(true))  // CAUSE spinning-lock
    __builtin_ia32_pause();           // CAUSE spinning-lock
  const uint64_t sum = stock->size();
  stock_taken.store(false);
  return sum;
}

APART void throttle(const Request& request) {
  if (request.wait_us == 0) return;
  timespec wait{.tv_sec = 0, .tv_nsec = request.wait_us * 1000L};
  nanosleep(&wait, nullptr);  // CAUSE sleep
}

APART uint64_t print(const Request& request) {
  if (!request.prints) return 0;
  const char* const text = request.text.c_str();
  uint64_t sum = strspn(text, "abc");                      // CAUSE first-symbol
  sum += strcspn(text, "xyz");                             // CAUSE first-symbol
  sum += strpbrk(text, "klm") != nullptr;                  // CAUSE first-symbol
  sum += strtoull("12", nullptr, 10) + strtol("3", 0, 0);  // CAUSE first-symbol
  sum += strncasecmp(text, "word", 4) == 0;                // CAUSE first-symbol
  sum += strcasestr(text, "LM") != nullptr;                // CAUSE first-symbol
  sum += memmem(text, 4, "bc", 2) != nullptr;              // CAUSE first-symbol
  sum += ffsll(static_cast<long>(sum)) + a64l("ab");       // CAUSE first-symbol
  sum += strverscmp(text, "a1") > 0;                       // CAUSE first-symbol
  sum += strnlen(text, 9) + getppid() % 2;                 // CAUSE first-symbol
  return sum;
}

}  // namespace spiky
