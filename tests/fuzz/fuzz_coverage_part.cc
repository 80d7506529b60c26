// SPDX-License-Identifier: MIT
// Arbitrary bytes as a part of coverage: an error that says something, or counts that are written
// and read again as they are. The checksum is made right, so that what is behind it is reached.
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "decode/code/images/kept_images.h"
#include "replay/coverage/coverage_parts.h"

namespace {

constexpr std::string_view kHead = "flowback-coverage 1\n";

void Check(bool holds) {
  if (!holds) std::abort();
}

void TryPart(const std::vector<uint8_t>& part) {
  const flowback::Result<flowback::CoverageCounts> counts = flowback::PartFromBytes(part, "x");
  if (!counts) return Check(!counts.error().message().empty() && !counts.error().remedy().empty());
  flowback::CoverageCounts sum;
  sum.Add(*counts);
  Check(sum == *counts);
  const auto again = flowback::PartFromBytes(flowback::PartToBytes(sum), "x");
  Check(again.has_value() && *again == sum);
  sum.Add(*counts);
  Check(sum.objects.size() == counts->objects.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TryPart({data, data + size});
  std::vector<uint8_t> sealed(kHead.begin(), kHead.end());
  sealed.insert(sealed.end(), data, data + size);
  const uint64_t hash = flowback::ImageHash::Of(sealed);
  for (unsigned i = 0; i < 8; ++i) sealed.push_back(static_cast<uint8_t>(hash >> (8 * i)));
  TryPart(sealed);
  return 0;
}
