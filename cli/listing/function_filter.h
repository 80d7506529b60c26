// SPDX-License-Identifier: MIT
// `--function`: the chosen functions, and a decoder that delivers only the flow in them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_pattern.h"
#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/replay/symbolizer.h"

namespace flowback::cli {

// Whether code belongs to a function that the pattern names, by any of its names. One thread at a
// time; `symbolizer` must outlive it, as the address spaces asked about.
class FunctionMatch {
 public:
  FunctionMatch(NamePattern pattern, Symbolizer& symbolizer)
      : pattern_(std::move(pattern)), symbolizer_(symbolizer) {}

  bool operator()(const AddressSpace* space, uint64_t ip);

 private:
  // Code runs in the same few places again and again.
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t ip = 0;
    bool fits = false;
  };
  static constexpr size_t kAnswers = 4096;

  bool LookUp(const AddressSpace* space, uint64_t ip);

  NamePattern pattern_;
  Symbolizer& symbolizer_;
  std::vector<Answer> answers_ = std::vector<Answer>(kAnswers);
  std::unordered_map<const char*, bool> by_name_;  // by where the symbolizer keeps the name
};

// Passes on of the items of `decoder` the instructions in such functions, events at such addresses,
// and all losses. `found`, which becomes true with the first instruction, must outlive the result.
std::unique_ptr<Decoder> MakeFunctionDecoder(std::unique_ptr<Decoder> decoder, FunctionMatch match,
                                             std::atomic<bool>& found);

// What to say of a pattern that nothing fitted: " (did you mean 'main'?)" or that a function of
// that name is there and did not run. `symbolizer` has been asked about all that ran.
std::string WhyNoFunction(const NamePattern& pattern, Symbolizer& symbolizer);
// Judges that no function fitted the pattern: `none` says so. Where only a part of the flow was
// read, one may have run in another part, so this warns. Errors: else kUsage.
Status JudgeNoFunction(const std::string& none, bool is_part, const NamePattern& pattern,
                       Symbolizer& symbolizer, std::string_view remedy);

}  // namespace flowback::cli
