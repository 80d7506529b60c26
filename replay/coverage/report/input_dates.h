// SPDX-License-Identifier: MIT
// The date of a coverage report, for the formats that require one.
#pragma once

#include <cstdint>
#include <string>

namespace flowback {

// Finds the date of a report's inputs. A report does not carry the time at which it was written:
// it would differ each time.
class InputDates {
 public:
  // Ignores a path that is neither file nor folder, such as a pipe.
  void Add(const std::string& path);
  // Returns $SOURCE_DATE_EPOCH where it is set, else the newest modification of an input, in
  // seconds since 1970. Returns 0 if there is neither.
  int64_t Newest() const;

 private:
  int64_t newest_ = 0;
};

}  // namespace flowback
