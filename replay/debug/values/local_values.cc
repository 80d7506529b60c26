// SPDX-License-Identifier: MIT
#include "replay/debug/values/local_values.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/hex.h"
#include "decode/code/images/kept_images.h"
#include "flowback/base/bytes.h"
#include "replay/symbols/elf/debug_file.h"
#include "replay/symbols/frames/frame_expression.h"

namespace flowback {
namespace {

using symbols::EncodedValues;
using symbols::VariableInfo;

constexpr char kUnavailable[] = "<unavailable>";
constexpr char kOptimizedOut[] = "<optimized out>";

// Operations of DWARF expressions. [DWARF 5, "DWARF Expressions"]
constexpr uint8_t kAddress = 0x03;
constexpr uint8_t kFirstRegister = 0x50;
constexpr uint8_t kLastRegister = 0x6f;
constexpr uint8_t kRegisterX = 0x90;
constexpr uint8_t kFrameBase = 0x91;
constexpr uint8_t kCallFrame = 0x9c;
constexpr uint8_t kStackValue = 0x9f;

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// What a variable's place is.
struct ReadValue {
  std::optional<uint64_t> address{};  // in memory
  std::optional<uint64_t> value{};    // in no memory
};

// Finds the places of one function's variables.
class Places {
 public:
  Places(const MachineThread& thread, ValueSources& values, const FrameRegisters& registers,
         uint64_t bias)
      : thread_(thread), values_(values), registers_(registers), bias_(bias) {}

  ReadValue Of(const std::string& location, const std::string& frame_base) const {
    const Bytes all = BytesOf(location);
    if (all.empty()) return {};
    EncodedValues in(all, 0, AddressBytes());
    const auto first = static_cast<uint8_t>(in.Fixed(1));
    if (const auto reg = RegisterOf(first, in)) return {.value = Register(*reg)};
    std::optional<uint64_t> begun;
    Bytes rest = all;
    if (first == kFrameBase) {
      const uint64_t offset = in.Leb(true);
      begun = BaseOf(frame_base);
      if (!begun) return {};
      *begun += offset;
      rest = in.rest();
    } else if (first == kAddress) {
      begun = in.Fixed(AddressBytes()) + bias_;
      rest = in.rest();
    } else if (first == kCallFrame) {
      begun = registers_.cfa;
      if (!begun) return {};
      rest = in.rest();
    }
    const bool is_value = !rest.empty() && rest.back() == kStackValue;
    if (is_value) rest = rest.first(rest.size() - 1);
    const auto result = rest.empty() ? begun : symbols::Evaluate(rest, begun, Input());
    return is_value ? ReadValue{.value = result} : ReadValue{.address = result};
  }

 private:
  unsigned AddressBytes() const { return TraitsOf(thread_.instruction.mode).bits / 8; }

  // Returns the register of an expression that is a register.
  static std::optional<unsigned> RegisterOf(uint8_t first, EncodedValues& in) {
    std::optional<unsigned> reg;
    if (first >= kFirstRegister && first <= kLastRegister) reg = first - kFirstRegister;
    if (first == kRegisterX) reg = static_cast<unsigned>(in.Leb());
    return in.at_end() ? reg : std::nullopt;
  }

  std::optional<uint64_t> BaseOf(const std::string& frame_base) const {
    const Bytes all = BytesOf(frame_base);
    if (all.empty()) return std::nullopt;
    EncodedValues in(all, 0, AddressBytes());
    const auto first = static_cast<uint8_t>(in.Fixed(1));
    if (first == kCallFrame && in.at_end()) return registers_.cfa;
    if (const auto reg = RegisterOf(first, in)) return Register(*reg);
    return symbols::Evaluate(all, std::nullopt, Input());
  }

  std::optional<uint64_t> Register(unsigned reg) const {
    return reg < registers_.values.size() ? registers_.values[reg] : std::nullopt;
  }

  symbols::ExpressionInput Input() const {
    return {.register_value = [this](unsigned reg) { return Register(reg); },
            .memory = [this](uint64_t address, unsigned width) -> std::optional<uint64_t> {
              const auto bytes = values_.Memory(thread_, address, width);
              if (bytes.size() != width || width > 8) return std::nullopt;
              return LoadLittleEndian(bytes.data(), width);
            },
            .address_bytes = AddressBytes()};
  }

  const MachineThread& thread_;
  ValueSources& values_;
  const FrameRegisters& registers_;
  const uint64_t bias_;
};

int64_t SignedOf(uint64_t value, uint32_t bytes) {
  const unsigned unused = 64 - 8 * bytes;
  return static_cast<int64_t>(value << unused) >> unused;
}

std::string CharacterText(uint64_t value, uint32_t bytes) {
  std::string text = fmt::format("{}", SignedOf(value, bytes));
  if (value >= ' ' && value <= '~') text += fmt::format(" '{}'", static_cast<char>(value));
  return text;
}

std::string FloatText(uint64_t value, uint32_t bytes) {
  if (bytes == sizeof(float))
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(value)));
  return fmt::format("{}", std::bit_cast<double>(value));
}

