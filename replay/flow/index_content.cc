// SPDX-License-Identifier: MIT
#include "replay/flow/index_content.h"

#include "base/number_bytes.h"

namespace flowback {
namespace {

using StreamContent = IndexContent::Stream;

void Write(NumberWriter& out, const StreamContent& stream) {
  out.Number(stream.bytes);
  out.Number(stream.segments.size());
  uint64_t stop = 0;
  for (size_t i = 0; i < stream.segments.size(); ++i) {
    const IndexContent::Segment& segment = stream.segments[i];
    out.Distance(stop, segment.stop);
    out.Number(segment.steps);
    out.Number(segment.stretch);
    out.Block(stream.State(i));
    stop = segment.stop;
  }
  out.Number(stream.stretches.size());
  for (size_t i = 0; i < stream.stretches.size(); ++i) {
    out.Number(stream.Filter(i).size());
    for (const uint64_t word : stream.Filter(i)) out.Word(word);
    out.Number(stream.HotOf(i).size());
    for (const IndexContent::Hot& hot : stream.HotOf(i)) {
      out.Number(hot.block);
      out.Number(hot.instructions);
    }
  }
  out.Number(stream.shares.size());
  IndexContent::Share before;
  for (const IndexContent::Share& share : stream.shares) {
    out.Distance(before.stay, share.stay);
    out.Distance(before.segment, share.segment);
    out.Number(share.instructions);
    out.Number(share.events);
    out.Number(share.losses);
    out.Distance(before.last_tsc, share.first_tsc);
    out.Distance(share.first_tsc, share.last_tsc);
    before = share;
  }
}

void ReadSegments(NumberReader& in, StreamContent& stream) {
  uint64_t stop = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    IndexContent::Segment& segment = stream.segments.emplace_back();
    segment.stop = stop = in.Distance(stop);
    segment.steps = static_cast<uint32_t>(in.Number());
    segment.stretch = static_cast<uint32_t>(in.Number());
    const Bytes state = in.Block();
    stream.states.insert(stream.states.end(), state.begin(), state.end());
    segment.state_end = stream.states.size();
  }
}

void ReadStretches(NumberReader& in, StreamContent& stream) {
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    for (size_t words = in.Count(); words != 0 && in.ok(); --words)
      stream.filters.push_back(in.Word());
    for (size_t hot = in.Count(); hot != 0 && in.ok(); --hot) {
      const uint64_t block = in.Number();
      stream.hot.push_back({block, in.Number()});
    }
    stream.stretches.push_back({stream.filters.size(), stream.hot.size()});
  }
}

void ReadShares(NumberReader& in, StreamContent& stream) {
  IndexContent::Share share;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    share.stay = static_cast<uint32_t>(in.Distance(share.stay));
    share.segment = static_cast<uint32_t>(in.Distance(share.segment));
    share.instructions = in.Number();
    share.events = in.Number();
    share.losses = in.Number();
    share.first_tsc = in.Distance(share.last_tsc);
    share.last_tsc = in.Distance(share.first_tsc);
    stream.shares.push_back(share);
  }
}

bool IsSound(const IndexContent& content) {
  for (const StreamContent& stream : content.streams) {
    for (const IndexContent::Segment& segment : stream.segments)
      if (segment.stretch >= stream.stretches.size()) return false;
    for (const IndexContent::Share& share : stream.shares)
      if (share.segment >= stream.segments.size()) return false;
    for (const IndexContent::Hot& hot : stream.hot)
      if (hot.block >= content.profile.size()) return false;
  }
  return true;
}

}  // namespace

std::vector<uint8_t> ToBytes(const IndexContent& content) {
  NumberWriter out;
  out.Number(content.instructions);
  out.Number(content.profile.size());
  uint64_t before = 0;
  for (const IndexContent::Block& block : content.profile) {
    out.Number(block.space);
    out.Distance(before, block.address);
    out.Number(block.instructions);
    before = block.address;
  }
  out.Number(content.streams.size());
  for (const StreamContent& stream : content.streams) Write(out, stream);
  return out.Take();
}

std::optional<IndexContent> IndexFromBytes(Bytes bytes) {
  NumberReader in(bytes);
  IndexContent content;
  content.instructions = in.Number();
  uint64_t before = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    const auto space = static_cast<uint32_t>(in.Number());
    before = in.Distance(before);
    content.profile.push_back({space, before, in.Number()});
  }
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    StreamContent& stream = content.streams.emplace_back();
    stream.bytes = in.Number();
    ReadSegments(in, stream);
    ReadStretches(in, stream);
    ReadShares(in, stream);
  }
  if (!in.Done() || !IsSound(content)) return std::nullopt;
  return content;
}

}  // namespace flowback
