// SPDX-License-Identifier: MIT
#include "capture/formats/input/json_document.h"

#include <nlohmann/json.hpp>

#include "capture/formats/input/text.h"

namespace flowback {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxValues = size_t{1} << 20;  // a hundred bytes each, of two in the text

// Gets what the parser reads, piece by piece, and builds the tree. The parser asks each call
// whether to go on.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add({}); }
  bool boolean(bool value) override {
    JsonValue result = Make(JsonValue::Kind::kBoolean);
    result.number = value ? 1 : 0;
    return Add(std::move(result));
  }
  bool number_integer(number_integer_t value) override {
    JsonValue result = Make(JsonValue::Kind::kInteger);
    result.negative = value < 0;
    result.number = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return Add(std::move(result));
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue result = Make(JsonValue::Kind::kInteger);
    result.number = value;
    return Add(std::move(result));
  }
  bool number_float(number_float_t, const string_t& written) override {
    JsonValue result = Make(JsonValue::Kind::kReal);
    result.text = written;
    return Add(std::move(result));
  }
  bool string(string_t& value) override {
    JsonValue result = Make(JsonValue::Kind::kString);
    result.text = std::move(value);
    return Add(std::move(result));
  }
  bool binary(binary_t&) override { return false; }  // not in text
  bool start_object(std::size_t) override { return Open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) override { return Open(JsonValue::Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& exception) override {
    error_at_ = position == 0 ? 0 : position - 1;  // the parser counts from 1
    problem_ = exception.what();
    return false;
  }

  JsonValue root;

  bool too_deep() const { return too_deep_; }
  bool too_many() const { return too_many_; }
  uint64_t error_at() const { return error_at_; }
  // The parser's own sentence, from behind its number and place.
  std::string problem() const {
    const size_t colon = problem_.find(": ");
    return colon == std::string::npos ? problem_ : problem_.substr(colon + 2);
  }

 private:
  static JsonValue Make(JsonValue::Kind kind) {
    JsonValue value;
    value.kind = kind;
    return value;
  }
  bool Add(JsonValue value) {
    too_many_ = ++values_ > kMaxValues;
    if (too_many_) return false;
    if (open_.empty()) {
      root = std::move(value);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }
  bool Open(JsonValue::Kind kind) {
    too_deep_ = open_.size() == kMaxDepth;
    if (!too_deep_) open_.push_back(Make(kind));
    return !too_deep_;
  }
  bool Close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(value));
  }

  std::vector<JsonValue> open_;
  bool too_deep_ = false;
  bool too_many_ = false;
  size_t values_ = 0;
  uint64_t error_at_ = 0;
  std::string problem_;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::string JsonValue::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return number != 0 ? "true" : "false";
    case Kind::kInteger:
      return (negative ? "the number -" : "the number ") + Dec(number);
    case Kind::kReal:
      return "the number " + text;
    case Kind::kString:
      return "the string \"" + text + "\"";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
  }
  return "";
}

Result<JsonValue> ParseJson(Bytes text, const std::string& path) {
  TreeBuilder tree;
  const char* const begin = reinterpret_cast<const char*>(text.data());
  if (Json::sax_parse(begin, begin + text.size(), &tree)) return std::move(tree.root);
  const std::string problem =
      tree.too_many()   ? "holds more than " + Dec(kMaxValues) + " values"
      : tree.too_deep() ? "is nested deeper than " + Dec(kMaxDepth) + " levels"
                        : "is no JSON: at offset " + Hex(tree.error_at()) + ": " + tree.problem();
  Error error(ErrorCode::kUnreadable, path + ": " + problem);
  if (!tree.too_deep() && !tree.too_many()) error.At(tree.error_at());
  return Fail(
      error.Remedy("the file was cut or edited by hand: copy it again, or save the trace "
                   "again in LLDB with `trace save`"));
}

}  // namespace flowback
