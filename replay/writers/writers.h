// SPDX-License-Identifier: MIT
// The formats that the library writes: writers.def has one row for each.
//
//   for (const WriterOf<CoverageWriter>& each : WritersOf<CoverageWriter>())
//     each.write(view, sink);
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "flowback/base/error.h"
#include "replay/writers/text/text_sink.h"

// A test has tables of its own, which include these and have more rows.
#ifndef FLOWBACK_WRITTEN_TABLE
#define FLOWBACK_WRITTEN_TABLE "replay/writers/written.def"
#define FLOWBACK_WRITERS_TABLE "replay/writers/writers.def"
#endif

namespace flowback {

// The type of a kind's writers: CoverageWriter, ProfileWriter, ...
#define FLOWBACK_WRITTEN(what, input, result) \
  struct input;                               \
  using what##Writer = result(const input&, TextSink&);
#include FLOWBACK_WRITTEN_TABLE
#undef FLOWBACK_WRITTEN

#define FLOWBACK_WRITER(what, name, function, summary) what##Writer function;
#include FLOWBACK_WRITERS_TABLE
#undef FLOWBACK_WRITER

// A row of the table.
class Writer {
 public:
  template <class Function>
  Writer(std::string_view row_name, Function* write, std::string_view row_summary)
      : name(row_name),
        summary(row_summary),
        type_(&typeid(Function)),
        write_(reinterpret_cast<AnyFunction*>(write)) {}

  // Returns null if the row's function has another type.
  template <class Function>
  Function* As() const {
    return *type_ == typeid(Function) ? reinterpret_cast<Function*>(write_) : nullptr;
  }

  std::string_view name;  // as options take it
  std::string_view summary;

 private:
  using AnyFunction = void();

  const std::type_info* type_;
  AnyFunction* write_;
};

// Returns all rows, in the order of the table.
std::span<const Writer> Writers();

// A row whose function has this type.
template <class Function>
struct WriterOf {
  std::string_view name;
  Function* write;
  std::string_view summary;
};

// Returns the rows whose functions have this type, in the order of the table.
template <class Function>
std::vector<WriterOf<Function>> WritersOf() {
  std::vector<WriterOf<Function>> found;
  for (const Writer& each : Writers())
    if (Function* const write = each.As<Function>())
      found.push_back({each.name, write, each.summary});
  return found;
}

// Returns nothing if no row of this type has the name.
template <class Function>
std::optional<WriterOf<Function>> FindWriter(std::string_view name) {
  const std::vector<WriterOf<Function>> all = WritersOf<Function>();
  const auto found = std::ranges::find(all, name, &WriterOf<Function>::name);
  if (found == all.end()) return std::nullopt;
  return *found;
}

}  // namespace flowback
