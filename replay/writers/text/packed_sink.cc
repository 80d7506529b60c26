// SPDX-License-Identifier: MIT
#include "replay/writers/text/packed_sink.h"

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <string>

namespace flowback {

std::optional<Packing> PackingOf(std::string_view file_name) {
  if (file_name.ends_with(".gz")) return Packing::kGzip;
  if (file_name.ends_with(".zst")) return Packing::kZstd;
  return std::nullopt;
}

class PackedSink::Packer {
 public:
  virtual ~Packer() = default;
  // Appends the packed text; `is_last`: and the end.
  virtual void Pack(std::string_view text, bool is_last, std::string& out) = 0;

 protected:
  std::array<char, size_t{64} << 10> room_;
};

class PackedSink::Gzip final : public Packer {
 public:
  Gzip() {
    constexpr int kGzipHeader = 16;  // added to the window's bits
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipHeader,
                     kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() override { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void Pack(std::string_view text, bool is_last, std::string& out) override {
    constexpr size_t kStep = size_t{1} << 30;  // its counts are of 32 bits
    do {
      const std::string_view step = text.substr(0, kStep);
      text.remove_prefix(step.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(step.data()));
      stream_.avail_in = static_cast<uInt>(step.size());
      Drain(is_last && text.empty() ? Z_FINISH : Z_NO_FLUSH, out);
    } while (!text.empty());
  }

 private:
  void Drain(int flush, std::string& out) {
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      deflate(&stream_, flush);
      out.append(room_.data(), room_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

class PackedSink::Zstd final : public Packer {
 public:
  Zstd() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~Zstd() override { ZSTD_freeCCtx(context_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  void Pack(std::string_view text, bool is_last, std::string& out) override {
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    size_t remaining = 0;
    do {
      ZSTD_outBuffer packed{room_.data(), room_.size(), 0};
      remaining =
          ZSTD_compressStream2(context_, &packed, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      out.append(room_.data(), packed.pos);
    } while (!ZSTD_isError(remaining) && (in.pos < in.size || (is_last && remaining != 0)));
  }

 private:
  ZSTD_CCtx* context_;
};

PackedSink::PackedSink(Packing packing, TextSink& next) : next_(next) {
  if (packing == Packing::kGzip)
    packer_ = std::make_unique<Gzip>();
  else
    packer_ = std::make_unique<Zstd>();
}

PackedSink::~PackedSink() = default;

void PackedSink::Take(std::string_view more) {
  packer_->Pack(buffer(), false, next_.buffer());
  packer_->Pack(more, false, next_.buffer());
  next_.Commit();
  set_closed(next_.closed());
  Taken();
}

void PackedSink::Finish() {
  Flush();
  packer_->Pack({}, true, next_.buffer());
  next_.Commit();
  set_closed(next_.closed());
}

}  // namespace flowback
