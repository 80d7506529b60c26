// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/record_decompressor.h"

#include <zstd.h>

#include <new>

#include "capture/formats/input/text.h"

namespace flowback::perf {
namespace {

constexpr size_t kPiece = size_t{1} << 18;

// Records of the kernel shrink to a third or a fifth; switches of two threads at equal distances,
// as regular as records can be, to a fiftieth. A file that claims more is made to fill the memory.
constexpr uint64_t kFree = uint64_t{16} << 20;
constexpr uint64_t kMostPerByte = 64;

}  // namespace

struct RecordDecompressor::Stream {
  Stream() : context(ZSTD_createDStream()) {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~Stream() { ZSTD_freeDStream(context); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  ZSTD_DStream* context;
};

RecordDecompressor::RecordDecompressor() : stream_(std::make_unique<Stream>()) {}
RecordDecompressor::~RecordDecompressor() = default;
RecordDecompressor::RecordDecompressor(RecordDecompressor&&) noexcept = default;
RecordDecompressor& RecordDecompressor::operator=(RecordDecompressor&&) noexcept = default;

bool RecordDecompressor::Deliver(const Consumer& consume) {
  const std::optional<uint64_t> used = consume(unpacked_);
  if (!used) return false;
  unpacked_.erase(unpacked_.begin(), unpacked_.begin() + static_cast<ptrdiff_t>(*used));
  return true;
}

Status RecordDecompressor::Feed(Bytes compressed, const Consumer& consume) {
  taken_in_ += compressed.size();
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  for (bool full = true; full || input.pos < input.size;) {
    const size_t before = unpacked_.size();
    unpacked_.resize(before + kPiece);
    ZSTD_outBuffer output{unpacked_.data() + before, kPiece, 0};
    const size_t in_before = input.pos;
    const size_t result = ZSTD_decompressStream(stream_->context, &output, &input);
    unpacked_.resize(before + output.pos);
    if (ZSTD_isError(result)) {
      return Fail(ErrorCode::kUnreadable,
                  std::string("is no zstd stream: ") + ZSTD_getErrorName(result));
    }
    put_out_ += output.pos;
    full = output.pos == kPiece;
    if (!Deliver(consume)) return {};
    if (put_out_ > kFree && (put_out_ - kFree) / kMostPerByte > taken_in_) {
      return Fail(ErrorCode::kUnsupported,
                  "unpacks to more than " + ByteCount(put_out_) + " from " + ByteCount(taken_in_));
    }
    if (!full && input.pos == in_before && output.pos == 0) break;  // nothing moves any more
  }
  return {};
}

}  // namespace flowback::perf
