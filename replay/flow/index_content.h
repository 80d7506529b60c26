// SPDX-License-Identifier: MIT
// What a FlowIndex knows, as plain numbers: in memory, and in the file that keeps it.
//
// Nothing in it points anywhere: streams are known by their number, stays by the number of the
// change with which they begin, address spaces by their place in the order of SpaceNames.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback {

struct IndexContent {
  // Where a segment of a stream begins and ends.
  struct Segment {
    uint64_t stop = 0;       // FlowReader::ReadTo's
    uint32_t steps = 0;      // steps beyond `stop`: see flow_index.cc
    uint32_t stretch = 0;    // of the stream, which it lies in
    uint64_t state_end = 0;  // in Stream::states; it begins where the segment before ends
  };
  // Segments that have one filter.
  struct Stretch {
    uint64_t filter_end = 0;  // in Stream::filters
    uint64_t hot_end = 0;     // in Stream::hot
  };
  // Instructions of a block; in a stretch the block is a number in `profile`.
  struct Hot {
    uint64_t block = 0;
    uint64_t instructions = 0;
  };
  // FlowShare, without what follows from the others.
  struct Share {
    uint32_t stay = 0;  // one more than the number of its change; 0: nobody's
    uint32_t segment = 0;
    uint64_t instructions = 0;
    uint64_t events = 0;
    uint64_t losses = 0;
    uint64_t first_tsc = 0;
    uint64_t last_tsc = 0;
  };
  struct Stream {
    uint64_t bytes = 0;  // that it has
    std::vector<Segment> segments;
    std::vector<uint8_t> states;  // FlowReader::ToBytes of each segment's begin
    std::vector<Stretch> stretches;
    std::vector<uint64_t> filters;  // LineFilter
    std::vector<Hot> hot;
    std::vector<Share> shares;

    Bytes State(size_t segment) const {
      const uint64_t begin = segment == 0 ? 0 : segments[segment - 1].state_end;
      return Bytes(states).subspan(begin, segments[segment].state_end - begin);
    }
    std::span<const uint64_t> Filter(size_t stretch) const {
      const uint64_t begin = stretch == 0 ? 0 : stretches[stretch - 1].filter_end;
      return std::span(filters).subspan(begin, stretches[stretch].filter_end - begin);
    }
    std::span<const Hot> HotOf(size_t stretch) const {
      const uint64_t begin = stretch == 0 ? 0 : stretches[stretch - 1].hot_end;
      return std::span(hot).subspan(begin, stretches[stretch].hot_end - begin);
    }
  };
  struct Block {
    uint32_t space = 0;  // SpaceNames
    uint64_t address = 0;
    uint64_t instructions = 0;
  };

  std::vector<Stream> streams;
  std::vector<Block> profile;  // the hottest first
  uint64_t instructions = 0;   // of all blocks, also those that `profile` leaves out
};

std::vector<uint8_t> ToBytes(const IndexContent& content);
// Empty: they are no index. A result is sound in itself: no number leads outside.
std::optional<IndexContent> IndexFromBytes(Bytes bytes);

}  // namespace flowback
