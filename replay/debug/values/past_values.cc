// SPDX-License-Identifier: MIT
#include "replay/debug/values/past_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text_words.h"
#include "decode/code/core/core_layout.h"
#include "decode/instruction/effects.h"
#include "flowback/base/bytes.h"
#include "replay/values/value_operations.h"

namespace flowback {
namespace {

constexpr uint64_t kHeaderSelf = 0x10;
constexpr size_t kWordBytes = 8;

// Whether the addresses of 32-bit code count from 0, as the kernel sets the segments up.
bool HasFlatSegments(const EndCore& core, int32_t tid) {
  if (core.mode() != CodeMode::kX86_32) return true;
  constexpr std::array<uint64_t, 2> kUsers = {0x2b, 0x7b};  // of a 64-bit kernel, of a 32-bit one
  constexpr std::array<std::string_view, 3> kSegments = {"ds", "es", "ss"};
  return std::ranges::all_of(kSegments, [&](std::string_view name) {
    const uint64_t selector = core.Register(tid, name).value_or(0) & 0xffff;
    return std::ranges::find(kUsers, selector) != kUsers.end();
  });
}

}  // namespace

bool LeavesCodeOut(const Session& session) {
  const TraceSource* source = session.source_or_null();
  if (source == nullptr) return true;
  return std::ranges::any_of(source->Settings(), [](const TraceSetting& setting) {
    const bool* on = std::get_if<bool>(&setting.value);
    return setting.key == "address_filter" && on != nullptr && *on;
  });
}

PastValues::PastValues(const Session& session, ReplayedMachine& machine, ImageMemory& images,
                       const EndCore& core)
    : machine_(machine), images_(images), core_(core), hides_handlers_(LeavesCodeOut(session)) {}

std::span<const std::string_view> GeneralRegisters(CodeMode mode) {
  static constexpr std::array<std::string_view, 16> k64 = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                           "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                           "r12", "r13", "r14", "r15"};
  static constexpr std::array<std::string_view, 8> k32 = {"eax", "ecx", "edx", "ebx",
                                                          "esp", "ebp", "esi", "edi"};
  switch (mode) {
    case CodeMode::kX86_64:
      return k64;
    case CodeMode::kX86_32:
      return k32;
    case CodeMode::kAArch64: {
      // x0 to x30, and the stack pointer.
      const CoreLayout* const layout = CoreLayoutOf(mode);
      return layout->registers.first(step_register::kAArch64StackPointer + 1);
    }
    default:
      return {};
  }
}

std::optional<uint8_t> FollowedRegister(CodeMode mode, std::string_view name) {
  const auto registers = GeneralRegisters(mode);
  const auto general = std::ranges::find(registers, name);
  if (general != registers.end()) return static_cast<uint8_t>(general - registers.begin());
  if (mode == CodeMode::kAArch64)
    return name == "tpidr" ? std::optional(step_register::kFsBase) : std::nullopt;
  if (name == "fs_base") return step_register::kFsBase;
  if (name == "gs_base") return step_register::kGsBase;
  return std::nullopt;
}

std::optional<ValueQuestion> ValueQuestion::In(std::string word, CodeMode mode) {
  if (word.starts_with('$')) word.erase(0, 1);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  ValueQuestion question{.name = std::move(word)};
  question.number = FollowedRegister(mode, question.name);
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

// A thread's header holds its own address at this place: glibc sets it once, before the thread
// begins, and takes it from there wherever it is about the thread itself. Empty: the dump does not
// show that, at this place and at the header's begin, which the ABI is about.
std::optional<uint64_t> PastValues::OwnHeader(int32_t tid) const {
  const auto base = core_.Register(tid, "fs_base");
  if (core_.mode() != CodeMode::kX86_64 || !base) return std::nullopt;
  for (const uint64_t place : {uint64_t{0}, kHeaderSelf}) {
    std::array<uint8_t, kWordBytes> word{};
    if (core_.Memory(*base + place, word) != word.size() ||
        LoadLittleEndian(word.data(), word.size()) != *base)
      return std::nullopt;
  }
  return *base + kHeaderSelf;
}

values::Surroundings PastValues::SurroundingsOf(int32_t tid, const AddressSpace& space,
                                                size_t point) {
  values::KnownState state{.point = point};
  const auto add = [&](std::string_view name, uint8_t number) {
    if (const auto value = core_.Register(tid, name)) state.registers.emplace_back(number, *value);
  };
  const auto registers = GeneralRegisters(core_.mode());
  for (size_t i = 0; i < registers.size(); ++i) add(registers[i], static_cast<uint8_t>(i));
  add("fs_base", step_register::kFsBase);
  add("gs_base", step_register::kGsBase);
  add("tpidr", step_register::kFsBase);
  add("eflags", step_register::kFlags);
  if (const auto flags = core_.Register(tid, "cpsr"))
    state.registers.emplace_back(step_register::kFlags, values::StepFlagsOfArm(*flags));
  state.memory = [this](uint64_t address) -> std::optional<uint8_t> {
    uint8_t byte = 0;
    const bool is_there = core_.keeps_memory() && core_.Memory(address, {&byte, 1}) == 1;
    return is_there ? std::optional(byte) : std::nullopt;
  };
  values::Surroundings surroundings;
  surroundings.states.push_back(std::move(state));
  surroundings.is_private = [this](uint64_t address) { return core_.IsPrivate(address); };
  const auto header = OwnHeader(tid);
  surroundings.constant = [this, &space, header](uint64_t address) -> std::optional<uint8_t> {
    if (header && address - *header < kWordBytes)
      return static_cast<uint8_t>((*header - kHeaderSelf) >> (address - *header) * CHAR_BIT);
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

PastValues::Past PastValues::Make(const MachineThread& thread, Trust trust) {
  const auto end = core_.Counter(thread.tid);
  size_t number = 0;
  while (number < machine_.size() && machine_.thread(number).tid != thread.tid) ++number;
  if (!end || number == machine_.size() || !HasFlatSegments(core_, thread.tid)) return {};
  const auto place = core_.PlaceOf(thread.tid, machine_.thread(number).instructions);
  if (!place) return {};
  ThreadPath path = LastPathOf(machine_.index(), machine_.thread(number),
                               {.number = *place, .address = *end}, kMostInstructions, is_shared());
  const size_t count = path.path.instructions.size();
  if (count == 0) return {};
  path.path.mode = core_.mode();
  path.path.keeps_convention = trust == Trust::kConvention;
  path.path.end_code = CodeAt(*path.space, *end);
  return {.tid = thread.tid,
          .trust = trust,
          .first = path.first,
          .space = path.space,
          .history = values::ValueHistory::Of(std::move(path.path),
                                              SurroundingsOf(thread.tid, *path.space, count))};
}

// The one that was used longest ago goes first.
void PastValues::DropOldest() {
  const auto sum = [this] {
    size_t instructions = 0;
    for (const Past& past : pasts_)
      if (past.history) instructions += past.history->path().instructions.size();
    return instructions;
  };
  while (pasts_.size() > 2 && (pasts_.size() > kMostThreads || sum() > kMostLive))
    pasts_.pop_back();
}

const PastValues::Past& PastValues::PastOf(const MachineThread& thread, Trust trust) {
  const auto found = std::ranges::find_if(
      pasts_, [&](const Past& past) { return past.tid == thread.tid && past.trust == trust; });
  if (found != pasts_.end()) {
    pasts_.splice(pasts_.begin(), pasts_, found);
    return pasts_.front();
  }
  pasts_.push_front(Make(thread, trust));
  pasts_.front().tid = thread.tid;
  pasts_.front().trust = trust;
  DropOldest();
  return pasts_.front();
}

std::optional<PastValues::Place> PastValues::At(const MachineThread& thread, Trust trust) {
  const std::optional<Place> place = Before(thread, thread.number, trust);
  if (!place) return std::nullopt;
  const values::ExecutedPath& path = place->history.path();
  const uint64_t address = place->point == path.instructions.size()
                               ? path.end_address
                               : path.instructions[place->point].address;
  return address == thread.pc ? place : std::nullopt;
}

std::optional<uint64_t> PastValues::RegisterBefore(const MachineThread& thread, uint64_t number,
                                                   std::string_view name) {
  const auto followed = FollowedRegister(core_.mode(), name);
  const auto place = followed ? Before(thread, number) : std::nullopt;
  return place ? place->history.Register(place->point, *followed) : std::nullopt;
}

std::optional<PastValues::Place> PastValues::Before(const MachineThread& thread, uint64_t number,
                                                    Trust trust) {
  const Past& past = PastOf(thread, trust);
  if (!past.history || number < past.first) return std::nullopt;
  const uint64_t point = number - past.first;
  if (point > past.history->path().instructions.size()) return std::nullopt;
  return Place{.history = *past.history, .point = point, .first = past.first, .space = past.space};
}

}  // namespace flowback
