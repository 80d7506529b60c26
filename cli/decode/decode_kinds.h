// SPDX-License-Identifier: MIT
// The kinds of listing that `decode --as` knows, and their columns.
#pragma once

#include <string>
#include <string_view>

#include "base/ordered_pipeline.h"
#include "cli/listing/fields.h"
#include "cli/listing/flow_printer.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// A kind of listing, and its columns when -F does not say.
struct Kind {
  std::string_view name;
  PrinterMaker make_printer;  // null: not a listing of the flow
  std::string_view default_fields;
  std::string_view own_fields;  // that -F may name beside a thread's
  bool has_layout = false;      // is laid out for people when -F does not say
  // Whether a line depends on lines before it.
  WorkOrder order = WorkOrder::kAny;
  bool looks_back = false;  // MergePlan::looks_back
  // With --time: knows what ran ahead of the span, and leaves its lines out itself.
  bool wants_context = false;
};

// Errors: kUsage for a word that names none.
Result<const Kind*> FindKind(const std::string& name);

// Whether lines are laid out for people: as usual, or as usual with columns added.
bool HasUsualLayout(const Kind& kind, const std::string& words, const Fields& fields);

// The columns, from the words of -F. Errors: kUsage for those that the kind has not.
Result<Fields> FieldsFor(const Kind& kind, const std::string& words, bool by_time);

// Errors: kUsage where --by-time is given and the kind has no lines with times.
Status CheckByTime(const Kind& kind, bool by_time);

}  // namespace flowback::cli
