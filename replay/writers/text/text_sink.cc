// SPDX-License-Identifier: MIT
#include "flowback/writers.h"

namespace flowback {

bool TextSink::Waited() const {
  constexpr std::chrono::milliseconds kPatience(50);
  return std::chrono::steady_clock::now() - taken_ > kPatience;
}

void StringSink::Take(std::string_view more) {
  text_ += buffer();
  text_ += more;
  Taken();
}

}  // namespace flowback
