// SPDX-License-Identifier: MIT
// The breakpoints that a client has set, and which of them a visit of an address stops at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flowback::dap {

// At which visits a breakpoint stops: "3" or "== 3" at the third since it was set, "> 3", ">= 3",
// "< 3", "<= 3", "% 3" at every third one.
class HitCondition {
 public:
  // Empty: the text is none of these.
  static std::optional<HitCondition> Of(std::string_view text);

  bool Holds(uint64_t hits) const;

 private:
  enum class Operator : uint8_t { kEqual, kGreater, kNotLess, kLess, kNotGreater, kEvery };
  HitCondition(Operator how, uint64_t number) : how_(how), number_(number) {}

  Operator how_;
  uint64_t number_;
};

struct Breakpoint {
  int64_t id = 0;
  std::vector<uint64_t> addresses{};
  std::map<uint64_t, size_t> inlined{};  // frames there that are behind the line
  std::optional<HitCondition> condition{};
  std::string log{};  // not empty: printed at each visit, which does not stop then
  uint64_t hits = 0;
};

class Breakpoints {
 public:
  enum class Sort : uint8_t { kLines, kFunctions, kInstructions };

  // They take the place of those of that sort and key: the source file's path for kLines, else "".
  void Replace(Sort sort, const std::string& key, std::vector<Breakpoint> breakpoints);
  int64_t NewId() { return next_id_++; }
  // As if none had been visited.
  void CountAnew();
  // Returns the addresses of all of them, sorted, each once.
  std::vector<uint64_t> Addresses() const;
  // Those at the address, and their sort.
  std::vector<std::pair<Sort, Breakpoint*>> At(uint64_t address);

 private:
  std::map<std::pair<Sort, std::string>, std::vector<Breakpoint>> all_;
  int64_t next_id_ = 1;
};

}  // namespace flowback::dap
