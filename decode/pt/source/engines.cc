// SPDX-License-Identifier: MIT
#include <string>

#if FLOWBACK_HAS_LIBIPT
#include "decode/pt/libipt/libipt_decoder.h"
#define FLOWBACK_IF_LIBIPT(factory) factory
#else
#define FLOWBACK_IF_LIBIPT(factory) nullptr
#endif
#include "decode/pt/native_decoder.h"
#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

struct Engine {
  std::string_view name;
  std::unique_ptr<Decoder> (*make)();
  const char* remedy;
};

constexpr Engine kEngines[] = {
#define FLOWBACK_DECODER(name, factory, remedy) {name, factory, remedy},
#include "decode/pt/source/engines.def"
#undef FLOWBACK_DECODER
};

std::string KnownNames() {
  std::string names;
  for (const std::string_view name : DecoderNames())
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace

Result<std::unique_ptr<Decoder>> MakeDecoder(std::string_view name) {
  for (const Engine& engine : kEngines) {
    if (engine.name != name) continue;
    if (engine.make != nullptr) return engine.make();
    return Fail(
        Error(ErrorCode::kUnsupported, "this build has no decoder \"" + std::string(name) + "\"")
            .Remedy(engine.remedy));
  }
  return Fail(Error(ErrorCode::kUsage, "there is no decoder \"" + std::string(name) + "\"")
                  .Remedy("choose one of: " + KnownNames()));
}

std::vector<std::string_view> DecoderNames() {
  std::vector<std::string_view> names;
  for (const Engine& engine : kEngines)
    if (engine.make != nullptr) names.push_back(engine.name);
  return names;
}

}  // namespace flowback
