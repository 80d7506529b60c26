// SPDX-License-Identifier: MIT
#include "replay/writers/text/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

namespace flowback {
namespace {

constexpr size_t kBlock = 512;

class TarHeader {
 public:
  TarHeader(std::string_view name, uint64_t size) : bytes_(kBlock, '\0') {
    Put(0, name);
    Put(100, "0000644");
    Put(108, "0000000");  // owner and group
    Put(116, "0000000");
    PutSize(size);
    Put(136, "00000000000");  // time: the same input gives the same archive
    Put(156, "0");            // a file
    Put(257, std::string_view("ustar\00000", 8));
    Put(148, "        ");
    const auto sum =
        std::accumulate(bytes_.begin(), bytes_.end(), uint32_t{0},
                        [](uint32_t before, unsigned char each) { return before + each; });
    Put(148, fmt::format("{:06o}", sum));
    bytes_[154] = '\0';
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Put(size_t at, std::string_view text) {
    std::ranges::copy(text, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // Octal digits end at 8 GiB. GNU's tar and bsdtar read larger sizes in binary form, the highest
  // byte first, behind a byte with its highest bit set.
  void PutSize(uint64_t size) {
    constexpr size_t kAt = 124;
    constexpr size_t kBytes = 12;
    if (size >> 33 == 0) return Put(kAt, fmt::format("{:011o}", size));
    bytes_[kAt] = '\x80';
    for (size_t i = 0; i < sizeof(size); ++i)
      bytes_[kAt + kBytes - 1 - i] = static_cast<char>(size >> (8 * i));
  }

  std::string bytes_;
};

}  // namespace

Status AddToArchive(std::string_view name, SpooledText& text, TextSink& sink) {
  constexpr size_t kMostName = 99;
  const uint64_t size = text.size();
  sink.Write(TarHeader(name.substr(0, kMostName), size).bytes());
  const Status status = text.MoveTo(sink);
  sink.Write(std::string((kBlock - size % kBlock) % kBlock, '\0'));
  return status;
}

void EndArchive(TextSink& sink) { sink.Write(std::string(2 * kBlock, '\0')); }

}  // namespace flowback