std::string TextOf(const VariableInfo& variable, uint64_t value) {
  using Type = VariableInfo::Kind;
  const uint32_t bytes = variable.bytes;
  if (bytes < 8) value &= (uint64_t{1} << (8 * bytes)) - 1;
  switch (variable.kind) {
    case Type::kSigned:
      return fmt::format("{}", SignedOf(value, bytes));
    case Type::kUnsigned:
      return fmt::format("{}", value);
    case Type::kFloat:
      return FloatText(value, bytes);
    case Type::kBool:
      return value == 0 ? "false" : value == 1 ? "true" : fmt::format("{}", value);
    case Type::kCharacter:
      return CharacterText(value, bytes);
    case Type::kPointer:
    case Type::kOther:
      break;
  }
  return Hex(value);
}

// Returns whether a value of up to eight bytes is one number.
bool IsNumber(const VariableInfo& variable) {
  const bool has_size =
      variable.bytes == 1 || variable.bytes == 2 || variable.bytes == 4 || variable.bytes == 8;
  const bool is_float = variable.kind == VariableInfo::Kind::kFloat;
  return has_size && variable.kind != VariableInfo::Kind::kOther &&
         (!is_float || variable.bytes >= 4);
}

bool HasDwarf(const symbols::SymbolFile& file) {
  const symbols::FileSection* section = file.Find(".debug_info");
  if (section == nullptr) section = file.Find(".zdebug_info");
  return section != nullptr && section->header.sh_type != SHT_NOBITS;
}

}  // namespace

const LocalValues::File& LocalValues::FileAt(const std::string& path) {
  const auto [entry, is_new] = files_.try_emplace(path);
  File& file = entry->second;
  if (!is_new) return file;
  file.elf = symbols::SymbolFile::Open(path);
  if (file.elf == nullptr) return file;
  const ImageSearch& search = session_.options().search;
  symbols::DwarfRequest request{.path = path, .program_path = OriginOf(path), .folders = {}};
  if (!HasDwarf(*file.elf)) {
    const auto debug_file = symbols::OpenDebugFile(*file.elf, search);
    if (debug_file == nullptr || !HasDwarf(*debug_file)) return file;
    request.path = debug_file->path();
  }
  request.folders = search.debug_dirs;
  if (!search.symfs.empty()) request.folders.push_back(search.symfs);
  std::string problem;
  file.dwarf = symbols::DwarfClient::Open(request, problem);
  return file;
}

std::vector<LocalValue> LocalValues::Of(const MachineThread& thread, const Place& place) {
  if (place.frame >= place.frames.size()) return {};
  const StackFrame& frame = place.frames[place.frame];
  if (frame.space == nullptr || frame.address == 0) return {};
  const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
  const CodeMapping* mapping = frame.space->Find(at);
  if (mapping == nullptr) return {};
  const File& file = FileAt(mapping->section->name());
  if (file.dwarf == nullptr) return {};
  const auto linked = file.elf->Address(at - mapping->FileBase());
  if (!linked) return {};
  const symbols::VariablesInfo info = file.dwarf->VariablesAt(*linked);
  const FrameRegisters registers = unwinder_.Of(thread, values_, place.frames, place.frame);
  const Places places(thread, values_, registers, at - *linked);
  std::vector<LocalValue> told;
  for (const VariableInfo& variable : info.variables) {
    if (variable.level != place.level) continue;
    LocalValue one{.name = variable.name, .type = variable.type, .value = kUnavailable};
    ReadValue found = places.Of(variable.location, info.frame_base);
    if (variable.constant) found.value = static_cast<uint64_t>(*variable.constant);
    one.address = found.address;
    if (found.address && IsNumber(variable)) {
      const auto bytes = values_.Memory(thread, *found.address, variable.bytes);
      if (bytes.size() == variable.bytes)
        found.value = LoadLittleEndian(bytes.data(), variable.bytes);
    }
    if (found.value && IsNumber(variable)) one.value = TextOf(variable, *found.value);
    if (variable.location.empty() && !variable.constant) one.value = kOptimizedOut;
    const bool is_large = found.address && !IsNumber(variable) && variable.bytes != 0;
    if (is_large) one.value = fmt::format("{} bytes at {}", variable.bytes, Hex(*found.address));
    told.push_back(std::move(one));
  }
  return told;
}

}  // namespace flowback
