// SPDX-License-Identifier: MIT
// Errors as values: what went wrong, where, and what to do about it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

namespace flowback {

// The kind of a failure; the command line turns it into an exit status.
enum class ErrorCode : uint8_t {
  kUsage,           // the caller asked for something that makes no sense
  kUnreadable,      // an input is missing, damaged, or not of a known format
  kNoHardware,      // this machine lacks the tracing hardware
  kPermission,      // the operating system refused
  kBusy,            // the tracing hardware is in use
  kImageMissing,    // a needed code image is missing or is another build
  kUnsupported,     // known, but not handled by this build
  kSystem,          // another failed system call
  kCommandMissing,  // the program to record does not exist (shells end with 127)
  kCommandRefused,  // it exists but the system would not run it (126)
};

// One failure. Built where it happens, given context by each caller it passes through.
class Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  // One sentence, no full stop, with the context added so far: "... while reading trace.data".
  const std::string& message() const { return message_; }
  // What the user can do about it; empty when there is nothing sensible to say.
  const std::string& remedy() const { return remedy_; }
  // Byte offset in the file or stream that the message names.
  std::optional<uint64_t> offset() const { return offset_; }

  // Each returns the error itself, so that `return Err(...).At(offset)` reads well.
  Error& At(uint64_t offset) & {
    offset_ = offset;
    return *this;
  }
  Error&& At(uint64_t offset) && { return std::move(At(offset)); }
  Error& Remedy(std::string text) & {
    remedy_ = std::move(text);
    return *this;
  }
  Error&& Remedy(std::string text) && { return std::move(Remedy(std::move(text))); }
  Error& While(const std::string& doing) & {
    message_ += " while " + doing;
    return *this;
  }
  Error&& While(const std::string& doing) && { return std::move(While(doing)); }

 private:
  ErrorCode code_;
  std::string message_;
  std::string remedy_;
  std::optional<uint64_t> offset_;
};

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

// The failed result that converts to any Result<T>.
inline std::unexpected<Error> Fail(Error error) { return std::unexpected<Error>(std::move(error)); }
inline std::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return Fail(Error(code, std::move(message)));
}

}  // namespace flowback
