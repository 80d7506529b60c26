// SPDX-License-Identifier: MIT
// Objects and arrays that stand within an object of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "replay/threads/time_slot.h"
#include "replay/writers/text/json.h"

namespace flowback {

// Returns the object whose keys `write(JsonLine&)` adds, without a newline.
template <class Write>
std::string JsonObject(const Write& write) {
  std::string text;
  JsonLine line(text);
  write(line);
  line.End();
  text.pop_back();
  return text;
}

// Returns an array; `write(item)` returns an item's JSON.
template <class Items, class Write>
std::string JsonArray(const Items& items, const Write& write) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += write(item);
  }
  return text + ']';
}

// Returns the text in quotes.
inline std::string JsonText(std::string_view text) {
  std::string quoted;
  AppendJsonString(quoted, text);
  return quoted;
}

// Adds a bound; one that is not known is null.
inline void AddBound(JsonLine& line, std::string_view name, uint64_t bound) {
  if (bound == 0 || bound == UINT64_MAX)
    line.Null(name);
  else
    line.Number(name, bound);
}

// Adds a moment as NAME, and its bounds as NAME_lo and NAME_hi.
inline void AddMoment(JsonLine& line, const std::string& name, const TimePoint& at) {
  line.Number(name, at.time);
  AddBound(line, name + "_lo", at.lo);
  AddBound(line, name + "_hi", at.hi);
}

}  // namespace flowback
