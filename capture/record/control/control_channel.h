// SPDX-License-Identifier: MIT
// `--control`: lines with commands come from a FIFO or a descriptor, and answers go to another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "flowback/base/error.h"

namespace flowback::record {

struct ControlRequest {
  std::string command;   // "enable"
  std::string argument;  // what stands behind it: an event's name
};

// Movable.
class ControlChannel {
 public:
  // "fifo:CTL[,ACK]" or "fd:CTL[,ACK]". Errors: kUsage, kPermission, kSystem.
  static Result<ControlChannel> Open(const std::string& words);

  // Becomes readable when Take has something; -1: all writers have closed it.
  int descriptor() const { return *commands_; }
  // Returns the commands that have come, whole lines only. A line that is too long is one unknown
  // command.
  std::vector<ControlRequest> Take();
  // Answers a request with a line, which is lost if the pipe is full.
  void Answer(std::string_view text) const;
  // perf's answer to what was done.
  void Acknowledge() const { Answer("ack"); }

 private:
  ControlChannel(Descriptor commands, Descriptor answers)
      : commands_(std::move(commands)), answers_(std::move(answers)) {}
  void TakeBytes(std::string_view bytes, std::vector<ControlRequest>& requests);

  Descriptor commands_;
  Descriptor answers_;
  std::string line_;       // has no end yet
  bool too_long_ = false;  // the line's rest is passed over
};

}  // namespace flowback::record
