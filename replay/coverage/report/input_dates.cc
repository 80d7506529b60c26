// SPDX-License-Identifier: MIT
#include "replay/coverage/report/input_dates.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace flowback {

void InputDates::Add(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return;
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
    newest_ = std::max<int64_t>(newest_, info.st_mtim.tv_sec);
}

int64_t InputDates::Newest() const {
  const char* const given = std::getenv("SOURCE_DATE_EPOCH");
  if (given == nullptr) return newest_;
  const char* const end = given + std::strlen(given);
  int64_t date = 0;
  const auto read = std::from_chars(given, end, date);
  return read.ec == std::errc() && read.ptr == end && date >= 0 ? date : newest_;
}

}  // namespace flowback
