// SPDX-License-Identifier: MIT
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr Writer kWriters[] = {
#define FLOWBACK_WRITER(of, name, function, summary) {name, &function, summary},
#include "replay/writers/writers.def"
#undef FLOWBACK_WRITER
};

}  // namespace

std::span<const Writer> Writers() { return kWriters; }

}  // namespace flowback
