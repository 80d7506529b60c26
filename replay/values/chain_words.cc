// SPDX-License-Identifier: MIT
#include "replay/values/chain_words.h"

#include "base/hex.h"

namespace flowback::values {

std::string GaveWords(const ChainLink& link) {
  const std::string value = link.value ? Hex(*link.value) : "a value that is not proven";
  const std::string address = link.address ? Hex(*link.address) : "an address that is not proven";
  switch (link.kind) {
    case ChainLink::Kind::kLoaded:
      return "loads " + value + " from " + address;
    case ChainLink::Kind::kStored:
      return "stores " + value + " to " + address;
    case ChainLink::Kind::kCopied:
      return "copies " + value;
    default:
      return "gives " + value;
  }
}

const char* EndWords(ChainEnd end) {
  switch (end) {
    case ChainEnd::kConstant:
      return "the instruction contains the value";
    case ChainEnd::kSeveral:
      return "the value depends on several others: ask for each of them there";
    case ChainEnd::kUnknown:
      return "a system call gave the value, or an instruction that flowback does not compute";
    case ChainEnd::kGap:
      return "the flow is missing there, or a signal came between";
    case ChainEnd::kBeginning:
      return "the value is older than the instructions that flowback looks at";
    case ChainEnd::kAddress:
      return "the address that it was loaded from is not proven";
    case ChainEnd::kMemory:
      return "which instruction wrote it to memory is not proven";
    case ChainEnd::kTooLong:
      return "the chain goes on";
  }
  return "";
}

}  // namespace flowback::values
