// SPDX-License-Identifier: MIT
#include "decode/code/images/given_code.h"

#include "base/hex.h"

namespace flowback {
namespace {

bool Wraps(uint64_t address, uint64_t size) { return size != 0 && address + (size - 1) < address; }

std::string Describe(const SectionSpec& spec) {
  return "--section " + spec.file + ":" + Hex(spec.offset) + ":" + Hex(spec.size) + ":" +
         Hex(spec.address);
}

std::string Describe(const ImageSpec& spec) {
  return "--image " + spec.file + (spec.load_address ? "@" + Hex(*spec.load_address) : "");
}

// A file that can't be opened is an unreadable input, even where the system refused access: to the
// callers, kPermission means that tracing is not allowed.
Error OpenError(const Error& error, const std::string& doing, const char* remedy) {
  const bool refused = error.code() == ErrorCode::kPermission;
  return Error(ErrorCode::kUnreadable, error.message())
      .While("opening " + doing)
      .Remedy(refused ? "chmod +r the file, or run as its owner or with sudo" : remedy);
}

Status CheckSection(const SectionSpec& spec, uint64_t file_size) {
  if (spec.size == 0)
    return Fail(Error(ErrorCode::kUsage, Describe(spec) + ": a section of no bytes")
                    .Remedy("give the number of bytes to take from the file as SIZE"));
  if (Wraps(spec.address, spec.size))
    return Fail(
        Error(ErrorCode::kUsage, Describe(spec) + ": goes past the end of the address space")
            .Remedy("check ADDRESS: where in the traced process the section's first byte was"));
  if (spec.offset <= file_size && spec.size <= file_size - spec.offset) return {};
  const uint64_t most = spec.offset < file_size ? file_size - spec.offset : 0;
  return Fail(Error(ErrorCode::kUnreadable, Describe(spec) + ": the file has only " +
                                                Hex(file_size) + " bytes, so " + Hex(most) +
                                                " from offset " + Hex(spec.offset) + " on")
                  .At(spec.offset)
                  .Remedy(most == 0 ? "give an OFFSET inside the file"
                                    : "give a SIZE of at most " + Hex(most)));
}

Status CheckImage(const ImageSpec& spec, const ImageFile& file, std::string_view instruction_set) {
  if (!file.elf) {
    if (file.damage) return Fail(Error(*file.damage).While("opening " + Describe(spec)));
    return Fail(
        std::move(ReadElf(file.bytes, file.path).error()).While("opening " + Describe(spec)));
  }
  const ElfFile& elf = *file.elf;
  if (const std::string foreign = elf.WhyForeign(instruction_set); !foreign.empty())
    return Fail(Error(ErrorCode::kUnreadable, Describe(spec) + ": " + foreign)
                    .Remedy("name the file that the traced machine ran"));
  if (elf.promised_end != 0)
    return Fail(Error(ErrorCode::kUnreadable,
                      Describe(spec) +
                          ": cut short: its program headers promise code up to offset " +
                          Hex(elf.promised_end) + ", the file ends at " + Hex(file.bytes.size()))
                    .At(file.bytes.size())
                    .Remedy("get a complete copy, or name what is there with --section"));
  if (elf.code.empty() || elf.only_debug_info)
    return Fail(
        Error(ErrorCode::kUnreadable,
              Describe(spec) + (elf.only_debug_info ? ": holds debug information only, no code"
                                                    : ": no program header maps executable code"))
            .Remedy("name the program or library that was run"));
  return {};
}

}  // namespace

Result<CodeMapping> MapSection(const SectionSpec& spec, ImageStore& store) {
  auto file = store.Open(spec.file);
  if (!file)
    return Fail(OpenError(file.error(), Describe(spec),
                          "check FILE in --section FILE:OFFSET:SIZE:ADDRESS"));
  if (Status status = CheckSection(spec, (*file)->bytes.size()); !status)
    return Fail(std::move(status.error()));
  return store.MapRange(*file, spec.offset, spec.size, spec.address, Verification::kGiven);
}

Result<GivenImage> OpenImage(const ImageSpec& spec, ImageStore& store,
                             std::string_view instruction_set) {
  auto file = store.Open(spec.file);
  if (!file)
    return Fail(OpenError(file.error(), Describe(spec), "check FILE in --image FILE[@ADDRESS]"));
  if (Status status = CheckImage(spec, **file, instruction_set); !status)
    return Fail(std::move(status.error()));
  const ElfFile& elf = *(*file)->elf;
  GivenImage image{.file = *file, .mappings = {}, .has_address = spec.load_address.has_value()};
  const uint64_t base = spec.load_address.value_or(elf.first_page) - elf.first_page;
  for (const ElfSegment& segment : elf.code) {
    const uint64_t address = base + segment.address;
    if (Wraps(address, segment.size) || (elf.bits == 32 && address + segment.size > kEndOf32Bits))
      return Fail(Error(ErrorCode::kUsage, Describe(spec) + ": its code would lie at " +
                                               Hex(address) + ", past the end of the " +
                                               std::to_string(elf.bits) + "-bit address space")
                      .Remedy("check the address: that of the image's first loadable page"));
    image.mappings.push_back(
        store.MapFile(*file, segment.file_offset, segment.size, address, Verification::kGiven));
  }
  return image;
}

}  // namespace flowback
