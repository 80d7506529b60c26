// SPDX-License-Identifier: MIT
#include "replay/gdb/gdb_documents.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "replay/writers/text/xml.h"

namespace flowback::gdb {
namespace {

std::string_view NameOfFile(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string ThreadStateText(const MachineView& view, size_t thread) {
  const MachineThread at = view.machine().At(thread);
  std::string text = view.NameOf(thread, at);
  if (!text.empty()) text += ": ";
  if (at.state == ThreadState::kEnded)
    return text + (view.HasExited(at.tid) ? "has ended" : "executes no more") + ", time " +
           view.TimeText(at);
  if (at.state == ThreadState::kNotBegun) return text + "begins at time " + view.TimeText(at);
  text += fmt::format("#{}, time {}", at.number, view.TimeText(at));
  if (at.cpu >= 0) text += fmt::format(", CPU {}", at.cpu);
  return text;
}

std::string ThreadList(const MachineView& view, const std::function<std::string(size_t)>& id) {
  std::string text = "<?xml version=\"1.0\"?>\n<threads>\n";
  for (size_t thread = 0; thread < view.machine().size(); ++thread) {
    const MachineThread at = view.machine().At(thread);
    text += fmt::format("<thread id=\"{}\" name=\"{}\">{}</thread>\n", id(thread),
                        XmlProse(view.NameOf(thread, at)), XmlProse(ThreadStateText(view, thread)));
  }
  return text + "</threads>\n";
}

// gdb tells libraries apart by the address of the loader's record, which is not known: the number
// in the list stands for it.
std::string LibraryList(const MachineView& view) {
  std::string text = "<library-list-svr4 version=\"1.0\">\n";
  size_t number = 0;
  for (const LoadedImage& image : view.Images()) {
    ++number;
    // "[vdso]" and its like are no files.
    if (image.layout->is_program || view.session().RecordedPath(image.file).starts_with('['))
      continue;
    text += fmt::format(
        "<library name=\"{}\" lm=\"{:#x}\" l_addr=\"{:#x}\" l_ld=\"{:#x}\" lmid=\"0x1\"/>\n",
        XmlProse(view.session().RecordedPath(image.file)), number, image.bias,
        image.layout->dynamic == 0 ? 0 : image.bias + image.layout->dynamic);
  }
  return text + "</library-list-svr4>\n";
}

namespace {

// The image of the kernel's code in the process. Empty: it is not known.
std::optional<LoadedImage> KernelCodeOf(const MachineView& view) {
  for (const LoadedImage& image : view.Images())
    if (view.session().RecordedPath(image.file).starts_with("[vdso") &&
        !image.layout->segments.empty())
      return image;
  return std::nullopt;
}

uint64_t BeginOf(const LoadedImage& image) {
  constexpr uint64_t kPage = 4096;
  return (image.bias + image.layout->segments.front().address) / kPage * kPage;
}

}  // namespace

std::map<std::string, std::string> KernelFiles(const MachineView& view) {
  constexpr uint64_t kPage = 4096;
  const auto code = KernelCodeOf(view);
  if (!code) return {};
  const uint64_t begin = BeginOf(*code);
  const uint64_t size = (code->mapped->bytes().size() + kPage - 1) / kPage * kPage;
  const int64_t pid = view.NumberOf(view.machine().current()).pid;
  return {{fmt::format("/proc/{}/task/{}/maps", pid, pid),
           fmt::format("{:x}-{:x} r-xp 00000000 00:00 0 [vdso]\n", begin, begin + size)}};
}

std::string AuxiliaryVector(const MachineView& view, CodeMode mode) {
  enum : uint64_t {
    kEnd = 0,
    kHeaders = 3,
    kHeaderSize = 4,
    kHeaderCount = 5,
    kPage = 6,
    kBase = 7,
    kEntry = 9,
    kKernelCode = 33,
  };
  constexpr uint64_t kPageSize = 4096;
  const std::vector<LoadedImage> images = view.Images();
  std::vector<std::pair<uint64_t, uint64_t>> entries;
  std::string_view loader;
  for (const LoadedImage& image : images) {
    if (!image.layout->is_program) continue;
    loader = NameOfFile(image.layout->interpreter);
    entries = {{kHeaders, image.bias + image.layout->headers},
               {kHeaderSize, image.layout->header_size},
               {kHeaderCount, image.layout->header_count},
               {kPage, kPageSize},
               {kEntry, image.bias + image.layout->entry}};
    break;
  }
  if (entries.empty()) return {};
  for (const LoadedImage& image : images)
    if (!loader.empty() && NameOfFile(view.session().RecordedPath(image.file)) == loader)
      entries.emplace_back(kBase, image.bias);
  if (const auto code = KernelCodeOf(view)) entries.emplace_back(kKernelCode, BeginOf(*code));
  entries.emplace_back(kEnd, 0);
  std::string bytes;
  const size_t word = TraitsOf(mode).bits / 8;
  for (const auto& [type, value] : entries)
    for (const uint64_t part : {type, value})
      for (size_t i = 0; i < word; ++i) bytes += static_cast<char>(part >> (8 * i));
  return bytes;
}

}  // namespace flowback::gdb
