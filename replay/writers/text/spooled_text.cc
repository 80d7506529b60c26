// SPDX-License-Identifier: MIT
#include "replay/writers/text/spooled_text.h"

#include <cerrno>
#include <cstring>

namespace flowback {

void SpooledText::Spill() {
  if (error_ == 0 && file_ == nullptr) {
    file_.reset(std::tmpfile());
    if (file_ == nullptr) error_ = errno;
  }
  if (error_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size())
    error_ = errno;
  spilled_ += buffer_.size();
  buffer_.clear();
}

Status SpooledText::MoveTo(TextSink& sink) {
  if (file_ != nullptr && error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
  if (file_ != nullptr && error_ == 0) {
    std::rewind(file_.get());
    std::string part(kMostHeld, '\0');
    while (const size_t size = std::fread(part.data(), 1, part.size(), file_.get())) {
      sink.Write({part.data(), size});
      if (sink.closed()) break;
    }
    if (std::ferror(file_.get()) != 0) error_ = errno;
  }
  sink.Write(buffer_);
  buffer_.clear();
  spilled_ = 0;
  file_.reset();
  if (error_ == 0) return {};
  return Fail(Error(ErrorCode::kSystem, "cannot keep a part of the output in a temporary file: " +
                                            std::string(std::strerror(error_)))
                  .Remedy("free space in /tmp, or export a part: --tid, --time or --max-depth"));
}

}  // namespace flowback
