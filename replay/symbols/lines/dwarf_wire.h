// SPDX-License-Identifier: MIT
// The bytes that flowback and its DWARF reader exchange: a message is its size (8 bytes), then
// values one after the other as this machine stores them, because both ends are one build.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "replay/symbols/lines/dwarf_file.h"

namespace flowback::symbols {

// A request's first value.
enum class DwarfCommand : uint8_t {
  kOpen,  // DwarfRequest; the reply: whether there is DWARF (u8), the problem, UnitRanges, problems
  kUnit,  // number (u32); the reply: UnitInfo, problems so far
  kVariables,  // address as linked (u64); the reply: VariablesInfo
  kCheck,      // path, MD5 (16 bytes); the reply: whether the file has that MD5 (u8)
};

// The version of this exchange, the reader program's only argument.
constexpr char kDwarfVersion[] = "flowback-dwarf-5";
// The limit of a message; a larger one comes from a reader that went astray, or from a file made so
// that each of its bytes becomes many: a row of a line table is 40 bytes, and takes one in the
// file.
constexpr uint64_t kFreeDwarfMessage = uint64_t{64} << 20;
constexpr uint64_t kMostDwarfMessagePerByte = 64;

class WireWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void Put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(std::string_view text) {
    Put<uint64_t>(text.size());
    bytes_ += text;
  }
  void Put(const std::string& text) { Put(std::string_view(text)); }
  template <class T>
  void Put(const std::vector<T>& values) {
    Put<uint64_t>(values.size());
    for (const T& value : values) Put(value);
  }
  void Put(const SourceFileInfo& file) {
    Put(file.path);
    Put(file.md5.has_value());
    if (file.md5) Put(*file.md5);
  }
  void Put(const UnitInfo& info) {
    Put(info.files);
    Put(info.names);
    Put(info.rows);
    Put(info.subroutines);
    Put(info.ranges);
    Put(info.is_split);
    Put(info.split_file);
    Put(info.split_name);
  }
  void Put(const VariableInfo& variable) {
    Put(variable.name);
    Put(variable.type);
    Put(variable.bytes);
    Put(variable.kind);
    Put(variable.level);
    Put(variable.location);
    Put(variable.constant.has_value());
    Put(variable.constant.value_or(0));
  }
  void Put(const VariablesInfo& info) {
    Put(info.frame_base);
    Put(info.variables);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reading past the end yields zeros and makes the message not `complete`.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void Get(T& value) {
    if (rest_.size() < sizeof value) return Fail();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
  }
  // Valid as long as the message.
  void Get(std::string_view& text) {
    const uint64_t size = Get<uint64_t>();
    if (size > rest_.size()) return Fail();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }
  void Get(std::string& text) { text = Get<std::string_view>(); }
  template <class T>
  void Get(std::vector<T>& values) {
    // Each value takes a byte at least, so that a wild count ends at the message's end.
    const uint64_t count = Get<uint64_t>();
    if (count > rest_.size()) return Fail();
    values.clear();
    for (uint64_t i = 0; i < count && complete_; ++i) Get(values.emplace_back());
  }
  void Get(SourceFileInfo& file) {
    Get(file.path);
    if (!Get<bool>()) return;
    Get(file.md5.emplace());
  }
  void Get(UnitInfo& info) {
    Get(info.files);
    Get(info.names);
    Get(info.rows);
    Get(info.subroutines);
    Get(info.ranges);
    Get(info.is_split);
    Get(info.split_file);
    Get(info.split_name);
  }
  void Get(VariableInfo& variable) {
    Get(variable.name);
    Get(variable.type);
    Get(variable.bytes);
    Get(variable.kind);
    Get(variable.level);
    Get(variable.location);
    const bool is_constant = Get<bool>();
    const auto constant = Get<int64_t>();
    if (is_constant) variable.constant = constant;
  }
  void Get(VariablesInfo& info) {
    Get(info.frame_base);
    Get(info.variables);
  }
  template <class T>
  T Get() {
    T value{};
    Get(value);
    return value;
  }
  bool complete() const { return complete_; }

 private:
  void Fail() {
    complete_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool complete_ = true;
};

}  // namespace flowback::symbols
