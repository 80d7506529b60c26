// SPDX-License-Identifier: MIT
// Counting what was lost, and saying so.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/saturated.h"
#include "cli/reading/image_report.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"

namespace flowback::cli {

inline constexpr LossCause kAllLossCauses[] = {
#define FLOWBACK_LOSS(name, kind, text, remedy) LossCause::name,
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
};

// "loss: no code image, 12 bytes at offset 0x345: DETAIL", printable
std::string LossText(const DataLoss& loss);

class LossTally {
 public:
  struct Sum {
    uint64_t count = 0;
    uint64_t bytes = 0;
    uint64_t time = 0;  // of threads, as TimeAccounts has it; only where that was asked for

    // Time alone, as that ahead of a snapshot, is told and is no loss to fail for.
    bool any() const { return count != 0 || time != 0; }
  };

  void Add(const DataLoss& loss) {
    Sum& sum = sums_[static_cast<size_t>(loss.cause)];
    AddSaturated(sum.count, loss.count);
    sum.bytes += loss.bytes();
    images_.Add(loss);
  }
  // Of another recording, but for its images.
  void Add(const LossTally& other);
  // What the recorder says and no recording has.
  void AddUnrecorded(uint64_t count) {
    AddSaturated(sums_[static_cast<size_t>(LossCause::kRecordsLost)].count, count);
  }
  void AddStreamBytes(uint64_t bytes) { stream_bytes_ += bytes; }

  const Sum& Of(LossCause cause) const { return sums_[static_cast<size_t>(cause)]; }
  bool any() const;
  uint64_t count() const;
  uint64_t bytes() const;
  const ImageTally& images() const { return images_; }
  uint64_t stream_bytes() const { return stream_bytes_; }
  uint64_t missing_bytes() const { return missing_bytes_; }

  // The closing lines on stderr; nothing when nothing was lost.
  void Warn(const std::string& file) const;
  // What no stream's loss shows: the recorder's own losses, and damage to the file.
  void AddRecording(const Recording& recording);
  // Streams with trace of which it is not known whose it is. REQUIRES: grouped by thread.
  void AddNobodys(const Threads& threads);
  void AddTimes(const TimeAccounts& accounts);
  // kDone, or under --strict kImageIsMissing or kFinishedWithLosses. What was lost by records,
  // bytes or threads counts, which every command knows; time does not.
  int Status(bool strict) const;

 private:
  std::string Shares() const;
  std::string CountText(LossCause cause) const;

  std::array<Sum, std::size(kAllLossCauses)> sums_{};
  ImageTally images_;
  uint64_t stream_bytes_ = 0;
  uint64_t missing_bytes_ = 0;  // not in the file, nor in stream_bytes_
  uint64_t nobodys_bytes_ = 0;  // of trace that is there
  uint64_t lifetime_ = 0;       // of all threads; 0: nobody asked for times
  bool nanoseconds_ = true;
  size_t damage_ = 0;
};

}  // namespace flowback::cli
