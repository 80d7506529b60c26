// SPDX-License-Identifier: MIT
// How a ProcessEnd stands in our recordings, and how the emulator sends it to the recorder.
//
//   pid, tid            4 bytes each
//   time, ip, fault     8 bytes each: ns, the thread's address, the refused access's
//   file_offset         8 bytes
//   wait_status         4 bytes
//   known               4 bytes: 1 the ip, 2 the fault address
//   comm, file, core    each its size in 4 bytes, then the text with zeros up to it
#pragma once

#include <string>

#include "capture/formats/input/field_reader.h"
#include "flowback/model/recording.h"

namespace flowback {

inline constexpr uint32_t kEndKnowsIp = 1;
inline constexpr uint32_t kEndKnowsFault = 2;

// The next one. False where it is cut.
inline bool ReadProcessEnd(FieldReader& fields, ProcessEnd& end) {
  end.pid = fields.I32();
  end.tid = fields.I32();
  end.time = fields.U64();
  const uint64_t ip = fields.U64();
  const uint64_t fault = fields.U64();
  end.file_offset = fields.U64();
  end.wait_status = fields.I32();
  const uint32_t known = fields.U32();
  if ((known & kEndKnowsIp) != 0) end.ip = ip;
  if ((known & kEndKnowsFault) != 0) end.fault_address = fault;
  for (std::string* text : {&end.comm, &end.file, &end.core})
    *text = TextOf(fields.Take(fields.U32()));
  return fields.ok();
}

}  // namespace flowback
