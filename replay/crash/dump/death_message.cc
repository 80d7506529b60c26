// SPDX-License-Identifier: MIT
#include "replay/crash/dump/death_message.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "replay/symbols/demangle/demangle.h"

namespace flowback {
namespace {

constexpr size_t kMostText = 1000;

}  // namespace

std::optional<uint64_t> DeathMessages::Word(uint64_t address) const {
  uint64_t word = 0;
  const size_t read = core_.Memory(address, {reinterpret_cast<uint8_t*>(&word), word_size_});
  return read == word_size_ ? std::optional(word) : std::nullopt;
}

std::string DeathMessages::Text(uint64_t address, size_t most) const {
  std::string text(most, '\0');
  text.resize(core_.Memory(address, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

std::string DeathMessages::OfLibrary() const {
  const auto variable = names_.AddressOf(space_, "__abort_msg");
  const auto message = variable ? Word(*variable) : std::nullopt;
  if (!message || *message == 0) return {};
  std::string text = Text(*message + sizeof(uint32_t), kMostText);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string DeathMessages::MangledType(uint64_t type) const {
  const auto name = Word(type, 1);
  std::string text = name ? Text(*name, kMostText) : std::string();
  // The compiler marks a type that is compared by its address alone with a star.
  if (text.starts_with('*')) text.erase(0, 1);
  return text;
}

std::string DeathMessages::TypeName(uint64_t type) const {
  const std::string mangled = MangledType(type);
  if (mangled.empty()) return {};
  constexpr std::string_view kOf = "typeinfo name for ";
  std::string name = symbols::Demangled("_ZTS" + mangled);
  return name.starts_with(kOf) ? name.substr(kOf.size()) : std::string();
}

std::optional<uint64_t> DeathMessages::BaseOf(uint64_t type) const {
  const auto table = Word(type);
  const auto name = table ? names_.Find(space_, *table) : std::nullopt;
  if (!name || name->symbol != "vtable for __cxxabiv1::__si_class_type_info") return std::nullopt;
  return Word(type, 2);
}

// The table of virtual functions of such a class has two destructors, then what().
bool DeathMessages::HasUsualText(uint64_t object) const {
  const auto table = Word(object);
  const auto what = table ? Word(*table, 2) : std::nullopt;
  const std::string name = what ? function_at_(*what) : std::string();
  return name.starts_with("std::runtime_error::what(") ||
         name.starts_with("std::logic_error::what(");
}

std::string DeathMessages::ExceptionText(uint64_t object, uint64_t type) const {
  constexpr int kMostBases = 32;
  std::optional<uint64_t> at = type;
  for (int i = 0; i < kMostBases && at; ++i, at = BaseOf(*at)) {
    const std::string name = MangledType(*at);
    if (name != "St13runtime_error" && name != "St11logic_error") continue;
    const auto text = HasUsualText(object) ? Word(object, 1) : std::nullopt;
    return text ? Text(*text, kMostText) : std::string();
  }
  return {};
}

}  // namespace flowback
