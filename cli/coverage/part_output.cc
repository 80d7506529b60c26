// SPDX-License-Identifier: MIT
#include "cli/coverage/part_output.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "cli/text/output.h"
#include "replay/coverage/coverage_parts.h"

namespace flowback::cli {

namespace {

// Whether the path names a file, or nothing yet; else bytes go where it leads, as to a pipe.
bool IsForAFile(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  return !path.empty() && path != "-" &&
         (kind == std::filesystem::file_type::regular ||
          kind == std::filesystem::file_type::not_found);
}

Status CheckIsPartFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) ||
      std::filesystem::file_size(path, ignored) == 0 || LooksLikePart(path))
    return {};
  return Fail(Error(ErrorCode::kUsage, path + ": holds something else than a part of coverage")
                  .Remedy("name a new file, or remove that one first"));
}

Status WriteTo(const std::string& path, const std::vector<uint8_t>& bytes) {
  Result<Output> output = Output::Open(path);
  if (!output) return Fail(output.error());
  output->Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return output->Finish();
}

// Replaces the file so that a reader finds the old part or the new one at any time, even after a
// crash.
Status Replace(const std::string& path, const std::vector<uint8_t>& bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);  // links lead where they led
  const std::string beside = target.string() + ".new-" + std::to_string(getpid());
  const fs::file_status old = fs::status(target, error);
  Status written = WriteTo(beside, bytes);
  if (written) {
    if (fs::exists(old)) fs::permissions(beside, old.permissions(), error);
    fs::rename(beside, target, error);
    if (!error) return {};
    written = Fail(Error(ErrorCode::kSystem, path + ": can't be replaced: " + error.message())
                       .Remedy("name a file in an existing folder that you may write to"));
  }
  fs::remove(beside, error);
  return written;
}

}  // namespace

Status WritePart(const CoverageCounts& counts, const std::string& path) {
  if (Status checked = CheckIsPartFile(path); !checked) return checked;
  const std::vector<uint8_t> bytes = PartToBytes(counts);
  return IsForAFile(path) ? Replace(path, bytes) : WriteTo(path, bytes);
}

}  // namespace flowback::cli
