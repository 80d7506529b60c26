// SPDX-License-Identifier: MIT
#include "replay/calls/stack_names.h"

namespace flowback {
namespace {

// Code that was moved behind its function is named as the function.
void NameWhole(const StackFrame& frame, uint64_t at, const Symbolizer::Symbol& symbol,
               NamedFrame& named) {
  const CodeMapping* mapping = frame.space->Find(at);
  if (!symbol.whole || mapping == nullptr || symbol.function.size() == symbol.name.size()) return;
  const uint64_t whole = mapping->FileBase() + *symbol.whole;
  if (whole > at) return;
  named.function = symbol.function;
  named.offset = frame.address - whole;
}

}  // namespace

std::vector<NamedFrame> StackNames::Of(const StackFrame& frame) {
  NamedFrame own;
  if (frame.space == nullptr || frame.address == 0) return {own};
  const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
  if (const CodeMapping* mapping = frame.space->Find(at))
    own.object = recorded_path_(mapping->section->name());
  if (const auto symbol = symbolizer_.Find(*frame.space, at)) {
    own.function = symbol->name;
    own.offset = symbol->offset + (frame.address - at);
    NameWhole(frame, at, *symbol, own);
  }
  std::vector<NamedFrame> named;
  const SourcePlace place = lines_.Find(*frame.space, at);
  for (const SourceFrame& source : place.frames) {
    NamedFrame each = own;
    if (source.is_inlined) each.function = source.function;
    each.file = source.file;
    each.line = source.line;
    each.is_inlined = source.is_inlined;
    named.push_back(each);
  }
  if (named.empty() || named.back().is_inlined) named.push_back(own);
  // The symbol table names all but what was inlined; a stripped file's debug information may know.
  if (named.back().function.empty() && !place.frames.empty())
    named.back().function = place.frames.back().function;
  return named;
}

}  // namespace flowback
