// SPDX-License-Identifier: MIT
#include "tests/spikes/assembled_server.h"

#include <utility>

namespace flowback::spikes {
namespace {

using testing::Node;
using testing::NodeKind;
using testing::Transfer;

constexpr uint64_t kCopies = 8, kStores = 4, kTrials = 1500;  // trips of loops
constexpr uint64_t kKernelCycles = 150;  // the way into the kernel, and the way out of it

}  // namespace

AssembledServer::AssembledServer(const AssembledCode& code,
                                 const testing::GeneratorOptions& options)
    : code_(code), options_(options), random_(options.seed), hardware_(options_, random_, truth) {
  neighbour_.at = code.At(Place::kNeighbour);
  hardware_.Start(Here(), true);
}

void AssembledServer::Handle(const AssembledRequest& request) {
  request_ = request;
  copies_ = kCopies;
  stores_ = kStores;
  trials_ = kTrials;
  executed_.emplace_back();
  do Step();
  while (!server_.frames.empty());
  Step();  // what it writes
  Step();  // the branch to the next call
}

void AssembledServer::Submit(const std::vector<uint32_t>& values, uint64_t cycles) {
  GoToNeighbour();
  neighbour_.at = code_.At(Place::kSubmit);
  hardware_.EnterUser(Here());
  to_submit_.assign(values.rbegin(), values.rend());
  while (!to_submit_.empty()) {
    if (IsAt(Place::kSubmit)) hardware_.Sleep(cycles);
    Step();
  }
  neighbour_.at = code_.At(Place::kNeighbour);
  GoToServer();
}

void AssembledServer::Write(uint32_t value, std::map<uint32_t, uint64_t>& counts) {
  counts[value] = count_ - 1;
  hardware_.Ptwrite(Here().address, value);
}

void AssembledServer::Restart() {
  constexpr uint64_t kAway = 10'000;
  hardware_.Interrupt(Here().address);
  hardware_.Sleep(kKernelCycles);
  Switch(false, false);
  hardware_.Sleep(kAway);
  restarted = hardware_.tsc();
  hardware_.Sleep(kAway);
  Switch(true, false);
  hardware_.Sleep(kKernelCycles);
  server_ = {};
  hardware_.EnterUser(Here());
}

std::vector<uint8_t> AssembledServer::Finish() {
  std::vector<uint8_t> bytes = hardware_.Finish(Here(), true);
  for (const Executed& executed : executed_) requests.push_back(InTime(executed));
  for (const auto& [value, count] : submit_counts_) submitted[value] = truth.times[count];
  for (const auto& [value, count] : done_counts_) done[value] = truth.times[count];
  return bytes;
}

ExecutedRequest AssembledServer::InTime(const Executed& executed) const {
  const std::vector<uint64_t>& times = truth.times;
  const Span& all = executed.all;
  ExecutedRequest request;
  request.instructions = all.last + 1 - all.first - executed.not_its_own;
  if (all.last + 1 >= times.size()) return request;
  request.cycles = truth.cycles[all.last] - truth.cycles[all.first - 1];
  request.called = times[all.first - 1];
  request.begun = times[all.first];
  request.ended = times[all.last];
  request.left = times[all.last + 1];
  for (const auto& [function, span] : executed.in_calls)
    request.in_calls[function] = times[span.last] - times[span.first];
  return request;
}

void AssembledServer::Step() {
  Delay();
  hardware_.PsbIfDue(Here());
  const Node& node = Here();
  ++count_;
  switch (node.kind) {
    case NodeKind::kConditional:
      if (Taken()) return Go(Transfer::kConditional, node.target);
      hardware_.NotTaken(node.address);
      break;
    case NodeKind::kCall:
      return Call(Transfer::kCall, node.target);
    case NodeKind::kIndirectCall:
      return Call(Transfer::kIndirectCall,
                  code_.At(request_.costly ? Place::kCostly : Place::kUsual));
    case NodeKind::kReturn:
      return Return();
    case NodeKind::kSystemCall:
      return SystemCall();
    default:
      if (IsAt(Place::kSubmit))
        Write(to_submit_.back(), submit_counts_);
      else if (IsAt(Place::kDone) && request_.value)
        Write(*request_.value, done_counts_);
      else
        hardware_.Retire(node.address);
  }
  ++thread_->at;
}

bool AssembledServer::Taken() {
  const auto counts = [](uint64_t& left) { return --left != 0; };
  if (IsAt(Place::kRare)) return request_.rounds != 0;
  if (IsAt(Place::kRounds)) return counts(request_.rounds);
  if (IsAt(Place::kItems)) return counts(request_.items);
  if (IsAt(Place::kTrials)) return counts(trials_);
  if (IsAt(Place::kCopied)) return counts(copies_);
  if (IsAt(Place::kTouched)) return counts(stores_);
  if (IsAt(Place::kHurries)) return request_.sleep_cycles == 0;
  if (IsAt(Place::kSubmits)) {
    to_submit_.pop_back();
    return !to_submit_.empty();
  }
  if (IsAt(Place::kDeepest)) return request_.depth-- == 0;
  return true;  // to the next request, and round the neighbour's loop
}

void AssembledServer::Go(Transfer kind, uint32_t target) {
  const Node& node = Here();
  hardware_.Transferred(kind, node.address, node.address + node.length, code_.nodes[target]);
  thread_->at = target;
}

// Calls of _start are requests, and calls of a request are noted.
void AssembledServer::Call(Transfer kind, uint32_t target) {
  std::vector<uint32_t>& frames = server_.frames;
  if (frames.empty()) executed_.back().all.first = count_;
  if (frames.size() == 1) executed_.back().in_calls[code_.functions.at(target)].first = count_ - 1;
  frames.push_back(thread_->at + 1);
  Go(kind, target);
}

void AssembledServer::Return() {
  std::vector<uint32_t>& frames = server_.frames;
  const uint32_t target = frames.back();
  frames.pop_back();
  if (frames.empty()) executed_.back().all.last = count_ - 1;
  if (frames.size() == 1)
    for (auto& [function, span] : executed_.back().in_calls)
      if (span.last == 0) span.last = count_ - 1;
  Go(Transfer::kReturn, target);
}

// What takes time before the instruction at hand executes.
void AssembledServer::Delay() {
  if (IsAt(Place::kLoad)) hardware_.Sleep(request_.load_cycles);
  if (IsAt(Place::kStore) && request_.fault_cycles != 0) Fault();
  if (IsAt(Place::kLoad) && request_.neighbour_trips != 0) RunNeighbour();
  if (IsAt(Place::kItems) && std::exchange(request_.lost, false)) {
    hardware_.BeginOverflow();
    losing_ = true;
  }
  if (IsAt(Place::kLoad) && std::exchange(losing_, false)) {
    hardware_.EndOverflow(Here(), false);
    count_ = truth.losses.back().told;
  }
}

void AssembledServer::Fault() {
  hardware_.Interrupt(Here().address);
  hardware_.Sleep(request_.fault_cycles);
  hardware_.EnterUser(Here());
}

// A call that takes long lets the CPU be idle meanwhile.
void AssembledServer::SystemCall() {
  const uint64_t cycles = IsAt(Place::kTicket) ? request_.ticket_cycles : request_.sleep_cycles;
  const bool blocks = cycles > 10 * kKernelCycles;
  hardware_.SystemCall(Here().address);
  hardware_.Sleep(kKernelCycles);
  if (blocks) Switch(false, false);
  hardware_.Sleep(cycles);
  if (blocks) Switch(true, false);
  hardware_.Sleep(kKernelCycles);
  hardware_.EnterUser(code_.nodes[++thread_->at]);
}

void AssembledServer::GoToNeighbour() {
  hardware_.Interrupt(Here().address);
  hardware_.Sleep(kKernelCycles);
  Switch(false, true);
  hardware_.Sleep(kKernelCycles);
  thread_ = &neighbour_;
}

void AssembledServer::GoToServer() {
  hardware_.Interrupt(Here().address);
  hardware_.Sleep(kKernelCycles);
  Switch(true, true);
  hardware_.Sleep(kKernelCycles);
  thread_ = &server_;
  hardware_.EnterUser(Here());
}

void AssembledServer::RunNeighbour() {
  GoToNeighbour();
  hardware_.EnterUser(Here());
  const uint64_t before = count_;
  for (uint64_t trips = std::exchange(request_.neighbour_trips, 0); trips > 0;) {
    trips -= IsAt(Place::kSpins) ? 1 : 0;
    Step();
  }
  executed_.back().not_its_own += count_ - before;
  GoToServer();
}

void AssembledServer::Switch(bool to_server, bool neighbour) {
  switches.push_back({.tsc = hardware_.tsc(), .to_server = to_server, .neighbour = neighbour});
}

}  // namespace flowback::spikes
