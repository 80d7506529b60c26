// SPDX-License-Identifier: MIT
// The text that a format repeats at each call of a function, made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "replay/writers/calls/exported_calls.h"

namespace flowback {

class FunctionTexts {
 public:
  // Appends the function's text.
  using Make = void(const ExportedFunction& function, std::string& out);

  explicit FunctionTexts(Make* make) : make_(make) {}

  // `functions` are ExportedCalls::functions. The text is valid until the next call.
  const std::string& Of(uint32_t function, const std::vector<ExportedFunction>& functions) {
    while (texts_.size() <= function) {
      const ExportedFunction& next = functions[texts_.size()];
      make_(next, texts_.emplace_back());
    }
    return texts_[function];
  }

 private:
  Make* const make_;
  std::vector<std::string> texts_;  // by the function's number
};

}  // namespace flowback
