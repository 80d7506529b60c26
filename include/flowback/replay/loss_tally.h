// SPDX-License-Identifier: MIT
// Counts what was lost of a recording, by cause, and which images the losses point to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"

namespace flowback {

inline constexpr LossCause kAllLossCauses[] = {
#define FLOWBACK_LOSS(name, kind, text, remedy) LossCause::name,
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
};

// Losses of recordings as plain sums: the part of a LossTally that is kept in a file.
struct KeptLosses {
  struct Sum {
    uint64_t count = 0;
    uint64_t bytes = 0;  // of trace
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  std::map<LossCause, Sum> causes;  // without those that are 0
  uint64_t trace_bytes = 0;         // that were decoded; the lost bytes are a part of them
  uint64_t missing_bytes = 0;       // of trace, that the recordings' files do not contain
  uint64_t unattributed_bytes = 0;  // of trace, whose thread is unknown
  uint64_t damage = 0;              // warnings of damage to the recordings' files

  bool any() const { return !causes.empty() || damage != 0; }
  void Add(LossCause cause, const Sum& sum);
  // Adds the losses of other recordings. Numbers do not grow beyond 2^64 - 1.
  void Add(const KeptLosses& other);
  bool operator==(const KeptLosses&) const = default;
};

// Counts the losses by the image that they lie in.
class ImageTally {
 public:
  // A file that no build-id vouches for and whose code the trace contradicts.
  struct Suspect {
    const CodeSection* section = nullptr;  // the file's, or one of the file's
    uint64_t contradictions = 0;           // between the trace and this file's code
  };

  void Add(const DataLoss& loss);

  // Returns whether code of the image ran that could not be read.
  bool IsMissed(const ImageStatus& image) const;
  // Returns the images that are missing where something ran. Rejected images are not among them.
  std::vector<const ImageStatus*> Missed(const std::vector<ImageStatus>& images) const;
  // Returns the suspects in the order of their files' names.
  std::vector<Suspect> Suspects() const;
  // Contradictions between code and trace, in whichever image.
  uint64_t contradictions() const { return contradictions_; }

 private:
  struct Count {
    uint64_t contradictions = 0;
    uint64_t missing = 0;
  };

  std::map<std::shared_ptr<const CodeSection>, Count> counts_;  // by DataLoss::code
  uint64_t contradictions_ = 0;
};

// Counts the losses of one recording, or of several.
class LossTally {
 public:
  struct Sum {
    uint64_t count = 0;
    uint64_t bytes = 0;
    uint64_t time = 0;  // of threads, as in TimeAccounts; 0 unless AddTimes was called

    // A time alone, as before a snapshot, is reported but is no failure.
    bool any() const { return count != 0 || time != 0; }
  };

  void Add(const DataLoss& loss);
  // Adds the losses of another recording, without its images.
  void Add(const LossTally& other);
  // Adds losses that were kept. Their times and images are not known.
  void Add(const KeptLosses& sums);
  // Adds records that the recorder lost and that no recording mentions.
  void AddUnrecorded(uint64_t count);
  // Adds bytes of decoded trace; they include the lost bytes.
  void AddStreamBytes(uint64_t bytes) { stream_bytes_ += bytes; }
  // Adds what no stream's flow shows: the recorder's own losses, and damage to the file.
  void AddRecording(const Recording& recording);
  // Adds the streams that have trace of unknown threads. REQUIRES: Threads::GroupByThread.
  void AddUnattributed(const Threads& threads);
  void AddTimes(const TimeAccounts& accounts);

  const Sum& Of(LossCause cause) const { return sums_[static_cast<size_t>(cause)]; }
  // Returns the losses without their times and images.
  KeptLosses Kept() const;
  bool any() const;
  uint64_t count() const;
  uint64_t bytes() const;
  uint64_t time() const;  // of causes that were counted
  const ImageTally& images() const { return images_; }
  uint64_t stream_bytes() const { return stream_bytes_; }
  // Bytes of trace that are missing from the file; they are not part of stream_bytes().
  uint64_t missing_bytes() const { return missing_bytes_; }
  // Bytes of trace that are in the file, but whose thread is unknown.
  uint64_t unattributed_bytes() const { return unattributed_bytes_; }
  // The lifetime of all threads; 0 unless AddTimes was called. Its unit is the times' unit.
  uint64_t lifetime() const { return lifetime_; }
  bool nanoseconds() const { return nanoseconds_; }
  // The number of warnings about damage to the file.
  size_t damage() const { return damage_; }

 private:
  Sum& SumOf(LossCause cause) { return sums_[static_cast<size_t>(cause)]; }

  std::array<Sum, std::size(kAllLossCauses)> sums_{};
  ImageTally images_;
  uint64_t stream_bytes_ = 0;
  uint64_t missing_bytes_ = 0;
  uint64_t unattributed_bytes_ = 0;
  uint64_t lifetime_ = 0;
  bool nanoseconds_ = true;
  size_t damage_ = 0;
};

}  // namespace flowback
