// SPDX-License-Identifier: MIT
#include "capture/bundle/frame_reader.h"

#include <zstd.h>

#include <utility>

namespace flowback::bundle {
namespace {

// What zstd itself takes without being asked: 128 MB.
constexpr int kMostWindow = 27;

}  // namespace

struct FrameReader::Stream {
  Stream() : context(ZSTD_createDCtx()) {
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kMostWindow);
  }
  ~Stream() { ZSTD_freeDCtx(context); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  ZSTD_DCtx* context;
};

FrameReader::FrameReader(Bytes packed, std::string path)
    : packed_(packed),
      path_(std::move(path)),
      stream_(std::make_unique<Stream>()),
      out_(ZSTD_DStreamOutSize()) {}
FrameReader::~FrameReader() = default;

Error FrameReader::Damaged(const std::string& problem) const {
  return Error(ErrorCode::kUnreadable, path_ + ": " + problem)
      .At(at_)
      .Remedy("copy the bundle again, or pack the recording again");
}

Result<Bytes> FrameReader::Next() {
  while (at_ < packed_.size() || has_more_) {
    ZSTD_inBuffer in{packed_.data(), packed_.size(), at_};
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const size_t left = ZSTD_decompressStream(stream_->context, &out, &in);
    if (ZSTD_isError(left) != 0)
      return Fail(Damaged(std::string("is damaged: ") + ZSTD_getErrorName(left)));
    const bool moved = in.pos != at_ || out.pos != 0;
    at_ = in.pos;
    in_frame_ = left != 0;
    has_more_ = out.pos == out.size && in_frame_;
    if (out.pos != 0) return Bytes(out_).first(out.pos);
    if (!moved) break;
  }
  if (in_frame_) return Fail(Damaged("ends within a part: it was cut"));
  return Bytes();
}

}  // namespace flowback::bundle
