// SPDX-License-Identifier: MIT
// The one language of moments: --at of every command, and `monitor goto` of a replay.
//
//   12.5  10ms  50%  +99.4ms  -5ms    a time: seconds, a unit, per cent of the recording, after its
//                                     begin, before its end
//   #7                                before a thread's instruction of that number, from 0
//   begin  end  crash  spike:2
#pragma once

#include <cstdint>
#include <string>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/recording_clock.h"

namespace flowback::cli {

struct NamedMoment {
  enum class Kind : uint8_t {
    kTime,         // `value`: of the recording's clock
    kInstruction,  // `value`: the number, from 0
    kBegin,
    kEnd,
    kCrash,  // the end of a thread that a signal killed
    kSpike,  // FindSpike (cli/reading/spike_moment.h) knows more
  };
  Kind kind = Kind::kEnd;
  uint64_t value = 0;
};

// `option` is for messages. Errors: kUsage for a word that is no moment, for a crash that the
// recording does not have, and for a whole number that is no time of the recording; as ParseTime.
Result<NamedMoment> ParseMoment(const std::string& option, const std::string& word,
                                const Recording& recording, const RecordingClock& clock);

// The clock's value at kTime, kBegin, kEnd, or kCrash, which is the end. Errors: as ParseTime.
Result<uint64_t> TimeOf(const NamedMoment& moment, const std::string& option,
                        const Recording& recording, const RecordingClock& clock);

}  // namespace flowback::cli
