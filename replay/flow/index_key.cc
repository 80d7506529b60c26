// SPDX-License-Identifier: MIT
#include "replay/flow/index_key.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/hex.h"
#include "base/mapped_file.h"
#include "base/number_bytes.h"
#include "decode/code/cache/disk_cache.h"
#include "decode/code/cache/file_numbers.h"

namespace flowback {
namespace {

class KeyMaker {
 public:
  void Number(uint64_t number) { numbers_.Number(number); }
  void Text(const std::string& text) {
    numbers_.Block({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // However the caller spelled it.
  void Path(const std::string& path) {
    std::error_code ignored;
    Text(path.empty() ? path : std::filesystem::weakly_canonical(path, ignored).string());
  }
  bool Files(const std::vector<std::shared_ptr<const MappedFile>>& files) {
    numbers_.Number(files.size());
    for (const auto& file : files) {
      if (!PutFile(numbers_, file->path())) return false;
      PutContent(numbers_, file->bytes());
    }
    return true;
  }
  void Stay(const ThreadStay* stay) {
    if (stay == nullptr) return Number(0);
    for (const uint64_t number : {uint64_t{1}, stay->begin, stay->end, stay->begin_tsc,
                                  stay->end_tsc, static_cast<uint64_t>(stay->tid)})
      Number(number);
  }
  void Settings(const Recording& recording, const TraceSource& source) {
    const std::vector<uint64_t> settings = source.SettingNumbers();
    Number(settings.size());
    for (const uint64_t number : settings) Number(number);
    const TimeConversion& time = recording.time;
    for (const uint64_t number :
         {uint64_t{time.shift}, uint64_t{time.mult}, time.zero, Optional(recording.levels.user),
          Optional(recording.levels.kernel)})
      Number(number);
  }
  void Input(const DecodeInput& input) {
    Number(input.bytes.size());
    Number(input.from);
    Number(static_cast<uint64_t>(input.resync));
    Number(input.gaps.size());
    for (const StreamGap& gap : input.gaps) Number(gap.offset);
    Number(input.changes.size());
    for (const StayChange& change : input.changes) {
      Number(change.offset);
      Stay(change.stay);
    }
  }
  std::string Name() {
    const std::vector<uint8_t> all = numbers_.Take();
    return "flow-" + Hex(ContentHash(all)).substr(2) + "-" + Hex(ContentHash(all, 1)).substr(2);
  }

 private:
  template <class T>
  static uint64_t Optional(const std::optional<T>& of) {
    return of ? uint64_t{*of} + 1 : 0;
  }

  NumberWriter numbers_;
};

// Its bytes are not a file's.
bool IsOfThisBoot(CodeSource source) {
  return source == CodeSource::kKernelCore || source == CodeSource::kOwnVdso;
}

bool Images(const std::vector<ImageStatus>& images, KeyMaker& key) {
  key.Number(images.size());
  for (const ImageStatus& image : images) {
    if (image.usable && IsOfThisBoot(image.source)) return false;
    key.Text(image.path);
    key.Path(image.file);
    key.Text(image.found.ToHex());
    key.Number(static_cast<uint64_t>(image.source) << 1 | uint64_t{image.usable});
  }
  return true;
}

}  // namespace

std::string IndexKey(const Recording& recording, const RecordingCode& code,
                     const StreamInputs& inputs, const FlowIndex::Options& options) {
  KeyMaker key;
  key.Number(options.times);
  key.Number(options.segment_bytes);
  key.Number(options.sample);
  key.Text(recording.source);
  key.Settings(recording, inputs.source());
  if (recording.files.empty() || !key.Files(recording.files) || !key.Files(code.files()) ||
      !Images(code.images(), key))
    return {};
  for (const Stream& stream : recording.streams) {
    key.Input(inputs.For(stream));
  }
  for (const SectionSpec& section : recording.sections) {
    key.Path(section.file);
    for (const uint64_t number : {section.offset, section.size, section.address})
      key.Number(number);
  }
  for (const ImageSpec& image : recording.images) {
    key.Path(image.file);
    key.Number(image.load_address.value_or(~uint64_t{0}));
  }
  return key.Name();
}

}  // namespace flowback
