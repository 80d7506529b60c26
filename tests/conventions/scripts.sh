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
if ! command -v shellcheck >/dev/null 2>&1; then
  echo "SKIPPED in part: shellcheck is not installed"
  exit 77
fi
shellcheck -x demo test .ci/run cmake/setup.sh tests/conventions/*.sh tests/install/*.sh
