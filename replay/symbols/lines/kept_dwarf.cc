// SPDX-License-Identifier: MIT
#include "replay/symbols/lines/kept_dwarf.h"

#include <utility>

#include "base/hex.h"
#include "base/number_bytes.h"
#include "base/own_build.h"
#include "decode/code/cache/file_numbers.h"
#include "replay/symbols/lines/dwarf_wire.h"

namespace flowback::symbols {
namespace {

constexpr uint64_t kPart = 8;  // of the cache, that one file's lines may take

// Empty: it is no file that could be found again.
std::string NameOf(const DwarfRequest& request, Bytes bytes) {
  NumberWriter key;
  const std::string reader = DwarfClient::Program();
  if (OwnBuild() == 0 || !PutFile(key, request.path) || !PutFile(key, reader)) return {};
  for (const std::string& text : {request.path, reader})
    key.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  PutContent(key, bytes);
  return "lines-" + Hex(ContentHash(key.bytes())).substr(2) + "-" +
         Hex(ContentHash(key.bytes(), 1)).substr(2);
}

std::string_view KeptText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::unique_ptr<KeptDwarf> KeptDwarf::Open(DwarfRequest request, const SymbolFile& file,
                                           const DiskCacheSettings& cache, std::string& problem) {
  std::unique_ptr<KeptDwarf> dwarf(new KeptDwarf(std::move(request), cache));
  if (!cache.folder.empty()) dwarf->name_ = NameOf(dwarf->request_, file.bytes());
  if (dwarf->Load()) return dwarf;
  dwarf->client_ = DwarfClient::Open(dwarf->request_, problem);
  if (dwarf->client_ == nullptr) return nullptr;
  dwarf->units_ = dwarf->client_->units();
  return dwarf;
}

bool KeptDwarf::Load() {
  if (name_.empty()) return false;
  kept_ = DiskCache(cache_, OwnBuild()).Load(name_);
  if (kept_ == nullptr) return false;
  WireReader reader(KeptText(kept_->content()));
  reader.Get(units_);
  for (uint64_t left = reader.Get<uint64_t>(); left != 0 && reader.complete(); --left) {
    const auto number = reader.Get<uint32_t>();
    const auto unit = reader.Get<std::string_view>();
    read_[number] = unit;
    bytes_ += unit.size();
  }
  if (reader.complete()) return true;
  units_.clear();
  read_.clear();
  return false;
}

DwarfClient* KeptDwarf::Reader() {
  if (client_ == nullptr && problem_.empty()) client_ = DwarfClient::Open(request_, problem_);
  return client_.get();
}

UnitInfo KeptDwarf::ReadUnit(uint32_t number) {
  UnitInfo info;
  if (const auto known = read_.find(number); known != read_.end()) {
    WireReader reader(known->second);
    reader.Get(info);
    return reader.complete() ? info : UnitInfo();
  }
  if (Reader() == nullptr) return info;
  info = client_->ReadUnit(number);
  Note(number, info);
  return info;
}

void KeptDwarf::Note(uint32_t number, const UnitInfo& info) {
  if (name_.empty() || info.is_split || bytes_ > cache_.most_bytes / kPart) return;
  WireWriter writer;
  writer.Put(info);
  new_.push_back(writer.bytes());
  read_[number] = new_.back();
  bytes_ += new_.back().size();
}

bool KeptDwarf::HasMd5(const std::string& path, const std::array<uint8_t, 16>& md5) {
  return Reader() != nullptr && client_->HasMd5(path, md5);
}

std::vector<std::string> KeptDwarf::problems() const {
  if (client_ != nullptr) return client_->problems();
  return problem_.empty() ? std::vector<std::string>() : std::vector{problem_};
}

// The file may have become another one since its name was made.
void KeptDwarf::Keep() {
  if (new_.empty() || bytes_ > cache_.most_bytes / kPart || !problems().empty()) return;
  const auto file = SymbolFile::Open(request_.path);
  if (file == nullptr || NameOf(request_, file->bytes()) != name_) return;
  WireWriter writer;
  writer.Put(units_);
  writer.Put<uint64_t>(read_.size());
  for (const auto& [number, unit] : read_) {
    writer.Put(number);
    writer.Put(unit);
  }
  const std::string& bytes = writer.bytes();
  const DiskCache disk(cache_, OwnBuild());
  if (disk.Store(name_, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}))
    disk.Trim();
}

}  // namespace flowback::symbols
