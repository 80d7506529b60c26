#!/bin/sh
# SPDX-License-Identifier: MIT
# C++ files are formatted as .clang-format says.
set -eu
cd "$1"
if ! command -v clang-format-19 >/dev/null 2>&1; then
  echo "SKIPPED: clang-format-19 is not installed"
  exit 77
fi
find base capture cli decode include replay samples tests \( -name '*.cc' -o -name '*.h' \) \
  -exec clang-format-19 --dry-run --Werror {} +
