// SPDX-License-Identifier: MIT
#include "replay/timeline/function_table.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "replay/calls/call_words.h"

namespace flowback {
namespace {

constexpr uint64_t kSmallIds = uint64_t{1} << 16;
constexpr size_t kMostTimelineFunctions = size_t{1} << 18;

}  // namespace

uint32_t FunctionTable::NumberOf(const Call& call) {
  if (call.function != 0) {
    const bool is_small = call.function < kSmallIds;
    if (is_small && call.function < by_small_id_.size() && by_small_id_[call.function] != 0)
      return by_small_id_[call.function] - 1;
    const auto [known, added] = by_id_.try_emplace(call.function, functions_.size());
    if (added) functions_.push_back(Describe(call));
    if (is_small && call.function >= by_small_id_.size()) by_small_id_.resize(call.function + 1);
    if (is_small) by_small_id_[call.function] = known->second + 1;
    return known->second;
  }
  Answer& answer = answers_[(call.entry_ip ^ (call.entry_ip >> 10)) % kAnswers];
  if (call.space == nullptr || answer.space != call.space || answer.ip != call.entry_ip)
    answer = {.space = call.space, .ip = call.entry_ip, .number = NumberByName(call)};
  return answer.number;
}

uint32_t FunctionTable::NumberOfSystemCall(const UntracedGap& gap) {
  const uint64_t number = gap.call_number ? uint64_t{*gap.call_number} + 1 : 0;  // 0: not known
  const uint64_t key = number == 0 ? 0 : (number << 8) | static_cast<uint64_t>(gap.call_abi);
  const auto [known, added] = by_system_call_.try_emplace(key, functions_.size());
  if (added)
    functions_.push_back({.name = SystemCallTitle(gap),
                          .file = {},
                          .named = !NameOfCall(gap).empty(),
                          .is_system_call = true});
  return known->second;
}

uint32_t FunctionTable::NumberByName(const Call& call) {
  TimelineFunction function = Describe(call);
  if (by_name_.size() >= kMostTimelineFunctions) function.name = "[unknown]";
  const auto [known, added] = by_name_.try_emplace(function.name, functions_.size());
  if (added) functions_.push_back(std::move(function));
  return known->second;
}

TimelineFunction FunctionTable::Describe(const Call& call) {
  TimelineFunction function{.name = {}, .file = {}, .entry_ip = call.entry_ip, .space = call.space};
  const CodeMapping* mapping = call.space == nullptr ? nullptr : call.space->Find(call.entry_ip);
  if (mapping != nullptr) function.file = RecordedPath(*mapping);
  const auto symbol =
      call.space == nullptr ? std::nullopt : symbolizer_.Find(*call.space, call.entry_ip);
  if (symbol) {
    function.name = symbol->function;
    function.named = true;
    function.entry_ip -= symbol->offset;
    return function;
  }
  char digits[20];
  const uint64_t at = mapping == nullptr ? call.entry_ip : call.entry_ip - mapping->FileBase();
  function.name = "[" + function.file.substr(function.file.rfind('/') + 1) + "+0x";
  function.name.append(digits, std::to_chars(digits, digits + sizeof digits, at, 16).ptr);
  function.name += ']';
  return function;
}

}  // namespace flowback
