// SPDX-License-Identifier: MIT
// The columns of `decode` and which of them -F asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flowback/base/error.h"

namespace flowback::cli {

enum class Field : uint8_t {
#define FLOWBACK_FIELD(name, word) name,
#include "cli/listing/fields.def"
#undef FLOWBACK_FIELD
};

class Fields {
 public:
  // Errors: kUsage for an unknown word.
  static Result<Fields> Parse(const std::string& words);

  // Whether `words` change the usual columns: "+srcline", "-comm,+bytes". A sign holds up to the
  // next one.
  static bool Change(const std::string& words) {
    return words.starts_with('+') || words.starts_with('-');
  }
  // The columns of `usual` with those of `words` added or taken away. Errors: kUsage.
  static Result<Fields> Changed(const std::string& usual, const std::string& words);

  // Errors: kUsage when `words`, which were parsed, name a column that is not among `allowed`.
  Status CheckOnly(const std::string& words, const std::string& allowed,
                   std::string_view kind) const;

  Fields& Add(Field field) {
    bits_ |= Bit(field);
    return *this;
  }
  // Whether all of `other`'s columns are among these.
  bool Include(const Fields& other) const { return (other.bits_ & ~bits_) == 0; }
  bool Has(Field field) const { return (bits_ & Bit(field)) != 0; }
  bool HasSymbols() const { return Has(Field::kSym) || Has(Field::kSymoff); }
  bool HasSource() const { return Has(Field::kSrcline) || Has(Field::kSource); }
  bool empty() const { return bits_ == 0; }

 private:
  static constexpr uint32_t Bit(Field field) { return uint32_t{1} << static_cast<unsigned>(field); }

  uint32_t bits_ = 0;
};

}  // namespace flowback::cli
