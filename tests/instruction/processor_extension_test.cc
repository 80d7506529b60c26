// SPDX-License-Identifier: MIT
#include "decode/instruction/processor_extension.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flowback {
namespace {

struct ExtensionCase {
  const char* text;
  std::vector<uint8_t> code;
  std::string extension;
};

// The codes are those of an assembler.
TEST(ProcessorExtension, IsToldByTheOpcode) {
  const ExtensionCase cases[] = {
      {"vpxorq zmm0, zmm0, zmm0", {0x62, 0xf1, 0xfd, 0x48, 0xef, 0xc0}, "AVX-512"},
      {"vaddpd xmm16, xmm0, xmm1", {0x62, 0xe1, 0xfd, 0x08, 0x58, 0xc1}, "AVX-512"},
      {"tilerelease", {0xc4, 0xe2, 0x78, 0x49, 0xc0}, "AMX"},
      {"tdpbssd tmm0, tmm1, tmm2", {0xc4, 0xe2, 0x6b, 0x5e, 0xc1}, "AMX"},
      {"{vex} vpdpbusd ymm0, ymm1, ymm2", {0xc4, 0xe2, 0x75, 0x50, 0xc2}, "AVX-VNNI"},
      {"sha256rnds2 xmm0, xmm1", {0x0f, 0x38, 0xcb, 0xc1}, "SHA"},
      {"sha1rnds4 xmm0, xmm1, 1", {0x0f, 0x3a, 0xcc, 0xc1, 0x01}, "SHA"},
      {"gf2p8mulb xmm0, xmm1", {0x66, 0x0f, 0x38, 0xcf, 0xc1}, "GFNI"},
      {"vpclmulqdq ymm0, ymm1, ymm2, 0", {0xc4, 0xe3, 0x75, 0x44, 0xc2, 0x00}, "VPCLMULQDQ"},
      {"vpclmulqdq xmm0, xmm1, xmm2, 0", {0xc4, 0xe3, 0x71, 0x44, 0xc2, 0x00}, ""},
      {"vaesenc ymm0, ymm1, ymm2", {0xc4, 0xe2, 0x75, 0xdc, 0xc2}, ""},
      {"vaddpd ymm0, ymm1, ymm2", {0xc5, 0xf5, 0x58, 0xc2}, ""},
      {"vfmadd213pd ymm0, ymm1, ymm2", {0xc4, 0xe2, 0xf5, 0xa8, 0xc2}, ""},
      {"aesenc xmm0, xmm1", {0x66, 0x0f, 0x38, 0xdc, 0xc1}, ""},
      {"ud2", {0x0f, 0x0b}, ""},
      {"nop", {0x90}, ""},
  };
  for (const ExtensionCase& each : cases) {
    const auto found = ExtensionBeyondQemu(each.code, CodeMode::kX86_64);
    EXPECT_EQ(found ? found->name : "", each.extension) << each.text;
    EXPECT_FALSE(ExtensionBeyondQemu(each.code, CodeMode::kX86_32)) << each.text;
  }
}

}  // namespace
}  // namespace flowback
