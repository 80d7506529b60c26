// SPDX-License-Identifier: MIT
#include "replay/dap/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/text_words.h"

namespace flowback::dap {
namespace {

constexpr std::string_view kEndOfHeader = "\r\n\r\n";
constexpr std::string_view kEndOfLine = "\r\n";
constexpr std::string_view kLength = "content-length";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

std::optional<ReceivedMessage> MessageReader::ReadHeader() {
  const auto bad = [this](std::string problem) {
    is_broken_ = true;
    bytes_.clear();
    return ReceivedMessage{.kind = ReceivedMessage::Kind::kBadHeader,
                           .problem = std::move(problem)};
  };
  const size_t end = bytes_.find(kEndOfHeader);
  if (std::min(end, bytes_.size()) > kMostHeaderBytes)
    return bad(fmt::format("a message's header has more than {} bytes", kMostHeaderBytes));
  if (end == std::string::npos) return std::nullopt;
  std::string_view lines = std::string_view(bytes_).substr(0, end);
  while (!lines.empty()) {
    const size_t line_end = std::min(lines.find(kEndOfLine), lines.size());
    const std::string_view line = lines.substr(0, line_end);
    lines.remove_prefix(std::min(line_end + kEndOfLine.size(), lines.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return bad("a line of a message's header has no colon");
    if (Lower(Trimmed(line.substr(0, colon))) != kLength) continue;
    length_ = Number(Trimmed(line.substr(colon + 1)), 10);
    if (!length_) return bad("a message's Content-Length is no number");
  }
  if (!length_) return bad("a message's header has no Content-Length");
  if (*length_ > kMostMessageBytes)
    return bad(fmt::format("a message of {} bytes is longer than {}", *length_, kMostMessageBytes));
  bytes_.erase(0, end + kEndOfHeader.size());
  return std::nullopt;
}

std::optional<ReceivedMessage> MessageReader::Next() {
  if (is_broken_) return std::nullopt;
  if (!length_)
    if (auto bad = ReadHeader()) return bad;
  if (!length_ || bytes_.size() < *length_) return std::nullopt;
  const std::string content = bytes_.substr(0, *length_);
  bytes_.erase(0, *length_);
  length_.reset();
  Json message = Json::parse(content, nullptr, false);
  if (!message.is_object())
    return ReceivedMessage{.kind = ReceivedMessage::Kind::kNotJson,
                           .problem = "a message's content is no JSON object"};
  return ReceivedMessage{.kind = ReceivedMessage::Kind::kMessage, .message = std::move(message)};
}

std::string Framed(const Json& message) {
  const std::string content = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", content.size(), content);
}

Json Refusal(const Json& request, const Error& error, int64_t number) {
  std::string text = error.message();
  if (!error.remedy().empty()) text += ": " + error.remedy();
  return {{"seq", number},
          {"type", "response"},
          {"request_seq", NumberIn(request, "seq")},
          {"success", false},
          {"command", TextIn(request, "command")},
          {"message", error.message()},
          {"body", {{"error", {{"id", 1}, {"format", text}, {"showUser", true}}}}}};
}

const Json& MemberOf(const Json& object, std::string_view name) {
  static const Json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

int64_t NumberIn(const Json& object, std::string_view name, int64_t other) {
  const Json& member = MemberOf(object, name);
  if (member.is_number_unsigned() &&
      member.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
    return other;
  return member.is_number_integer() ? member.get<int64_t>() : other;
}

std::string TextIn(const Json& object, std::string_view name, const std::string& other) {
  const Json& member = MemberOf(object, name);
  return member.is_string() ? member.get<std::string>() : other;
}

bool FlagIn(const Json& object, std::string_view name, bool other) {
  const Json& member = MemberOf(object, name);
  return member.is_boolean() ? member.get<bool>() : other;
}

}  // namespace flowback::dap
