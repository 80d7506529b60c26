// SPDX-License-Identifier: MIT
// Code of a few branches, streams of branch records on it, and what they become in words.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hex.h"
#include "base/recorded/branch_records.h"
#include "decode/branch_stack/stack_decoder.h"
#include "flowback/decode/decoder.h"
#include "tests/support/flow_of.h"

namespace flowback::testing {

//   1000 dec rax ; 1003 jne 1000 ; 1005 nop ; 1006 jmp 1010
//   1010 call 1020 ; 1015 jmp rax
//   1020 nop ; 1021 jne 1025 ; 1023 syscall ; 1025 ret
inline constexpr uint8_t kCode[] = {
    0x48, 0xff, 0xc8, 0x75, 0xfb, 0x90, 0xeb, 0x08, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90, 0x90, 0x90, 0xe8, 0x0b, 0x00, 0x00, 0x00, 0xff, 0xe0, 0x90, 0x90, 0x90,
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0x02, 0x0f, 0x05, 0xc3,
};
inline constexpr uint64_t kKernel = 0xffffffff81000000;

class Stacks : public ::testing::Test {
 protected:
  Stacks() {
    auto section = std::make_shared<CodeSection>("code", 0, Bytes(kCode, sizeof kCode), nullptr,
                                                 Verification::kGiven);
    auto space = std::make_shared<AddressSpace>();
    space->Map({0x1000, sizeof kCode, 0, section});
    history_.epochs.push_back({.time = 0, .instructions = 0, .space = space});
    input_.code = &history_;
    config_.levels = {true, true};
  }

  // A stack, the oldest first, which may be behind others.
  void Add(std::vector<BranchRecord> stack) {
    for (size_t i = 0; i < stack.size(); ++i) {
      stack[i].time = ++time_;
      stack[i].begins_stack = i == 0;
      stack[i].ends_stack = i + 1 == stack.size();
      records_.push_back(stack[i]);
    }
  }
  const DecodeInput& Input() {
    input_.bytes = {reinterpret_cast<const uint8_t*>(records_.data()),
                    records_.size() * kBranchRecordSize};
    input_.config = config_;
    return input_;
  }
  // A line for each item.
  std::string Flow() {
    std::string text;
    const FlowSegment flow = FlowOf(*decoder_, Input());
    ForEachItem(
        flow, [&](const BlockRun& run) { text += Words(run) + '\n'; },
        [&](const TraceEvent& event) {
          text +=
              std::string(Name(event.kind)) + ' ' + Hex(event.ip) + ' ' + Hex(event.target) + '\n';
        },
        [&](const DataLoss& loss) { text += std::string("lost: ") + Name(loss.cause) + '\n'; },
        [&](const UnknownFlow& unknown) {
          text += "unknown " + Hex(unknown.from) + ' ' + Hex(unknown.to) + '\n';
        });
    return text;
  }
  // All records are in one of the three.
  void ExpectAccount(uint64_t decoded, uint64_t padding, uint64_t lost) {
    const Result<FlowSummary> sum = decoder_->Summarize(Input());
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->bytes_decoded, decoded);
    EXPECT_EQ(sum->bytes_padding, padding);
    EXPECT_EQ(sum->bytes_lost, lost);
    EXPECT_EQ(decoded + padding + lost, records_.size());
  }

  static std::string Words(const BlockRun& run) {
    static constexpr const char* kExits[] = {"on to", "taken to", "not taken, on to", "stops"};
    return Hex(run.address) + ".." + Hex(run.LastAddress()) + ' ' +
           kExits[static_cast<size_t>(run.exit)] + ' ' + Hex(run.next);
  }

  BranchStackConfig config_;
  std::vector<BranchRecord> records_;
  AddressSpaceHistory history_;
  DecodeInput input_;
  std::unique_ptr<Decoder> decoder_ = branch_stack::NewStackDecoder();
  uint64_t time_ = 100;
};

inline BranchRecord Branch(uint64_t from, uint64_t to, BranchKind kind = BranchKind::kNotTold) {
  BranchRecord record;
  record.from = from;
  record.to = to;
  record.kind = kind;
  return record;
}

}  // namespace flowback::testing
