// SPDX-License-Identifier: MIT
// How the Debug Adapter Protocol frames its messages: headers, an empty line, JSON.
//
//   Content-Length: 37\r\n\r\n{"seq":1,"type":"request","command":...
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback::dap {

using Json = nlohmann::json;

inline constexpr size_t kMostMessageBytes = size_t{1} << 20;
inline constexpr size_t kMostHeaderBytes = size_t{4} << 10;

// One thing that the client sent.
struct ReceivedMessage {
  enum class Kind : uint8_t {
    kMessage,
    kNotJson,    // a message whose content is no JSON object; the next one may be good
    kBadHeader,  // what follows cannot be told apart any more
  };
  Kind kind{};
  Json message{};         // of kMessage: an object
  std::string problem{};  // of the others: what was wrong, a sentence without a full stop
};

// Takes bytes as they come and gives the messages that they make up.
class MessageReader {
 public:
  void Add(std::string_view bytes) { bytes_ += bytes; }
  // Empty: more bytes are needed.
  std::optional<ReceivedMessage> Next();

 private:
  std::optional<ReceivedMessage> ReadHeader();

  std::string bytes_;
  std::optional<size_t> length_;  // of the content that comes, once its header has been read
  bool is_broken_ = false;
};

// The message with its header. Invalid UTF-8 in it is replaced.
std::string Framed(const Json& message);

// The response that refuses a request; `number`: the response's own.
Json Refusal(const Json& request, const Error& error, int64_t number);

// A member of an object, of that type; `other`, where it is absent or of another type.
int64_t NumberIn(const Json& object, std::string_view name, int64_t other = 0);
std::string TextIn(const Json& object, std::string_view name, const std::string& other = {});
bool FlagIn(const Json& object, std::string_view name, bool other = false);
// The member; null where it is absent.
const Json& MemberOf(const Json& object, std::string_view name);

}  // namespace flowback::dap
