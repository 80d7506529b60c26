// SPDX-License-Identifier: MIT
#include "capture/formats/samples/perf_call_samples.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/linux/kernel_address.h"
#include "base/recorded/branch_records.h"
#include "capture/formats/branches/perf_branch_stacks.h"

namespace flowback::perf {
namespace {

constexpr size_t kCopiedAtOnce = 1 << 16;  // bytes of a block; a larger sample gets a larger one

bool IsSwapped(ByteOrder order) {
  return (order == ByteOrder::kLittle) != (std::endian::native == std::endian::little);
}

bool IsInKernel(const CallSample& sample) {
  const bool began_there = sample.chain.size() > 1 && IsKernelAddress(sample.chain[1]) &&
                           !IsCallchainMark(sample.chain[1]);
  return IsKernelAddress(sample.ip) || began_there;
}

}  // namespace

bool TellsOfCalls(const EventAttr& attr) {
  const bool stack = (attr.sample_type & kSampleBranchStack) != 0 &&
                     (attr.branch_sample_type & kBranchCallStack) != 0;
  return stack || (attr.sample_type & kSampleCallchain) != 0;
}

// Many copies share one block of memory, whose bytes do not move.
Bytes CallSampleCollector::Kept(Bytes bytes, bool stays) {
  if (stays || bytes.empty()) return bytes;
  if (last_copy_ == nullptr || last_copy_->capacity() - last_copy_->size() < bytes.size()) {
    last_copy_ = std::make_shared<std::vector<uint8_t>>();
    last_copy_->reserve(std::max(kCopiedAtOnce, bytes.size()));
    copies_.push_back(last_copy_);
  }
  const size_t begin = last_copy_->size();
  last_copy_->insert(last_copy_->end(), bytes.begin(), bytes.end());
  return Bytes(*last_copy_).subspan(begin);
}

// Its number; -1: it would take too much memory.
int32_t CallSampleCollector::AddCopy(const Sample& sample, ByteOrder order, bool stays) {
  constexpr size_t kMostCopied = size_t{256} << 20;
  if (!stays && (copied_stacks_ += sample.user_stack.size()) > kMostCopied) {
    ++stacks_left_out_;
    return -1;
  }
  found_.copies.push_back({.registers = {Kept(sample.user_registers, stays), IsSwapped(order)},
                           .mask = sample.attr->regs_user,
                           .of_32_bit = sample.user_is_32_bit,
                           .memory = Kept(sample.user_stack, stays)});
  return static_cast<int32_t>(found_.copies.size() - 1);
}

void CallSampleCollector::Add(const Sample& sample, ByteOrder order, bool stays) {
  const EventAttr& attr = *sample.attr;
  CallSample found;
  found.time = sample.id.time;
  found.ip = sample.ip;
  found.pid = sample.id.pid;
  found.tid = sample.id.tid;
  found.cpu = sample.id.cpu;
  found.event = static_cast<uint32_t>(&attr - attrs_.data());
  found.chain = {Kept(sample.callchain, stays), IsSwapped(order)};
  found.branches = {{Kept(sample.branches, stays), IsSwapped(order)}};
  found.branch_index = sample.branch_index;
  found.has_chain = (attr.sample_type & kSampleCallchain) != 0;
  found.branches_are_calls = (attr.branch_sample_type & kBranchCallStack) != 0;
  // Architectural LBR has no such slot and says -1.
  found.has_branch_index =
      (attr.branch_sample_type & kBranchHardwareIndex) != 0 && sample.branch_index != ~uint64_t{0};
  if ((attr.sample_type & kSampleStackUser) != 0) found.copy = AddCopy(sample, order, stays);
  found_.branch_depth = std::max<uint64_t>(found_.branch_depth, found.branches.size());
  found_.samples.push_back(found);
}

void CallSampleCollector::Finish(Recording& recording) && {
  if (found_.empty()) return;
  for (const CallSample& sample : found_.samples)
    if (IsInKernel(sample)) recording.sampled_in_kernel.insert(sample.pid);
  if (stacks_left_out_ != 0)
    recording.warnings.push_back(
        {"the stacks of " + std::to_string(stacks_left_out_) +
             " samples are left out: unpacked, all would take more than 256 MB of memory",
         "perf record into a file, without -z"});
  std::ranges::stable_sort(found_.samples, {}, &CallSample::time);
  recording.storage.insert(recording.storage.end(), copies_.begin(), copies_.end());
  const bool has_branches = recording.config.As<BranchStackConfig>() != nullptr;
  auto& config = recording.config.Make<BranchStackConfig>();
  if (!has_branches) ApplyArchitecture(recording, config);
  // Times are nanoseconds of perf's clock.
  const bool timed = found_.samples.back().time != 0;
  if (timed && !recording.time.known()) recording.time = {.shift = 0, .mult = 1, .zero = 0};
  found_.mode = config.mode;
  config.calls = std::make_shared<const CallSamples>(std::move(found_));
}

}  // namespace flowback::perf
