// SPDX-License-Identifier: MIT
#include "capture/record/output/raw_writer.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/hex.h"

namespace flowback::record {
namespace {

std::string StreamName(uint32_t index) { return "pt-" + std::to_string(index) + ".bin"; }

// For a shell: in single quotes.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string TimingOptions(const RecordOptions& options, const TraceClock& clock) {
  std::string text;
  if (options.packets.timestamps && options.packets.mtc_shift)
    text += " --tsc-ctc " + std::to_string(clock.tsc_per_crystal_tick()) + "/1 --mtc-freq " +
            std::to_string(*options.packets.mtc_shift);
  if (!text.empty() || options.packets.cyc_threshold)
    text += " --nominal-freq " + std::to_string(clock.nominal_ratio());
  return text;
}

}  // namespace

Result<std::unique_ptr<RawWriter>> RawWriter::Create(const RecordOptions& options,
                                                     const TraceClock& clock, std::string cpu) {
  std::error_code error;
  std::filesystem::create_directories(options.files.raw_directory, error);
  if (error)
    return Fail(
        Error(error == std::errc::permission_denied ? ErrorCode::kPermission : ErrorCode::kSystem,
              "can't make the folder '" + options.files.raw_directory + "': " + error.message())
            .Remedy("give another folder"));
  return std::unique_ptr<RawWriter>(
      new RawWriter(options, TimingOptions(options, clock), std::move(cpu)));
}

Status RawWriter::AddStream(const RecordedStream& stream) {
  auto file = OutputFile::Create(PathOf(StreamName(stream.index)));
  if (!file) return Fail(std::move(file.error()));
  streams_.push_back(std::move(*file));
  return {};
}

Status RawWriter::AddSideband(const SidebandRecord& record) {
  const auto* map = std::get_if<MmapRecord>(&record);
  if (map == nullptr) return {};
  // Code in no file comes through AddCode.
  if (!map->path.starts_with('/') || map->path.starts_with("//")) return {};
  // The last page goes on behind the file's end, with zeros.
  std::error_code error;
  const uint64_t file_size = std::filesystem::file_size(map->path, error);
  const uint64_t size = error || file_size <= map->file_offset
                            ? 0
                            : std::min(map->size, file_size - map->file_offset);
  if (size != 0)
    code_.push_back({map->path, map->path, map->file_offset, size, map->address, map->time, 1});
  return {};
}

Status RawWriter::AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t) {
  return streams_[stream.index].Write(bytes);
}

Status RawWriter::AddCode(const MemoryCode& code) {
  const unsigned version = ++versions_[code.address];
  const std::string name = "code-" + Hex(code.address);
  const std::string path = PathOf(version == 1 ? name : name + "." + std::to_string(version));
  auto file = OutputFile::Create(path);
  if (!file) return Fail(std::move(file.error()));
  code_.push_back({path, code.name, 0, code.bytes.size(), code.address, code.time, version});
  return file->Write(code.bytes);
}

Status RawWriter::WriteText(const std::string& name, const std::string& text) const {
  auto file = OutputFile::Create(PathOf(name));
  if (!file) return Fail(std::move(file.error()));
  return file->Write(text);
}

std::string RawWriter::MapsText() const {
  std::string text = "# address\tsize\tfile offset\tfile\trecorded as\ttime in ns (0: not known)\n";
  for (const auto& line : code_)
    text += Hex(line.address) + '\t' + Hex(line.size) + '\t' + Hex(line.offset) + '\t' + line.file +
            '\t' + line.recorded + '\t' + std::to_string(line.time) + '\n';
  return text;
}

std::string RawWriter::CommandText() const {
  std::string text =
      "# Files are read from their own paths, as they are now: keep those that ran.\n"
      "flowback decode --as digest --cpu " +
      cpu_ + timing_;
  for (const auto& stream : streams_) text += " \\\n  --raw-pt " + Quoted(stream.path());
  // Raw streams are read with one state of the code.
  for (const auto& line : code_)
    if (line.version == 1)
      text += " \\\n  --section " + Quoted(line.file + ":" + Hex(line.offset) + ":" +
                                           Hex(line.size) + ":" + Hex(line.address));
  return text + "\n";
}

Status RawWriter::Finish(const RecordSummary& summary) {
  std::string digests = "# stream\tpid\ttid\tinstructions\tdigest\n";
  for (size_t i = 0; i < summary.threads.size(); ++i) {
    const RecordedThread& thread = summary.threads[i];
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016" PRIx64, thread.digest.hash);
    digests += std::to_string(i) + '\t' + std::to_string(thread.pid) + '\t' +
               std::to_string(thread.tid) + '\t' + std::to_string(thread.digest.count) + '\t' +
               hash + '\n';
  }
  if (auto written = WriteText("digests.tsv", digests); !written) return written;
  if (auto written = WriteText("maps.txt", MapsText()); !written) return written;
  return WriteText("command.txt", CommandText());
}

}  // namespace flowback::record
