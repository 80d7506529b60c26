// SPDX-License-Identifier: MIT
#include "tests/capture/temporary_file.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace flowback::support {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "flowback-XXXXXX").string();
  if (!mkdtemp(name.data())) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::Write(const std::string& name,
                                   const std::vector<uint8_t>& bytes) const {
  return Write(name, std::string(bytes.begin(), bytes.end()));
}

std::string TemporaryFolder::Write(const std::string& name, const std::string& text) const {
  const std::filesystem::path file = path_ / name;
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

Result<Recording> ReadBytes(const std::vector<uint8_t>& bytes) {
  const std::shared_ptr<uint8_t[]> block(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), block.get());
  Candidate candidate;
  candidate.path = "test.data";
  candidate.bytes = Bytes(block.get(), bytes.size());
  candidate.owner = block;
  auto recording = ReadCandidate(candidate);
  if (!recording) return recording;
  KeepWholeStreams(*recording);
  recording->storage.push_back(block);
  return recording;
}

bool Warns(const Recording& recording, const std::string& text) {
  return std::any_of(recording.warnings.begin(), recording.warnings.end(),
                     [&](const Warning& w) { return w.text.contains(text); });
}

}  // namespace flowback::support
