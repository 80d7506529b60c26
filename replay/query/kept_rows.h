// SPDX-License-Identifier: MIT
// Rows of a table that has few: all are made at once.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "replay/query/table.h"

namespace flowback {

// Gives out the items of a list. `Cell` returns the value of an item's column.
template <class Item>
class KeptRows final : public QueryRows {
 public:
  using Cell = QueryValue (*)(const Item& item, size_t column);
  KeptRows(std::vector<Item> items, Cell cell) : items_(std::move(items)), cell_(cell) {}

  Result<bool> Next() override {
    at_ = is_begun_ ? at_ + 1 : 0;
    is_begun_ = true;
    return at_ < items_.size();
  }
  QueryValue At(size_t column) const override { return cell_(items_[at_], column); }

 private:
  std::vector<Item> items_;
  Cell cell_;
  size_t at_ = 0;
  bool is_begun_ = false;
};

template <class Item>
std::unique_ptr<QueryRows> MakeKeptRows(std::vector<Item> items,
                                        QueryValue (*cell)(const Item& item, size_t column)) {
  return std::make_unique<KeptRows<Item>>(std::move(items), cell);
}

}  // namespace flowback
