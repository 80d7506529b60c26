#!/bin/sh
# SPDX-License-Identifier: MIT
# Shell scripts parse, and shellcheck finds nothing where it is installed.
set -eu
cd "$1"
for script in demo test cmake/setup.sh tests/conventions/*.sh tests/install/*.sh; do
  sh -n "$script"
done
bash -n .ci/run
[ ! -f docs/completions/flowback.bash ] || bash -n docs/completions/flowback.bash
for shell in zsh fish; do
  if command -v "$shell" >/dev/null; then "$shell" -n "docs/completions/flowback.$shell"; fi
done
if ! command -v shellcheck >/dev/null 2>&1; then
  echo "SKIPPED in part: shellcheck is not installed"
  exit 77
fi
shellcheck -x demo test .ci/run cmake/setup.sh tests/conventions/*.sh tests/install/*.sh
