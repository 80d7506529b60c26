// SPDX-License-Identifier: MIT
//
// The user's frames come from two lists that are laid side by side:
//
//   hardware's calls     main+8 -> f    f+20 -> g     g+12 -> h
//   callchain            main+d         f+25          (g has no frame)      junk
//
// From the innermost on, each call looks for its return address among the addresses of the chain
// that are left. What the chain has between two that were found is no call that the hardware saw;
// what it has behind the last one goes on where the hardware's knowledge ends, unless the hardware
// knows that it does not.
#include "replay/calls/unwind/sampled_stack.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/linux/kernel_address.h"
#include "decode/instruction/classify.h"

namespace flowback {
namespace {

using Stitch = SampledStack::Stitch;

struct Chain {
  std::vector<uint64_t> kernel;
  std::vector<uint64_t> user;
  std::vector<bool> exact;                // of the user's: where control stood; empty: the first
  uint8_t source = SampledFrame::kChain;  // of the call
};

// A part without a mark ahead is of where the sample was.
Chain PartsOf(const CallSample& sample) {
  Chain chain;
  bool is_user = !IsKernelAddress(sample.ip);
  for (size_t i = 0; i < sample.chain.size(); ++i) {
    const uint64_t word = sample.chain[i];
    if (IsCallchainMark(word))
      is_user =
          word == kCallchainUser || word == kCallchainUserDeferred || word == kCallchainGuestUser;
    else
      (is_user ? chain.user : chain.kernel).push_back(word);
  }
  return chain;
}

// The instruction at an address, where there is code.
struct Decoded {
  bool known = false;
  Instruction instruction;
};

Decoded DecodeAt(const AddressSpace& space, uint64_t address, CodeMode mode) {
  std::array<uint8_t, kLongestInstruction> bytes{};
  const size_t size = space.Read(address, bytes.data(), bytes.size());
  Decoded decoded;
  if (size != 0) decoded.known = Classify(Bytes(bytes).first(size), mode, decoded.instruction);
  return decoded;
}

bool IsCall(InstructionClass kind) {
  return kind == InstructionClass::kCall || kind == InstructionClass::kIndirectCall;
}

// Returns the return address of the call; 0: unknown.
uint64_t ReturnOf(const AddressSpace& space, uint64_t call, CodeMode mode) {
  const Decoded decoded = DecodeAt(space, call, mode);
  return decoded.known && IsCall(decoded.instruction.kind) ? call + decoded.instruction.length : 0;
}

SampledFrame CallFrame(const AddressSpace& space, uint64_t call, uint64_t entry, CodeMode mode,
                       uint8_t source) {
  return {.address = ReturnOf(space, call, mode), .call = call, .entry = entry, .sources = source};
}

// Returns the calls among the last branches without a return, the innermost first. Ends where the
// code does not show the flow, and where the kernel may have changed the stack.
std::vector<SampledFrame> OpenCalls(const CallSample& sample, const AddressSpace& space,
                                    CodeMode mode) {
  std::vector<SampledFrame> calls;
  size_t returned = 0;
  for (size_t i = 0; i < sample.branches.size(); ++i) {
    const uint64_t from = sample.branches.from(i);
    const uint64_t to = sample.branches.to(i);
    if (from == 0 || to == 0 || IsKernelAddress(from) || IsKernelAddress(to)) break;
    const Decoded at = DecodeAt(space, from, mode);
    if (!at.known || IsFar(at.instruction.kind)) break;
    const bool to_next = to == from + at.instruction.length;  // to learn its address: no call
    if (at.instruction.kind == InstructionClass::kReturn) {
      ++returned;
    } else if (IsCall(at.instruction.kind) && !to_next) {
      if (returned != 0)
        --returned;
      else
        calls.push_back(CallFrame(space, from, to, mode, SampledFrame::kBranches));
    }
  }
  return calls;
}

// Finds return addresses among those of a chain, each further out than the one before.
class ChainIndex {
 public:
  ChainIndex(const std::vector<uint64_t>& chain, CodeMode mode) : mode_(mode) {
    for (size_t i = chain.size(); i-- > 1;) {
      next_.push_back(0);
      const auto [found, is_new] = first_.try_emplace(chain[i], i);
      next_.back() = is_new ? 0 : std::exchange(found->second, i);
    }
    std::ranges::reverse(next_);  // of chain[i], at i - 1
  }

