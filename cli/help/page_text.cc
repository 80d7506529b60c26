// SPDX-License-Identifier: MIT
#include "cli/help/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/path_text.h"

namespace flowback::cli {
namespace {

constexpr std::string_view kFence = "```";

// A link or a picture: [text](target).
struct PageLink {
  size_t begin = 0;  // of it, in the text
  size_t end = 0;
  std::string_view text;
  std::string_view target;
};

std::optional<PageLink> NextLink(std::string_view text, size_t from) {
  for (size_t middle = text.find("](", from); middle != std::string_view::npos;
       middle = text.find("](", middle + 2)) {
    const size_t end = text.find(')', middle);
    const size_t begin = text.rfind('[', middle);
    if (end == std::string_view::npos || begin == std::string_view::npos || begin < from) continue;
    return PageLink{.begin = begin,
                    .end = end + 1,
                    .text = text.substr(begin + 1, middle - begin - 1),
                    .target = text.substr(middle + 2, end - middle - 2)};
  }
  return std::nullopt;
}

// "../explanation/time.md#bounds", as the page "reference/decode" has it, is "explanation/time".
std::string PageOf(std::string_view target, const TopicPage& from) {
  const std::filesystem::path folder = std::filesystem::path(from.name).parent_path();
  return (folder / target.substr(0, target.find(".md"))).lexically_normal().string();
}

// Where a reader finds the page.
std::string PlaceOf(const std::string& name, std::span<const Topic> topics) {
  for (const Topic& topic : topics) {
    if (std::ranges::find(topic.pages, name, &TopicPage::name) == topic.pages.end()) continue;
    if (topic.pages.size() == 1) return fmt::format("flowback help {}", topic.name);
    return fmt::format("flowback help {} {}", topic.name, LastPart(name));
  }
  return (std::filesystem::path("docs") / (name + ".md")).lexically_normal().string();
}

// `alone`: the link stands alone in brackets, so a word like "time" adds nothing to its place.
std::string LinkText(const PageLink& link, bool alone, const TopicPage& page,
                     std::span<const Topic> topics) {
  if (link.target.starts_with('#')) return std::string(link.text);
  if (link.target.starts_with("http")) return fmt::format("{} ({})", link.text, link.target);
  if (!link.target.contains(".md")) return fmt::format("{} ({})", link.text, link.target);
  const std::string name = PageOf(link.target, page);
  if (name == page.name) return std::string(link.text);
  if (alone && !link.text.contains(' ')) return PlaceOf(name, topics);
  return fmt::format("{} ({})", link.text, PlaceOf(name, topics));
}

// A stretch of the page without code blocks.
std::string WithoutLinks(std::string_view prose, const TopicPage& page,
                         std::span<const Topic> topics) {
  std::string out;
  size_t done = 0;
  while (const std::optional<PageLink> link = NextLink(prose, done)) {
    const bool is_picture = link->begin > 0 && prose[link->begin - 1] == '!';
    out += prose.substr(done, link->begin - done - (is_picture && link->begin > done ? 1 : 0));
    const bool alone =
        prose.substr(0, link->begin).ends_with('(') && prose.substr(link->end).starts_with(')');
    if (!is_picture) out += LinkText(*link, alone, page, topics);
    done = link->end;
  }
  return out.append(prose.substr(done));
}

bool HasHeadingOf(std::string_view text, const std::string& word) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with('#') && line.contains(word)) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

const TopicPage* FindPage(const Topic& topic, std::string_view word) {
  for (const TopicPage& page : topic.pages)
    if (LastPart(page.name) == word) return &page;
  const std::string quoted = fmt::format("`{}`", word);
  for (const TopicPage& page : topic.pages)
    if (HasHeadingOf(page.text, quoted)) return &page;
  return nullptr;
}

std::string PageText(const TopicPage& page, std::span<const Topic> topics) {
  std::string out;
  bool is_code = false;
  for (size_t begin = 0; begin < page.text.size();) {
    const size_t fence = std::min(page.text.find(kFence, begin), page.text.size());
    const size_t end = std::min(fence + kFence.size(), page.text.size());
    const std::string_view part = page.text.substr(begin, end - begin);
    out += is_code ? std::string(part) : WithoutLinks(part, page, topics);
    is_code = !is_code;
    begin = end;
  }
  return out;
}

}  // namespace flowback::cli
