// SPDX-License-Identifier: MIT
#include "cli/coverage/part_output.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "cli/text/output.h"
#include "flowback/replay/coverage_parts.h"

namespace flowback::cli {

Status WritePart(const CoverageCounts& counts, const std::string& path) {
  std::error_code ignored;
  const auto check = [&](const std::string& opened) -> Status {
    if (!std::filesystem::is_regular_file(opened, ignored) ||
        std::filesystem::file_size(opened, ignored) == 0 || LooksLikePart(path))
      return {};
    return Fail(Error(ErrorCode::kUsage, path + ": holds something else than a part of coverage")
                    .Remedy("name a new file, or remove that one first"));
  };
  Result<Output> output = Output::Open(path, check);
  if (!output) return Fail(output.error());
  const std::vector<uint8_t> bytes = PartToBytes(counts);
  output->Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return output->Finish();
}

// What comes through a pipe can be read once only, so it is not looked at.
bool LooksLikePart(const std::string& path) {
  constexpr std::string_view kBegin = "flowback-coverage ";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  char head[kBegin.size()] = {};
  file.read(head, sizeof head);
  return std::string_view(head, sizeof head) == kBegin;
}

}  // namespace flowback::cli
