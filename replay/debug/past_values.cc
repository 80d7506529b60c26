// SPDX-License-Identifier: MIT
#include "replay/debug/past_values.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text_words.h"
#include "decode/instruction/effects.h"

namespace flowback {
namespace {

// Whether only a part of the user's code was to be recorded.
bool LeavesCodeOut(const Session& session) {
  const TraceSource* source = session.source_or_null();
  if (source == nullptr) return true;
  return std::ranges::any_of(source->Settings(), [](const TraceSetting& setting) {
    const bool* on = std::get_if<bool>(&setting.value);
    return setting.key == "address_filter" && on != nullptr && *on;
  });
}

}  // namespace

PastValues::PastValues(const Session& session, ReplayedMachine& machine, ImageMemory& images,
                       const EndCore& core)
    : machine_(machine), images_(images), core_(core), hides_handlers_(LeavesCodeOut(session)) {}

std::optional<uint8_t> FollowedRegister(std::string_view name) {
  const auto general = std::ranges::find(kGeneralRegisters, name);
  if (general != kGeneralRegisters.end())
    return static_cast<uint8_t>(general - kGeneralRegisters.begin());
  if (name == "fs_base") return step_register::kFsBase;
  if (name == "gs_base") return step_register::kGsBase;
  return std::nullopt;
}

std::optional<ValueQuestion> ValueQuestion::In(std::string word) {
  if (word.starts_with('$')) word.erase(0, 1);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  ValueQuestion question{.name = std::move(word)};
  question.number = FollowedRegister(question.name);
  if (question.number) return question;
  constexpr int kHexadecimal = 16;
  const auto address =
      question.name.starts_with("0x") ? Number(question.name, kHexadecimal) : std::nullopt;
  if (!address) return std::nullopt;
  question.address = *address;
  return question;
}

values::ValueChain ValueQuestion::Why(const PastValues::Place& place) const {
  return number ? place.history.WhyRegister(place.point, *number)
                : place.history.WhyMemory(place.point, address);
}

values::Surroundings PastValues::SurroundingsOf(int32_t tid, const AddressSpace& space,
                                                size_t point) {
  values::KnownState state{.point = point};
  const auto add = [&](std::string_view name, uint8_t number) {
    if (const auto value = core_.Register(tid, name)) state.registers.emplace_back(number, *value);
  };
  for (size_t i = 0; i < kGeneralRegisters.size(); ++i)
    add(kGeneralRegisters[i], static_cast<uint8_t>(i));
  add("fs_base", step_register::kFsBase);
  add("gs_base", step_register::kGsBase);
  add("eflags", step_register::kFlags);
  state.memory = [this](uint64_t address) -> std::optional<uint8_t> {
    uint8_t byte = 0;
    return core_.Memory(address, {&byte, 1}) == 1 ? std::optional(byte) : std::nullopt;
  };
  values::Surroundings surroundings;
  surroundings.states.push_back(std::move(state));
  surroundings.is_private = [this](uint64_t address) { return core_.IsPrivate(address); };
  surroundings.constant = [this, &space](uint64_t address) -> std::optional<uint8_t> {
    uint8_t byte = 0;
    return images_.Read(space, address, {&byte, 1}) == 1 ? std::optional(byte) : std::nullopt;
  };
  surroundings.calls_hide_handlers = hides_handlers_;
  return surroundings;
}

// As the dump has it, or the files. Empty: neither does.
std::vector<uint8_t> PastValues::CodeAt(const AddressSpace& space, uint64_t address) {
  constexpr size_t kLongest = 15;
  std::vector<uint8_t> code(kLongest);
  size_t read = core_.Memory(address, code);
  if (read < code.size()) read = std::max(read, space.Read(address, code.data(), code.size()));
  code.resize(read);
  return code;
}

PastValues::Past PastValues::Make(const MachineThread& thread) {
  const auto end = core_.Register(thread.tid, "rip");
  size_t number = 0;
  while (number < machine_.size() && machine_.thread(number).tid != thread.tid) ++number;
  if (!end || number == machine_.size()) return {};
  const bool shared = core_.threads() > 1 || machine_.size() > 1;
  ThreadPath path =
      LastPathOf(machine_.index(), machine_.thread(number), *end, kMostInstructions, shared);
  const size_t count = path.path.instructions.size();
  if (count == 0) return {};
  path.path.end_code = CodeAt(*path.space, *end);
  return {.tid = thread.tid,
          .first = path.first,
          .space = path.space,
          .history = values::ValueHistory::Of(std::move(path.path),
                                              SurroundingsOf(thread.tid, *path.space, count))};
}

const PastValues::Past& PastValues::PastOf(const MachineThread& thread) {
  const auto found = std::ranges::find(pasts_, thread.tid, &Past::tid);
  if (found != pasts_.end()) {
    pasts_.splice(pasts_.begin(), pasts_, found);
    return pasts_.front();
  }
  if (pasts_.size() == kLive) pasts_.pop_back();
  pasts_.push_front(Make(thread));
  pasts_.front().tid = thread.tid;
  return pasts_.front();
}

std::optional<PastValues::Place> PastValues::At(const MachineThread& thread) {
  const std::optional<Place> place = Before(thread, thread.number);
  if (!place) return std::nullopt;
  const values::ExecutedPath& path = place->history.path();
  const uint64_t address = place->point == path.instructions.size()
                               ? path.end_address
                               : path.instructions[place->point].address;
  return address == thread.pc ? place : std::nullopt;
}

std::optional<PastValues::Place> PastValues::Before(const MachineThread& thread, uint64_t number) {
  const Past& past = PastOf(thread);
  if (!past.history || number < past.first) return std::nullopt;
  const uint64_t point = number - past.first;
  if (point > past.history->path().instructions.size()) return std::nullopt;
  return Place{.history = *past.history, .point = point, .first = past.first, .space = past.space};
}

}  // namespace flowback
