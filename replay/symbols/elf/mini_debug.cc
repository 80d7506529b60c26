// SPDX-License-Identifier: MIT
#include "replay/symbols/elf/mini_debug.h"

#include <lzma.h>

#include <algorithm>
#include <utility>

namespace flowback::symbols {
namespace {

constexpr uint64_t kMostPerByte = 64;  // tables of symbols unpack to some five times their size
constexpr uint64_t kFree = uint64_t{1} << 20;
constexpr uint64_t kMostUnpacked = uint64_t{256} << 20;
constexpr uint64_t kMostForDecoder = uint64_t{128} << 20;  // xz -9 asks for 65 MB

class XzDecoder {
 public:
  XzDecoder() : ready_(lzma_stream_decoder(&stream_, kMostForDecoder, 0) == LZMA_OK) {}
  ~XzDecoder() { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  // Empty where `packed` is damaged, cut, or unpacks to more than `most` bytes.
  std::vector<uint8_t> Unpack(Bytes packed, uint64_t most) {
    constexpr uint64_t kFirst = 64 << 10;
    std::vector<uint8_t> bytes;
    stream_.next_in = packed.data();
    stream_.avail_in = packed.size();
    for (lzma_ret state = ready_ ? LZMA_OK : LZMA_PROG_ERROR; state != LZMA_STREAM_END;) {
      if (state != LZMA_OK || bytes.size() >= most) return {};
      const size_t before = bytes.size();
      bytes.resize(std::min(most, std::max<uint64_t>(kFirst, 2 * before)));
      stream_.next_out = bytes.data() + before;
      stream_.avail_out = bytes.size() - before;
      state = lzma_code(&stream_, LZMA_FINISH);
      bytes.resize(bytes.size() - stream_.avail_out);
    }
    return bytes;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_;
};

}  // namespace

std::unique_ptr<SymbolFile> OpenMiniDebug(const SymbolFile& file) {
  const FileSection* section = file.Find(".gnu_debugdata");
  if (section == nullptr) return nullptr;
  const Bytes packed = file.Contents(*section);
  if (packed.empty()) return nullptr;
  const uint64_t most = std::min(kMostUnpacked, kFree + kMostPerByte * packed.size());
  auto bytes = std::make_shared<const std::vector<uint8_t>>(XzDecoder().Unpack(packed, most));
  const Bytes content(bytes->data(), bytes->size());
  return SymbolFile::Open(file.path(), content, std::move(bytes));
}

}  // namespace flowback::symbols
