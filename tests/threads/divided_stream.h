// SPDX-License-Identifier: MIT
// Generated streams that are divided among stays at random places; whole ones, ones without some of
// the code, with bytes that are wrong, and with gaps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "decode/pt/packets/psb.h"
#include "flowback/replay/threads.h"
#include "tests/differential/harness.h"
#include "tests/support/random.h"

namespace flowback::testing {

enum class Change : uint8_t { kNone, kCode, kBytes, kGaps };

constexpr uint64_t kDividedStays = 40;

// A stream that stays divide, with something wrong or not.
class DividedStream {
 public:
  DividedStream(const Subject& subject, Change change) : random_(subject.stream().options.seed) {
    bytes_ = subject.stream().bytes;
    input_ = subject.Input();
    auto code = std::make_shared<AddressSpaceHistory>(CodeOf(subject.stream()));
    code_ = code;
    if (change == Change::kCode) TakeCode(*code);
    if (change == Change::kBytes) DamageBytes();
    if (change == Change::kGaps) CutGaps();
    stream_.bytes = input_.bytes = bytes_;
    stream_.gaps = input_.gaps;
    stays_.resize(kDividedStays);
    std::vector<uint64_t> begins = {0};
    while (begins.size() < kDividedStays) begins.push_back(random_.Below(bytes_.size()));
    std::ranges::sort(begins);
    for (size_t i = 0; i < kDividedStays; ++i) {
      stays_[i].begin = i;
      stays_[i].tid = static_cast<int32_t>(i);
      stays_[i].code = code_;
      input_.changes.push_back({.offset = begins[i], .stay = &stays_[i]});
    }
    input_.code = code_.get();
  }

  DecodeInput Input(Resync resync) const {
    DecodeInput input = input_;
    input.resync = resync;
    return input;
  }
  const Stream& stream() const { return stream_; }
  std::vector<FlowPiece> Pieces() const {
    std::vector<FlowPiece> pieces;
    for (size_t i = 0; i < kDividedStays; ++i)
      pieces.push_back(
          {.stream = &stream_,
           .stay = &stays_[i],
           .begin = input_.changes[i].offset,
           .end = i + 1 < kDividedStays ? input_.changes[i + 1].offset : bytes_.size()});
    return pieces;
  }

 private:
  // A quarter of a section.
  void TakeCode(AddressSpaceHistory& history) {
    auto space = std::make_shared<AddressSpace>(*history.epochs[0].space);
    const std::vector<CodeMapping> mappings = space->mappings();
    const CodeMapping& mapping = mappings[random_.Below(mappings.size())];
    space->Unmap(mapping.address + random_.Below(mapping.size), mapping.size / 4);
    history.epochs[0].space = std::move(space);
  }
  void DamageBytes() {
    for (int i = 0; i < 8; ++i)
      bytes_[random_.Below(bytes_.size())] = static_cast<uint8_t>(random_.Below(256));
  }
  // Next to a PSB, and anywhere. Two of them make a PSB of two halves.
  void CutGaps() {
    for (int i = 0; i < 4; ++i) {
      size_t at = random_.Below(bytes_.size());
      if (i % 2 == 0) at = std::min(pt::FindPsb(bytes_, at) + random_.Below(24), bytes_.size());
      const size_t size = std::min<size_t>(2 * random_.Below(40), bytes_.size() - at);
      bytes_.erase(bytes_.begin() + static_cast<ptrdiff_t>(at),
                   bytes_.begin() + static_cast<ptrdiff_t>(at + size));
      for (StreamGap& gap : input_.gaps)
        if (gap.offset > at) gap.offset -= std::min<uint64_t>(size, gap.offset - at);
      input_.gaps.push_back({.offset = at, .reason = "bytes were taken away"});
    }
    std::ranges::sort(input_.gaps, {}, &StreamGap::offset);
  }

  Random random_;
  std::vector<uint8_t> bytes_;
  Stream stream_;
  std::shared_ptr<const AddressSpaceHistory> code_;
  std::vector<ThreadStay> stays_;
  DecodeInput input_;
};

}  // namespace flowback::testing
