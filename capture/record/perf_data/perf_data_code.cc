// SPDX-License-Identifier: MIT
// Code in a perf.data recording: what was in no file is put into one that the records name.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "capture/record/perf_data/perf_data_writer.h"

namespace flowback::record {
namespace {

// Beside the recording; where that goes to standard output, as beside perf.data.
std::string CodePath(const std::string& output) {
  std::error_code ignored;
  return std::filesystem::absolute(CodePathOf(output == "-" ? "perf.data" : output), ignored)
      .string();
}

}  // namespace

Status PerfDataWriter::AddCode(const MemoryCode& code) {
  if (code.time == 0) return {};
  if (!code_file_) {
    const std::string path = CodePath(file_.path());
    // The older file belongs to a recording that is gone, or to a pipe.
    if (auto kept = KeepOlderFile(path); !kept) return Fail(std::move(kept.error()));
    auto made =
        CodeFile::Create(path, ModeOfMachine(facts_.architecture).value_or(CodeMode::kX86_64));
    if (!made) return Fail(std::move(made.error()));
    code_file_.emplace(std::move(*made));
  }
  const auto offset = code_file_->Add(code.bytes);
  if (!offset) return Fail(offset.error());
  MmapRecord map;
  map.time = code.time;
  map.pid = code.pid;
  map.tid = code.tid;
  map.address = code.address;
  map.size = code.bytes.size();
  map.file_offset = *offset;
  map.path = code_file_->path();
  map.build_id = code_file_->build_id();
  return AddSideband(map);
}

void PerfDataWriter::NoteBuildId(const MmapRecord& record) {
  // perf looks for what it finds here in its cache of files only, which lacks our vDSO; it takes
  // its own when only the mapping names it.
  if (record.build_id.empty() || record.path == "[vdso]") return;
  const bool known = std::any_of(build_ids_.begin(), build_ids_.end(), [&](const MmapRecord& old) {
    return old.path == record.path && old.build_id == record.build_id;
  });
  if (!known) build_ids_.push_back(record);
}

}  // namespace flowback::record
