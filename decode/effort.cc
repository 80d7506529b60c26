// SPDX-License-Identifier: MIT
#include "decode/effort.h"

namespace flowback {

const char* Key(SlowPacket reason) {
  switch (reason) {
#define FLOWBACK_SLOW_PACKET(name, key, text) \
  case SlowPacket::name:                      \
    return key;
#include "decode/slow_packets.def"
#undef FLOWBACK_SLOW_PACKET
  }
  return "?";
}

const char* Words(SlowPacket reason) {
  switch (reason) {
#define FLOWBACK_SLOW_PACKET(name, key, text) \
  case SlowPacket::name:                      \
    return text;
#include "decode/slow_packets.def"
#undef FLOWBACK_SLOW_PACKET
  }
  return "?";
}

}  // namespace flowback
