// SPDX-License-Identifier: MIT
// A small order server with four planted problems, one for each question that flowback answers.
// ./demo records it; the README and the tutorial show what flowback says of it.
//
//   orders            handles 400 orders with two worker threads, and ends with status 0
//   orders --broken   the same, but the last order is of a customer who has no cart: SIGSEGV
//
//   what crashed        FindCart() returns null for that customer, and AddToCart() uses it
//   what was slow       PriceOf() searches the archive for a product that is not in the price list
//   what never ran      Refund(): no order is a return
//   who waited          Book() compacts the ledger while it holds the lock
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

constexpr unsigned kOrders = 400;
constexpr unsigned kCustomers = 8;
constexpr unsigned kArchived = 3000;
constexpr unsigned kCompactEvery = 40;  // orders
constexpr unsigned kRounds = 20;

struct Cart {
  unsigned items = 0;
};

struct Order {
  unsigned number = 0;
  unsigned customer = 0;
  std::string product;
  bool returned = false;
};

static std::map<std::string, unsigned> price_list;
static std::vector<std::pair<std::string, unsigned>> archive;
static std::array<Cart, kCustomers> carts;

static std::mutex ledger_mutex;
static std::vector<std::string> ledger;
static uint64_t ledger_sum = 0;

static std::mutex queue_mutex;
static std::condition_variable queue_filled;
static std::deque<Order> queue;
static bool closed = false;

// ---- What was slow: one product is in the archive alone ----

[[gnu::noinline]] static unsigned SearchArchive(const std::string& product) {
  for (const auto& [name, price] : archive)
    if (name == product) return price;
  return 0;
}

[[gnu::noinline]] static unsigned PriceOf(const std::string& product) {
  const auto found = price_list.find(product);
  return found != price_list.end() ? found->second : SearchArchive(product);
}

// ---- Who waited: the ledger is compacted under its lock ----

[[gnu::noinline]] static void CompactLedger() {
  for (unsigned round = 0; round < kRounds; ++round)
    for (const std::string& line : ledger)
      for (const char c : line) ledger_sum = ledger_sum * 31 + static_cast<unsigned char>(c);
}

[[gnu::noinline]] static void Book(const Order& order, unsigned price) {
  const std::lock_guard lock(ledger_mutex);
  ledger.push_back(order.product + " " + std::to_string(price));
  if (ledger.size() % kCompactEvery == 0) CompactLedger();
}

// ---- What never ran: nobody returns anything ----

[[gnu::noinline]] static void Refund(const Order& order, unsigned price) {
  Cart& cart = carts[order.customer];
  if (cart.items == 0) {
    std::puts("nothing to give back");
    return;
  }
  --cart.items;
  const std::lock_guard lock(ledger_mutex);
  ledger.push_back("refund " + std::to_string(price));
}

// ---- What crashed: a customer without a cart ----

[[gnu::noinline]] static Cart* FindCart(unsigned customer) {
  if (customer >= kCustomers) return nullptr;
  return &carts[customer];
}

[[gnu::noinline]] static void AddToCart(unsigned customer) {
  Cart* const cart = FindCart(customer);
  ++cart->items;
}

[[gnu::noinline]] static void Handle(const Order& order) {
  const unsigned price = PriceOf(order.product);
  if (order.returned) return Refund(order, price);
  AddToCart(order.customer);
  Book(order, price);
}

static void Work() {
  for (;;) {
    std::unique_lock lock(queue_mutex);
    queue_filled.wait(lock, [] { return closed || !queue.empty(); });
    if (queue.empty()) return;
    const Order order = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    Handle(order);
  }
}

static void Open() {
  for (unsigned i = 0; i < 40; ++i) price_list["product-" + std::to_string(i)] = 100 + i;
  for (unsigned i = 0; i < kArchived; ++i)
    archive.emplace_back("archived-product-" + std::to_string(i), i);
}

static Order MakeOrder(unsigned number) {
  Order order{.number = number, .customer = number % kCustomers, .product = ""};
  const bool archived = number == 250;
  order.product = archived ? "archived-product-" + std::to_string(kArchived - 1)
                           : "product-" + std::to_string(number % 40);
  return order;
}

static void Receive(bool broken) {
  for (unsigned number = 1; number <= kOrders; ++number) {
    const std::lock_guard lock(queue_mutex);
    queue.push_back(MakeOrder(number));
    closed = number == kOrders;
    if (closed && broken) queue.back().customer = kCustomers;
    queue_filled.notify_all();
  }
}

int main(int argc, char** argv) {
  const bool broken = argc > 1 && std::strcmp(argv[1], "--broken") == 0;
  Open();
  std::thread first(Work);
  std::thread second(Work);
  Receive(broken);
  first.join();
  second.join();
  std::printf("%zu lines in the ledger, sum %llu\n", ledger.size(),
              static_cast<unsigned long long>(ledger_sum));
}
