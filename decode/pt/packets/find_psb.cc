// SPDX-License-Identifier: MIT
// FindPsb where only a part of the stream can be seen at one time.
#include <algorithm>
#include <array>

#include "decode/pt/packets/psb.h"

namespace flowback::pt {
namespace {

// As much as can be seen from `begin` on, and its place in the stream.
struct View {
  size_t begin = 0;
  Bytes bytes;
};

// FindPsb in the first `end` bytes of what `look` shows in parts: `look(at)` shows StreamWindow's
// kAhead bytes or more from `at` on, less only at the end.
template <class Look>
size_t FindInParts(Look look, size_t end, size_t from) {
  while (from < end) {
    const View view = look(from);
    const size_t stop = view.begin + view.bytes.size();
    const size_t found = view.begin + FindPsb(view.bytes, from - view.begin);
    if (stop == end) return found;
    // A pattern, or a run of it, that the view's end cuts is looked at as a whole.
    if (found + Psb::kPattern.size() + 2 <= stop) return found;
    from = found != stop ? found : stop - (Psb::kPattern.size() - 1);
  }
  return end;
}

}  // namespace

size_t FindPsb(StreamWindow& window, size_t end, size_t from) {
  const auto look = [&](size_t at) {
    window.MoveTo(at);
    return View{0, window.bytes().first(std::min(end, window.end()))};
  };
  return FindInParts(look, end, from);
}

size_t FindPsbUnheld(const StreamWindow& window, size_t from) {
  const size_t end = window.bytes().size();
  if (window.is_everything()) return FindPsb(window.bytes(), from);
  std::array<uint8_t, 8192> copy;
  const auto look = [&](size_t at) { return View{at, Bytes(copy.data(), window.Copy(at, copy))}; };
  return FindInParts(look, end, from);
}

}  // namespace flowback::pt
