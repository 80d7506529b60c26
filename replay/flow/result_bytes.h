// SPDX-License-Identifier: MIT
// What analyses found out, as bytes and back.
//
// The members of each type are listed once, for both ways: `Tell(io, value)` passes its members to
// a writer, which adds them to the bytes, or to a reader, which fills them in. So they can't
// disagree about the order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/number_bytes.h"
#include "flowback/base/bytes.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/recording.h"
#include "flowback/replay/timeline.h"
#include "replay/flow/space_names.h"

namespace flowback {

inline constexpr uint64_t kLossCauses = 0
#define FLOWBACK_LOSS(name, kind, text, remedy) +1
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
    ;

class ResultWriter {
 public:
  explicit ResultWriter(const SpaceNames& spaces) : spaces_(spaces) {}

  template <class T>
  void Number(T number) {
    if constexpr (std::is_signed_v<T>)
      out_.Number(static_cast<std::make_unsigned_t<T>>(number));
    else
      out_.Number(static_cast<uint64_t>(number));
  }
  template <class T>
  void Below(T number, uint64_t /*limit*/) {
    Number(number);
  }
  void Real(double number) { out_.Word(std::bit_cast<uint64_t>(number)); }
  // Writes eight bytes: for numbers that are seldom small.
  void Word(uint64_t number) { out_.Word(number); }
  // One of `limit` things, or UINT32_MAX for none.
  void NumberOrNone(uint32_t number, uint64_t /*limit*/) { out_.Number(uint32_t{number + 1}); }
  // Near the one before it.
  void Time(uint64_t time) { out_.Distance(std::exchange(time_, time), time); }
  // Counted from 1 on: 0 is none.
  void Function(uint32_t function) { out_.Number(uint32_t{function + 1}); }
  void Text(const std::string& text) {
    out_.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  void Space(const AddressSpace* space) {
    if (space != nullptr && !spaces_.Has(space)) ok_ = false;
    out_.Number(space == nullptr || !ok_ ? 0 : uint64_t{spaces_.Of(space)} + 1);
  }
  // By a space in which it lies at `ip`.
  void Code(const std::shared_ptr<const CodeSection>& code, uint64_t ip) {
    uint32_t name = 0;
    const AddressSpace* space = nullptr;
    if (code == nullptr) return out_.Number(0);
    while ((space = spaces_.Find(name)) != nullptr && space->SectionOrReason(ip) != code) ++name;
    ok_ &= space != nullptr;
    out_.Number(uint64_t{name} + 1);
  }
  void StreamOf(const Stream* stream) {
    out_.Number(stream == nullptr ? 0 : uint64_t{stream->index} + 1);
  }
  template <class All, class Each>
  void List(const All& list, Each each) {
    out_.Number(list.size());
    for (const auto& one : list) each(one);
  }
  void Causes(const std::map<LossCause, uint64_t>& causes) {
    List(causes, [&](const auto& one) {
      Number(one.first);
      Number(one.second);
    });
  }
  template <class T, class Each>
  void Optional(const std::optional<T>& value, Each each) {
    Number(value.has_value());
    if (value) each(*value);
  }
  std::vector<uint8_t> Take() { return ok_ ? out_.Take() : std::vector<uint8_t>(); }

 private:
  const SpaceNames& spaces_;
  NumberWriter out_;
  uint64_t time_ = 0;
  bool ok_ = true;
};

class ResultReader {
 public:
  ResultReader(Bytes bytes, const Recording& recording, const SpaceNames& spaces)
      : recording_(recording), spaces_(spaces), in_(bytes) {}

  template <class T>
  void Number(T& number) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>)
      number = static_cast<T>(Limited(2));
    else if constexpr (std::is_signed_v<T>)
      number = static_cast<T>(
          Limited(uint64_t{std::numeric_limits<std::make_unsigned_t<T>>::max()} + 1));
    else if constexpr (sizeof(T) < sizeof(uint64_t))
      number = static_cast<T>(Limited(uint64_t{std::numeric_limits<T>::max()} + 1));
    else
      number = in_.Number();
  }
  template <class T>
  void Below(T& number, uint64_t limit) {
    number = static_cast<T>(Limited(limit));
  }
  // Only numbers that fit into 64-bit integers.
  void Real(double& number) {
    constexpr double kMost = 9e18;
    number = std::bit_cast<double>(in_.Word());
    if (std::abs(number) <= kMost) return;
    number = 0;
    in_.Fail();
  }
  void Word(uint64_t& number) { number = in_.Word(); }
  void NumberOrNone(uint32_t& number, uint64_t limit) {
    number = static_cast<uint32_t>(Limited(limit + 1)) - 1;
  }
  void Time(uint64_t& time) { time = time_ = in_.Distance(time_); }
  void Function(uint32_t& function) {
    function = static_cast<uint32_t>(Limited(functions_ + 1)) - 1;
  }
  void Text(std::string& text) {
    const Bytes bytes = in_.Block();
    text.assign(bytes.begin(), bytes.end());
  }
  void Space(const AddressSpace*& space) {
    const uint64_t name = Limited(uint64_t{UINT32_MAX} + 1);
    if (name == 0) return;
    space = spaces_.Find(static_cast<uint32_t>(name - 1));
    if (space == nullptr) in_.Fail();
  }
  void Code(std::shared_ptr<const CodeSection>& code, uint64_t ip) {
    const AddressSpace* space = nullptr;
    Space(space);
    if (space == nullptr) return;
    code = space->SectionOrReason(ip);
    if (code == nullptr) in_.Fail();
  }
  void StreamOf(const Stream*& stream) {
    const uint64_t number = Limited(recording_.streams.size() + 1);
    if (number != 0) stream = &recording_.streams[number - 1];
  }
  template <class T, class Each>
  void List(std::vector<T>& list, Each each) {
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) each(list.emplace_back());
  }
  void Causes(std::map<LossCause, uint64_t>& causes) {
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      const auto cause = static_cast<LossCause>(Limited(kLossCauses));
      causes[cause] = in_.Number();
    }
  }
  template <class T, class Each>
  void Optional(std::optional<T>& value, Each each) {
    if (Limited(2) == 1) each(value.emplace());
  }
  // Sets the number of functions.
  void set_functions(size_t functions) { functions_ = functions; }
  void Expect(bool sense) {
    if (!sense) in_.Fail();
  }
  bool Done() const { return in_.Done(); }

 private:
  uint64_t Limited(uint64_t limit) {
    const uint64_t number = in_.Number();
    if (number < limit) return number;
    in_.Fail();
    return 0;
  }

  const Recording& recording_;
  const SpaceNames& spaces_;
  NumberReader in_;
  uint64_t time_ = 0;
  uint64_t functions_ = 0;
};

template <class Io, class Times>
void SerializeTimes(Io& io, Times& times) {
  for (auto& time : times) io.Number(time);
}

template <class Io, class Point>
void TellPoint(Io& io, Point& point) {
  for (auto* time : {&point.time, &point.lo, &point.hi}) io.Time(*time);
}

template <class Io, class FunctionType>
void TellFunction(Io& io, FunctionType& function) {
  io.Text(function.name);
  io.Text(function.file);
  io.Number(function.entry_ip);
  io.Space(function.space);
  io.Number(function.named);
  io.Number(function.is_system_call);
}

template <class Io, class Sum>
void TellLosses(Io& io, Sum& sum) {
  io.Number(sum.tid);
  io.Below(sum.cause, kLossCauses);
  io.Number(sum.ip);
  io.Code(sum.code, sum.ip);
  io.Number(sum.count);
  io.Number(sum.bytes);
}

}  // namespace flowback
