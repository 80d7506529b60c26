// SPDX-License-Identifier: MIT
// Arbitrary bytes as a bundle: an error that says something, or members with names that lead
// nowhere else. Its manifest and index, whatever they have, are understood or refused.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "capture/bundle/bundle_json.h"
#include "capture/bundle/bundle_reader.h"
#include "capture/bundle/bundle_writer.h"

namespace {

using namespace flowback;
using namespace flowback::bundle;

void Check(bool holds) {
  if (!holds) std::abort();
}

struct Checking final : MemberVisitor {
  Status OnMember(const Member& member, int64_t) override {
    Check(IsMemberName(member.name) && names.insert(member.name).second);
    text.clear();
    name = member.name;
    return {};
  }
  Status OnContent(uint64_t offset, Bytes content) override {
    constexpr size_t kMost = size_t{1} << 16;
    if (offset + content.size() > kMost) return {};
    text.resize(offset);
    text.insert(text.end(), content.begin(), content.end());
    return {};
  }

  std::set<std::string> names;
  std::string name;
  std::vector<uint8_t> text;
};

void CheckError(const Error& error) { Check(!error.message().empty() && !error.remedy().empty()); }

// Packed bytes are hard to come upon: of most inputs the bytes are a tar archive to be packed.
std::vector<uint8_t> Packed(Bytes bytes) {
  std::vector<uint8_t> out;
  FrameWriter frames([&out](Bytes packed) {
    out.insert(out.end(), packed.begin(), packed.end());
    return Status();
  });
  Check(frames.Write(bytes).has_value() && frames.Finish().has_value());
  return out;
}

void Read(Bytes packed) {
  Checking checking;
  const auto damage = ReadBundle(packed, "it", checking);
  if (!damage) CheckError(damage.error());
  if (damage && *damage) CheckError(**damage);
  IsPackedArchive(packed);
  if (const auto manifest = ParseManifest(checking.text, "it"))
    Check(IsMemberName(manifest->recording));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::vector<uint8_t> exact(data + 1, data + size);
  if (data[0] % 4 == 0)
    Read(exact);
  else
    Read(Packed(exact));
  if (const auto manifest = ParseManifest(exact, "it")) Check(IsMemberName(manifest->recording));
  static_cast<void>(ParseIndex(exact, "it"));
  return 0;
}
