// SPDX-License-Identifier: MIT
// All of a bundle in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capture/bundle/bundle_reader.h"

namespace flowback::test {

struct ReadMembers final : bundle::MemberVisitor {
  Status OnMember(const bundle::Member& member, int64_t time) override {
    order.push_back(member.name);
    contents[member.name];
    seconds[member.name] = time;
    return {};
  }
  Status OnContent(uint64_t offset, Bytes content) override {
    std::string& text = contents[order.back()];
    text.resize(offset);
    text.append(reinterpret_cast<const char*>(content.data()), content.size());
    return {};
  }

  std::vector<std::string> order;
  std::map<std::string, std::string> contents;
  std::map<std::string, int64_t> seconds;
};

}  // namespace flowback::test
