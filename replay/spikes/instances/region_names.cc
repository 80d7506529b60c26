// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/region_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "flowback/replay/object_image.h"
#include "replay/coverage/code_flow.h"
#include "replay/coverage/code_outline.h"
#include "replay/coverage/register_values.h"
#include "replay/symbols/elf/symbol_file.h"

namespace flowback {
namespace {

// Registers of the first two arguments, by the System V ABI and the procedure call standard.
constexpr std::array<uint8_t, 2> kX86Arguments = {7, 6};  // RDI, RSI
constexpr std::array<uint8_t, 2> kAArch64Arguments = {0, 1};

std::optional<uint8_t> RegisterOf(unsigned number, CodeMode mode) {
  if (number >= kX86Arguments.size()) return std::nullopt;
  if (mode == CodeMode::kX86_64) return kX86Arguments[number];
  if (mode == CodeMode::kAArch64) return kAArch64Arguments[number];
  return std::nullopt;
}

}  // namespace

// One file's code, followed from the functions that were asked about.
class RegionNames::File {
 public:
  explicit File(ObjectImage image)
      : image_(std::move(image)),
        outline_(CodeOutline::Of(image_, ImageSearch())),
        flow_(image_, outline_) {}

  std::optional<std::string> Argument(uint64_t function_offset, uint64_t return_offset,
                                      unsigned number) {
    const auto entry = image_.AddressOf(function_offset);
    const auto behind = image_.AddressOf(return_offset);
    const auto reg = RegisterOf(number, image_.mode());
    if (!entry || !behind || !reg) return std::nullopt;
    if (!flow_.IsInstruction(*entry)) Follow(*entry);
    const uint64_t call = values_.Before(*behind);
    if (call == 0) return std::nullopt;
    const auto address = values_.Constant(*reg, call);
    return address ? StringAt(*address) : std::nullopt;
  }

 private:
  void Follow(uint64_t entry) {
    flow_.Follow(entry);
    jumps_ = flow_.jumps();
    std::ranges::sort(jumps_);
  }

  std::optional<std::string> StringAt(uint64_t address) const {
    constexpr size_t kLongest = 255;
    const auto offset =
        outline_.file == nullptr ? std::nullopt : outline_.file->FileOffset(address);
    if (!offset || *offset >= outline_.file->bytes().size()) return std::nullopt;
    const Bytes rest = outline_.file->bytes().subspan(*offset);
    const Bytes near = rest.first(std::min(rest.size(), kLongest + 1));
    const auto end = std::ranges::find(near, 0);
    if (end == near.end()) return std::nullopt;
    return std::string(near.begin(), end);
  }

  ObjectImage image_;
  CodeOutline outline_;
  CodeFlow flow_;
  std::vector<CodeFlow::Jump> jumps_;  // sorted
  RegisterValues values_{flow_, jumps_};
};

RegionNames::RegionNames(FunctionFinder& functions) : functions_(functions) {}
RegionNames::~RegionNames() = default;

const std::optional<std::string>& RegionNames::Argument(const AddressSpace* space,
                                                        uint64_t return_address, unsigned number) {
  const auto [known, added] = known_.try_emplace({{space, return_address}, number});
  if (added) known->second = Read(space, return_address, number);
  return known->second;
}

std::optional<std::string> RegionNames::Read(const AddressSpace* space, uint64_t return_address,
                                             unsigned number) {
  const CodeMapping* const mapping = space == nullptr ? nullptr : space->Find(return_address - 1);
  if (mapping == nullptr) return std::nullopt;
  const FunctionPiece function = functions_.Find(space, return_address - 1);
  File* const file = FileOf(*mapping);
  if (function.end == 0 || file == nullptr) return std::nullopt;
  const uint64_t base = mapping->FileBase();
  return file->Argument(function.begin - base, return_address - base, number);
}

RegionNames::File* RegionNames::FileOf(const CodeMapping& mapping) {
  const std::string& path = mapping.section->name();
  const auto [known, added] = files_.try_emplace(path);
  if (!added) return known->second.get();
  ObjectId id;
  id.path = path;
  Result<ObjectImage> image = ObjectImage::Open(id, path);
  if (image) known->second = std::make_unique<File>(*std::move(image));
  return known->second.get();
}

}  // namespace flowback
