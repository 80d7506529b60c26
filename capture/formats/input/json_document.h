// SPDX-License-Identifier: MIT
// JSON text as a tree of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"

namespace flowback {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kInteger, kReal, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool negative = false;          // kInteger: `number` is to be taken from 0; kBoolean: unused
  uint64_t number = 0;            // kInteger: its absolute value; kBoolean: 0 or 1
  std::string text;               // kString; kReal: as written
  std::vector<std::string> keys;  // kObject: of items, in the file's order
  std::vector<JsonValue> items;   // kArray, kObject

  // Returns an object's member; null: the object has no such member.
  const JsonValue* Find(std::string_view key) const;
  // "the object", "the string \"123\"": for messages.
  std::string Describe() const;
};

// `path` is for messages. Errors: kUnreadable with the offset where the text is no JSON, or nested
// deeper than any of our inputs.
Result<JsonValue> ParseJson(Bytes text, const std::string& path);

}  // namespace flowback
