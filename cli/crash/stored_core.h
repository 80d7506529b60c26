// SPDX-License-Identifier: MIT
// Core dumps that systemd keeps: where the kernel hands dumps to systemd-coredump, `coredumpctl`
// gives them back.
#pragma once

#include <memory>
#include <string>

#include "flowback/model/recording.h"

namespace flowback::cli {

// A core dump in a temporary file, which is gone with this.
class StoredCore {
 public:
  // Asks coredumpctl for the newest dump of the process's number: ReadCore and EndCore find out
  // whether it is the recorded process'. Null: there is no coredumpctl on the PATH, it knows of no
  // such dump, or it takes longer than a minute.
  static std::unique_ptr<StoredCore> Of(const ProcessEnd& end);
  ~StoredCore();
  StoredCore(const StoredCore&) = delete;
  StoredCore& operator=(const StoredCore&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit StoredCore(std::string folder) : folder_(std::move(folder)), path_(folder_ + "/core") {}

  std::string folder_;
  std::string path_;
};

}  // namespace flowback::cli
