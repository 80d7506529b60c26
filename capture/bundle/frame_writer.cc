// SPDX-License-Identifier: MIT
#include "capture/bundle/frame_writer.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "capture/bundle/bundle_format.h"

namespace flowback::bundle {
namespace {

constexpr int kLevel = 3;
constexpr uint32_t kSkippableMagic = 0x184d2a5e;
constexpr uint32_t kSeekableMagic = 0x8f92eab1;

void AppendWord(std::vector<uint8_t>& out, uint32_t word) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<uint8_t>(word >> shift));
}

Error NoMemory(size_t code) {
  return {ErrorCode::kSystem, std::string("zstd cannot compress: ") + ZSTD_getErrorName(code)};
}

}  // namespace

struct FrameWriter::Stream {
  Stream() : context(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  }
  ~Stream() { ZSTD_freeCCtx(context); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  ZSTD_CCtx* context;
};

FrameWriter::FrameWriter(Sink sink)
    : sink_(std::move(sink)), stream_(std::make_unique<Stream>()), out_(ZSTD_CStreamOutSize()) {}
FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;
FrameWriter::~FrameWriter() = default;

Status FrameWriter::Put(Bytes bytes) {
  packed_ += bytes.size();
  return bytes.empty() ? Status() : sink_(bytes);
}

Status FrameWriter::Compress(Bytes bytes, bool end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const size_t left =
        ZSTD_compressStream2(stream_->context, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left) != 0) return Fail(NoMemory(left));
    if (Status status = Put(Bytes(out_).first(out.pos)); !status) return status;
    if (end ? left == 0 : in.pos == in.size) return {};
  }
}

Status FrameWriter::Write(Bytes bytes) {
  while (!bytes.empty()) {
    const uint64_t room = kFrame - (unpacked_ - frame_unpacked_);
    const Bytes part = bytes.first(std::min<uint64_t>(room, bytes.size()));
    if (Status status = Compress(part, false); !status) return status;
    unpacked_ += part.size();
    bytes = bytes.subspan(part.size());
    if (part.size() < room) continue;
    if (Status status = EndFrame(); !status) return status;
  }
  return {};
}

Status FrameWriter::EndFrame() {
  if (unpacked_ == frame_unpacked_) return {};
  if (Status status = Compress({}, true); !status) return status;
  frames_.push_back({static_cast<uint32_t>(packed_ - frame_packed_),
                     static_cast<uint32_t>(unpacked_ - frame_unpacked_)});
  frame_packed_ = packed_;
  frame_unpacked_ = unpacked_;
  return {};
}

Status FrameWriter::Finish() {
  if (Status status = EndFrame(); !status) return status;
  constexpr uint32_t kEntry = 8, kFooter = 9;
  std::vector<uint8_t> table;
  AppendWord(table, kSkippableMagic);
  AppendWord(table, static_cast<uint32_t>(frames_.size()) * kEntry + kFooter);
  for (const Frame& frame : frames_) {
    AppendWord(table, frame.packed);
    AppendWord(table, frame.unpacked);
  }
  AppendWord(table, static_cast<uint32_t>(frames_.size()));
  table.push_back(0);  // descriptor: the table has no checksums, the frames have
  AppendWord(table, kSeekableMagic);
  return Put(table);
}

}  // namespace flowback::bundle