  // From `begin` on, which does not go back; 0: not there. Without the code, what a call of any
  // length may return to.
  size_t Find(const SampledFrame& call, size_t begin) {
    if (call.address != 0) return FindAddress(call.address, begin);
    size_t best = 0;
    for (uint64_t length = 1; length <= TraitsOf(mode_).longest_instruction; ++length) {
      const size_t found = FindAddress(call.call + length, begin);
      if (found != 0 && (best == 0 || found < best)) best = found;
    }
    return best;
  }

 private:
  size_t FindAddress(uint64_t address, size_t begin) {
    const auto found = first_.find(address);
    if (found == first_.end()) return 0;
    size_t& at = found->second;
    while (at != 0 && at < begin) at = next_[at - 1];
    return at;
  }

  CodeMode mode_;
  std::unordered_map<uint64_t, size_t> first_;
  std::vector<size_t> next_;  // where the same address is again; 0: nowhere
};

void AddChainFrames(const Chain& chain, size_t begin, size_t end, bool is_doubted,
                    std::vector<SampledFrame>& frames) {
  for (size_t i = begin; i < end; ++i)
    frames.push_back({.address = chain.user[i],
                      .sources = chain.source,
                      .is_exact = i < chain.exact.size() && chain.exact[i],
                      .is_doubted = is_doubted});
}

// `ends_there`: no calls were open but those.
void Merge(const Chain& chain, const std::vector<SampledFrame>& calls, bool ends_there,
           CodeMode mode, std::vector<SampledFrame>& frames) {
  ChainIndex index(chain.user, mode);
  size_t at = 1;  // of the chain, behind where control stood
  size_t unmatched = 0;
  for (const SampledFrame& call : calls) {
    const size_t found = index.Find(call, at);
    ++unmatched;
    if (found == 0) {
      frames.push_back(call);
      continue;
    }
    for (size_t i = frames.size(); --unmatched != 0;) frames[--i].is_skipped = true;
    AddChainFrames(chain, at, found, true, frames);
    SampledFrame both = call;
    both.address = chain.user[found];
    both.sources |= chain.source;
    frames.push_back(both);
    at = found + 1;
  }
  AddChainFrames(chain, at, chain.user.size(), ends_there && unmatched != 0, frames);
}

}  // namespace

size_t SampledStack::Disagreements() const {
  return static_cast<size_t>(std::ranges::count_if(
      frames, [](const SampledFrame& frame) { return frame.is_doubted || frame.is_skipped; }));
}

// The oldest call of a full stack lies in some slot of the hardware's ring. In the sample before,
// that slot held one of its calls: if that is the same one, and those further in agree as far as
// both go, then what was further out there is so here. Where the stack before has the same calls
// at another place, as recursion makes it, they may have moved by any number of calls meanwhile.
Stitch SampledStackReader::StitchTo(std::vector<Entry>& entries, uint64_t slot) const {
  const uint64_t depth = options_.depth;
  if (before_.empty() || depth == 0) return Stitch::kNoOverlap;
  const uint64_t oldest = (slot + depth - (entries.size() - 1) % depth) % depth;
  const uint64_t base = (slot_before_ + depth - oldest) % depth;
  const auto overlap = [&](size_t at) {
    size_t count = 0;
    while (count <= at && count < entries.size() &&
           before_[at - count] == entries[entries.size() - 1 - count])
      ++count;
    return count;
  };
  if (base >= before_.size() || overlap(base) == 0) return Stitch::kNoOverlap;
  for (size_t at = 0; at < before_.size(); ++at)
    if (at != base && before_[at] == entries.back()) return Stitch::kAmbiguous;
  if (std::ranges::count(entries, entries.back()) != 1) return Stitch::kAmbiguous;
  entries.insert(entries.end(), before_.begin() + static_cast<ptrdiff_t>(base) + 1, before_.end());
  return Stitch::kStitched;
}

void SampledStackReader::AddHardwareCalls(const CallSample& sample,
                                          std::vector<SampledFrame>& calls, SampledStack& stack) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < sample.branches.size(); ++i)
    if (sample.branches.from(i) != 0)
      entries.push_back({sample.branches.from(i), sample.branches.to(i), sample.branches.flags(i)});
  const size_t own = entries.size();
  stack.is_full = own != 0 && own == options_.depth;
  if (options_.stitch && stack.is_full) {
    stack.stitch = sample.has_branch_index ? StitchTo(entries, sample.branch_index % options_.depth)
                                           : Stitch::kNoSlots;
  }
  for (size_t i = 0; i < entries.size(); ++i)
    calls.push_back(CallFrame(*stack.space, entries[i].from, entries[i].to, options_.mode,
                              i < own ? SampledFrame::kCalls : SampledFrame::kBefore));
  // A stack of this many calls is no program's: what can be stitched to stays bounded.
  constexpr size_t kMostEntries = 4096;
  if (entries.size() > kMostEntries) entries.clear();
  before_ = std::move(entries);
  slot_before_ = sample.branch_index % std::max<uint64_t>(options_.depth, 1);
}

