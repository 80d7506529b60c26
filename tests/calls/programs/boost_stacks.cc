// SPDX-License-Identifier: MIT
// Boost.Context's fibres, which switch stacks in a few instructions of their own; where Boost is
// not installed, the program says so.
#include "own_stacks.h"

#ifdef WITH_BOOST
#include <boost/context/fiber.hpp>
#include <utility>

namespace {

using boost::context::fiber;

APART void Yield(fiber& back) {
  back = std::move(back).resume();
  HERE;
}

APART void Work(fiber& back, int depth) {
  if (depth > 0) Work(back, depth - 1);
  Note();
  Yield(back);
  Note();
  HERE;
}

APART void GoOn(fiber& to) {
  to = std::move(to).resume();
  HERE;
}

}  // namespace

int BoostFibres() {
  fiber first([](fiber&& back) {
    Work(back, 3);
    return std::move(back);
  });
  fiber second([](fiber&& back) {
    for (int depth = 0; depth < 3; ++depth) Work(back, depth);
    return std::move(back);
  });
  while (first || second) {
    if (first) GoOn(first);
    Note();
    if (second) GoOn(second);
    Note();
  }
  return 0;
}
#else
int BoostFibres() { return kNotBuilt; }
#endif
