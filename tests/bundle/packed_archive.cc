// SPDX-License-Identifier: MIT
#include "tests/bundle/packed_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <stdexcept>

namespace flowback::test {
namespace {

la_ssize_t Take(archive*, void* to, const void* bytes, size_t size) {
  auto& out = *static_cast<std::vector<uint8_t>*>(to);
  const auto* begin = static_cast<const uint8_t*>(bytes);
  out.insert(out.end(), begin, begin + size);
  return static_cast<la_ssize_t>(size);
}

void Write(archive* writer, const ArchivedFile& file) {
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, file.name.c_str());
  archive_entry_set_filetype(entry, file.type);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_size(entry, static_cast<la_int64_t>(file.content.size() + file.hole));
  if (file.hole != 0)
    archive_entry_sparse_add_entry(entry, 0, static_cast<la_int64_t>(file.content.size()));
  if (!file.link.empty()) archive_entry_set_symlink(entry, file.link.c_str());
  if (!file.hardlink.empty()) archive_entry_set_hardlink(entry, file.hardlink.c_str());
  if (archive_write_header(writer, entry) < ARCHIVE_WARN)
    throw std::runtime_error(archive_error_string(writer));
  archive_write_data(writer, file.content.data(), file.content.size());
  archive_entry_free(entry);
}

}  // namespace

std::vector<uint8_t> Archived(const std::vector<ArchivedFile>& files) {
  std::vector<uint8_t> out;
  archive* const writer = archive_write_new();
  archive_write_set_format_pax_restricted(writer);
  archive_write_set_bytes_per_block(writer, 0);
  archive_write_open(writer, &out, nullptr, Take, nullptr);
  for (const ArchivedFile& file : files) Write(writer, file);
  archive_write_close(writer);
  archive_write_free(writer);
  return out;
}

std::vector<uint8_t> Compressed(const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> out(ZSTD_compressBound(bytes.size()));
  constexpr int kLevel = 3;
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return out;
}

}  // namespace flowback::test
