// SPDX-License-Identifier: MIT
#include "tests/differential/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "decode/instruction/x86/prefixes.h"
#include "decode/pt/packets/psb.h"
#include "tests/support/flow_of.h"

namespace flowback::testing {
namespace {

constexpr uint8_t kIntoOpcode = 0xce;
constexpr uint8_t kRex2Prefix = 0xd5;

// `after`: the flow was lost right before it, or null.
void AddRun(const BlockRun& run, const DataLoss* after, std::vector<Story::Step>& steps) {
  const size_t first = steps.size();
  uint64_t ip = run.address;
  for (const uint8_t length : run.lengths) {
    steps.push_back({.ip = ip, .length = length, .mode = run.mode});
    ip += length;
  }
  steps[first].after = after;
  if (run.exit == BlockExit::kFallThrough) return;
  steps.back().kind = run.last;
  steps.back().exit = run.exit;
  steps.back().next = run.next;
}

size_t CommonLength(const Story& a, const Story& b) {
  const size_t limit = std::min(a.steps.size(), b.steps.size());
  size_t common = 0;
  while (common < limit && a.steps[common].ip == b.steps[common].ip) ++common;
  return common;
}

// The caller on top of a call stack that follows the SDM, before step `end`'s return.
uint64_t CallerAt(const Story& story, size_t end) {
  std::vector<uint64_t> stack;
  for (size_t i = 0; i < end; ++i) {
    const Story::Step& step = story.steps[i];
    if (step.after != nullptr) stack.clear();
    const uint64_t next = step.ip + step.length;
    const bool zero_call = step.kind == InstructionClass::kCall && step.next == next;
    const bool call =
        step.kind == InstructionClass::kCall || step.kind == InstructionClass::kIndirectCall;
    if (call && !zero_call && step.exit != BlockExit::kStopped) stack.push_back(next);
    if (stack.size() > 64) stack.erase(stack.begin());
    if (step.kind == InstructionClass::kReturn && !stack.empty()) stack.pop_back();
  }
  return stack.empty() ? 0 : stack.back();
}

uint8_t ByteAt(const Subject& subject, uint64_t address) {
  for (const GeneratedSection& section : subject.stream().sections)
    if (address - section.address < section.bytes.size())
      return section.bytes[address - section.address];
  return 0;
}

// Native has lost the flow where the stories part: whether that explains it.
std::optional<Verdict> JudgeLoss(Bytes bytes, const DataLoss& lost, const Story::Step* theirs,
                                 const Story& reference) {
  const bool no_call =
      lost.cause == LossCause::kReturnMismatch || lost.cause == LossCause::kReturnAcrossLoss;
  if (theirs != nullptr && no_call && lost.last_ip == theirs->ip) return Verdict::kOldCall;
  if (lost.begin < lost.end && pt::FindPsb(bytes, lost.begin) == lost.begin)
    return Verdict::kSyncPoint;
  const bool psb_follows = pt::FindPsb(bytes, lost.end) == lost.end && lost.end < bytes.size();
  constexpr uint64_t kOvfSize = 2;
  const bool only_ovf = lost.cause == LossCause::kOverflow && lost.end - lost.begin == kOvfSize;
  if (only_ovf && psb_follows) return Verdict::kOverflowPsb;
  const auto ends_there = [&lost](const DataLoss& loss) { return loss.end == lost.end; };
  if (psb_follows && std::ranges::none_of(reference.losses, ends_there)) return Verdict::kMissedPsb;
  const auto later = [&lost](const DataLoss& loss) {
    return loss.end == lost.end && loss.begin >= lost.begin;
  };
  if (std::ranges::any_of(reference.losses, later)) return Verdict::kNativeSooner;
  return std::nullopt;
}

// The last loss of one side before step `end` that the other has not, or not up to there. The same
// flow on both sides behind it, as in a loop, is chance.
const DataLoss* LastOwnLoss(const Story& one, const Story& other, size_t end) {
  while (end-- > 0) {
    const DataLoss* ours = one.steps[end].after;
    const DataLoss* theirs = other.steps[end].after;
    if (ours != nullptr && (theirs == nullptr || theirs->end != ours->end)) return ours;
  }
  return nullptr;
}

// The first byte of the instruction at `address` that is no legacy prefix.
uint8_t ByteBehindPrefixes(const Subject& subject, uint64_t address) {
  while (x86::IsLegacyPrefix(ByteAt(subject, address))) ++address;
  return ByteAt(subject, address);
}

// Whether a MODE.Exec may have another mode than the stream's own.
bool TellsOtherMode(const Subject& subject, Bytes bytes) {
  if (subject.stream().options.compat) return true;
  constexpr uint8_t kMode = 0x99;
  constexpr uint8_t kLeafAndMode = 0b1110'0011;
  std::set<uint8_t> told;
  for (size_t i = 0; i + 1 < bytes.size(); ++i)
    if (bytes[i] == kMode && (bytes[i + 1] & kLeafAndMode) < 4)
      told.insert(bytes[i + 1] & kLeafAndMode);
  return told.size() > 1;
}

// The stories part behind an instruction that has two lengths.
Verdict JudgeLength(const Subject& subject, const Story::Step& last) {
  return ByteBehindPrefixes(subject, last.ip) == kRex2Prefix ? Verdict::kRex2
                                                             : Verdict::kContradiction;
}

Verdict JudgeTransfer(const Subject& subject, const Story& native, size_t common) {
  const Story::Step& last = native.steps[common - 1];
  const uint64_t target = native.steps[common].ip;
  if (last.kind == InstructionClass::kReturn && CallerAt(native, common - 1) == target)
    return Verdict::kReturn;
  if (ByteAt(subject, last.ip) == kIntoOpcode && target == last.ip + last.length)
    return Verdict::kInto;
  return Verdict::kContradiction;
}

Verdict JudgeParting(const Subject& subject, Bytes bytes, const Story& native,
                     const Story& reference, size_t common) {
  const bool native_ends = common == native.steps.size();
  const bool reference_ends = common == reference.steps.size();
  if (native_ends && reference_ends) return Verdict::kEqual;
  const DataLoss* lost = native_ends ? native.at_end : native.steps[common].after;
  const Story::Step* theirs = reference_ends ? nullptr : &reference.steps[common];
  if (lost != nullptr) {
    const std::optional<Verdict> verdict = JudgeLoss(bytes, *lost, theirs, reference);
    if (verdict) return *verdict;
  }
  if (native_ends && native.at_end != nullptr) return Verdict::kNativeSooner;
  if (reference_ends && reference.at_end != nullptr) return Verdict::kReferenceSooner;
  if (theirs != nullptr && theirs->after != nullptr) return Verdict::kReferenceSooner;
  // libipt has read the last packet when it finds that it contradicts the code: the loss then has
  // no bytes, and is not reported.
  const bool lost_last = native.at_end != nullptr && native.at_end->end == bytes.size();
  if (reference_ends && lost_last) return Verdict::kReferenceSooner;
  if (common == 0 || native_ends || reference_ends) return Verdict::kContradiction;
  const Story::Step& last = native.steps[common - 1];
  if (last.mode != reference.steps[common - 1].mode)
    return TellsOtherMode(subject, bytes) ? Verdict::kMode : Verdict::kContradiction;
  if (last.length != reference.steps[common - 1].length) return JudgeLength(subject, last);
  if (const DataLoss* before = LastOwnLoss(native, reference, common)) {
    const std::optional<Verdict> verdict = JudgeLoss(bytes, *before, nullptr, reference);
    if (verdict) return *verdict;
  }
  if (LastOwnLoss(reference, native, common) != nullptr) return Verdict::kReferenceSooner;
  return JudgeTransfer(subject, native, common);
}

// Whether native may find flow that the reference does not, rather than other flow.
bool ExcusesMore(Verdict verdict) {
  return verdict == Verdict::kReferenceSooner || verdict == Verdict::kSyncPoint ||
         verdict == Verdict::kMissedPsb || verdict == Verdict::kOverflowPsb;
}

// Native's flow from step `first` on, stretch by stretch between its losses: each is one that the
// reference has as well, behind where they parted, or one of the true flow; both in order.
bool RestIsProven(const std::vector<uint64_t>& truth, const Story& native, const Story& reference,
                  size_t first) {
  std::vector<uint64_t> theirs;
  for (size_t i = first; i < reference.steps.size(); ++i) theirs.push_back(reference.steps[i].ip);
  auto in_theirs = theirs.begin();
  auto in_truth = truth.begin();
  for (size_t begin = first; begin < native.steps.size();) {
    std::vector<uint64_t> stretch = {native.steps[begin].ip};
    for (++begin; begin < native.steps.size() && native.steps[begin].after == nullptr; ++begin)
      stretch.push_back(native.steps[begin].ip);
    const auto told = std::search(in_theirs, theirs.end(), stretch.begin(), stretch.end());
    const auto true_one = std::search(in_truth, truth.end(), stretch.begin(), stretch.end());
    if (told == theirs.end() && true_one == truth.end()) return false;
    const auto size = static_cast<ptrdiff_t>(stretch.size());
    if (told != theirs.end()) in_theirs = told + size;
    if (true_one != truth.end()) in_truth = true_one + size;
  }
  return true;
}

}  // namespace

Verdict Judge(const Subject& subject, Bytes bytes, const std::vector<uint64_t>& truth,
              const Story& native, const Story& reference) {
  const size_t common = CommonLength(native, reference);
  const Verdict verdict = JudgeParting(subject, bytes, native, reference, common);
  if (!ExcusesMore(verdict)) return verdict;
  return RestIsProven(truth, native, reference, common) ? verdict : Verdict::kUnproven;
}

Story StoryOf(Decoder& decoder, const DecodeInput& input) {
  Story story;
  const DataLoss* lost = nullptr;  // no instruction has come since
  ForEachItem(
      FlowOf(decoder, input),
      [&](const BlockRun& run) {
        if (run.lengths.empty()) return;
        AddRun(run, std::exchange(lost, nullptr), story.steps);
        story.at_end = nullptr;
      },
      [&](const DataLoss& loss) {
        story.losses.push_back(loss);
        lost = story.at_end = &story.losses.back();
      });
  return story;
}

std::string PartingText(const Story& native, const Story& reference) {
  const size_t common = CommonLength(native, reference);
  std::string text = "common " + std::to_string(common) + ", native " +
                     std::to_string(native.steps.size()) + ", libipt " +
                     std::to_string(reference.steps.size()) + "\n";
  const size_t first = common > 6 ? common - 6 : 0;
  for (size_t i = first; i < common + 6; ++i) {
    const auto ip = [i](const Story& story) {
      return static_cast<unsigned long long>(i < story.steps.size() ? story.steps[i].ip : 0);
    };
    char line[80];
    std::snprintf(line, sizeof(line), "%zu: %llx %llx\n", i, ip(native), ip(reference));
    text += line;
  }
  return text + "native: " + LossesText(native.losses) + "libipt: " + LossesText(reference.losses);
}

}  // namespace flowback::testing