SampledStack SampledStackReader::Of(const CallSample& sample, const AddressSpace& space) {
  SampledStack stack;
  stack.space = &space;
  Chain chain = PartsOf(sample);
  for (size_t i = 0; i < chain.kernel.size(); ++i)
    stack.frames.push_back({.address = chain.kernel[i],
                            .sources = SampledFrame::kChain,
                            .is_exact = i == 0,
                            .is_kernel = true});
  const bool in_user = sample.ip != 0 && !IsKernelAddress(sample.ip);
  if (!in_user && stack.frames.empty() && sample.ip != 0)
    stack.frames.push_back({.address = sample.ip, .is_exact = true, .is_kernel = true});
  std::vector<SampledFrame> calls;
  if (sample.branches_are_calls)
    AddHardwareCalls(sample, calls, stack);
  else
    calls = OpenCalls(sample, space, options_.mode);
  for (const SampledFrame& call : calls) stack.sources |= call.sources;
  if (chain.user.empty() && options_.unwinder != nullptr && sample.copy >= 0) {
    const StackCopy& copy = (*options_.copies)[static_cast<size_t>(sample.copy)];
    UnwoundStack unwound = options_.unwinder->Unwind(copy, space);
    stack.copy_end = unwound.end;
    chain.user = std::move(unwound.addresses);
    chain.exact = std::move(unwound.exact);
    chain.source = SampledFrame::kUnwound;
  }
  const bool has_chain = !chain.user.empty();
  if (has_chain) stack.sources |= chain.source;
  // Where the user's code stood: what interrupted it does not say, but in a callchain.
  if (!has_chain && in_user) chain.user.push_back(sample.ip);
  if (!chain.user.empty())
    stack.frames.push_back({.address = chain.user.front(),
                            .sources = has_chain ? chain.source : uint8_t{0},
                            .is_exact = true});
  else if (!calls.empty())
    stack.frames.push_back({.entry = calls.front().entry, .sources = calls.front().sources});
  // The hardware records all calls since it was switched on.
  const bool ends_there = sample.branches_are_calls && !stack.is_full;
  Merge(chain, calls, ends_there, options_.mode, stack.frames);
  return stack;
}

}  // namespace flowback
