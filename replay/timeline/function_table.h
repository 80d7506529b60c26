// SPDX-License-Identifier: MIT
// The functions that analyses of calls name, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/timeline.h"

namespace flowback {

// Functions by number, for all threads.
class FunctionTable {
 public:
  using PathOf = std::function<std::string(const std::string& file)>;
  explicit FunctionTable(Symbolizer& symbolizer, PathOf recorded_path = {})
      : symbolizer_(symbolizer), recorded_path_(std::move(recorded_path)) {}
  uint32_t NumberOf(const Call& call);
  // Returns the number of the function that has a piece of code.
  uint32_t NumberOf(const AddressSpace* space, const FunctionPiece& piece) {
    Call call;
    call.space = space;
    call.function = piece.id;
    call.entry_ip = piece.begin;
    return NumberOf(call);
  }
  // Returns the number of the function that stands for the gap's system call.
  uint32_t NumberOfSystemCall(const UntracedGap& gap);
  // Returns the number of a function whose number was requested before; kNoFunction: it is not
  // known by its id alone.
  uint32_t KnownNumber(uint64_t id) const {
    const bool known = id < by_small_id_.size() && by_small_id_[id] != 0;
    return known ? by_small_id_[id] - 1 : CallPath::kNoFunction;
  }
  std::vector<TimelineFunction>& all() { return functions_; }
  std::string RecordedPath(const CodeMapping& mapping) const {
    return recorded_path_ ? recorded_path_(mapping.section->name()) : mapping.section->name();
  }

 private:
  // Calls go to the same few places again and again.
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t ip = 0;
    uint32_t number = 0;
  };
  static constexpr size_t kAnswers = 1024;

  uint32_t NumberByName(const Call& call);
  TimelineFunction Describe(const Call& call);

  Symbolizer& symbolizer_;
  PathOf recorded_path_;
  std::vector<TimelineFunction> functions_;
  std::unordered_map<uint64_t, uint32_t> by_id_;
  std::vector<uint32_t> by_small_id_;                  // for small ids: the number plus 1, or 0
  std::unordered_map<std::string, uint32_t> by_name_;  // of those without an id
  std::unordered_map<uint64_t, uint32_t> by_system_call_;
  std::vector<Answer> answers_ = std::vector<Answer>(kAnswers);  // by hash
};

}  // namespace flowback
