// SPDX-License-Identifier: MIT
#include "replay/dap/breakpoints.h"

#include <algorithm>
#include <array>

namespace flowback::dap {
namespace {

void SkipSpaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

std::optional<HitCondition> HitCondition::Of(std::string_view text) {
  constexpr size_t kMostDigits = 18;
  // The longer ones come first.
  constexpr std::array<std::pair<std::string_view, Operator>, 7> kOperators = {
      {{"==", Operator::kEqual},
       {">=", Operator::kNotLess},
       {"<=", Operator::kNotGreater},
       {"=", Operator::kEqual},
       {">", Operator::kGreater},
       {"<", Operator::kLess},
       {"%", Operator::kEvery}}};
  Operator how = Operator::kEqual;
  SkipSpaces(text);
  for (const auto& [word, meaning] : kOperators) {
    if (!text.starts_with(word)) continue;
    how = meaning;
    text.remove_prefix(word.size());
    break;
  }
  SkipSpaces(text);
  uint64_t number = 0;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > kMostDigits) return std::nullopt;
  for (const char c : text.substr(0, digits)) number = number * 10 + static_cast<uint64_t>(c - '0');
  text.remove_prefix(digits);
  SkipSpaces(text);
  if (!text.empty() || (how == Operator::kEvery && number == 0)) return std::nullopt;
  return HitCondition(how, number);
}

bool HitCondition::Holds(uint64_t hits) const {
  switch (how_) {
    case Operator::kEqual:
      return hits == number_;
    case Operator::kGreater:
      return hits > number_;
    case Operator::kNotLess:
      return hits >= number_;
    case Operator::kLess:
      return hits < number_;
    case Operator::kNotGreater:
      return hits <= number_;
    case Operator::kEvery:
      return hits % number_ == 0;
  }
  return true;
}

void Breakpoints::Replace(Sort sort, const std::string& key, std::vector<Breakpoint> breakpoints) {
  all_[{sort, key}] = std::move(breakpoints);
}

void Breakpoints::CountAnew() {
  for (auto& [key, breakpoints] : all_)
    for (Breakpoint& each : breakpoints) each.hits = 0;
}

std::vector<uint64_t> Breakpoints::Addresses() const {
  std::vector<uint64_t> addresses;
  for (const auto& [key, breakpoints] : all_)
    for (const Breakpoint& each : breakpoints)
      addresses.insert(addresses.end(), each.addresses.begin(), each.addresses.end());
  std::ranges::sort(addresses);
  const auto same = std::ranges::unique(addresses);
  addresses.erase(same.begin(), same.end());
  return addresses;
}

std::vector<std::pair<Breakpoints::Sort, Breakpoint*>> Breakpoints::At(uint64_t address) {
  std::vector<std::pair<Sort, Breakpoint*>> found;
  for (auto& [key, breakpoints] : all_)
    for (Breakpoint& each : breakpoints)
      if (std::ranges::find(each.addresses, address) != each.addresses.end())
        found.emplace_back(key.first, &each);
  return found;
}

}  // namespace flowback::dap
