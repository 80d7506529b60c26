#!/bin/sh
# SPDX-License-Identifier: MIT
# without_libipt.sh SOURCE WITH BUILD GENERATOR CXX TYPE GENERATE_STREAM: configures and builds the
# program in BUILD with FLOWBACK_LIBIPT=OFF, where including libipt's header is an error. The program
# decodes a generated stream to the known digest, has nothing of libipt in it, and says how to get the
# engine. Objects that do not depend on the option are taken from WITH, the build that the test is of.
set -eu
source=$1 with=$2 build=$3 generator=$4 cxx=$5 type=$6 generate_stream=$7
here=$(cd "$(dirname "$0")" && pwd)
work=$build/work
# Nothing is left of an earlier run: ninja does not know what copied objects depend on.
rm -rf "$build"
mkdir -p "$work/poison"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Files compiled together in WITH are compiled together here: other objects could not be taken.
together=$(sed -n 's/^\(CMAKE_UNITY_BUILD[A-Z_]*\):[A-Z]*=/-D\1=/p' "$with/CMakeCache.txt")
echo '#error "libipt is left out of this build"' >"$work/poison/intel-pt.h"
# shellcheck disable=SC2086 # each word of $together is an argument
cmake -S "$source" -B "$build" -G "$generator" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_BUILD_TYPE="$type" $together -DCMAKE_CXX_FLAGS="-I$work/poison" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="python3;-B;$here/reuse_object.py;$with;$build;$work/poison" \
  -DFLOWBACK_LIBIPT=OFF -DFLOWBACK_TESTS=OFF >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; fail "configuring"; }
cmake --build "$build" --target flowback --parallel 2 >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log"; fail "building"; }
flowback=$build/bin/flowback

# The generator knows what it executed; 3 is a seed like any other.
"$generate_stream" "$work/stream" --seed 3 --instructions 20000 --tsc 1 --mtc 1 >"$work/log"
expected=$(sed -n 's/^digest //p' "$work/stream.truth")
[ -n "$expected" ] || fail "the generator told no digest"
# shellcheck disable=SC2046 # the file holds arguments
actual=$("$flowback" decode --as digest $(cat "$work/stream.args"))
[ "$actual" = "$expected" ] || fail "the digest is '$actual', not '$expected'"

if ldd "$flowback" | grep -F libipt; then fail "the program loads libipt"; fi
if nm -DC --undefined-only "$flowback" | grep -E ' pt_[a-z]+_'; then
  fail "the program refers to functions of libipt"
fi
if nm -C --defined-only "$flowback" | grep -E ' [tT] pt_(insn|blk|qry|pkt|image|iscache)_'; then
  fail "functions of libipt are linked into the program"
fi

# shellcheck disable=SC2046
if "$flowback" decode --engine libipt --as digest $(cat "$work/stream.args") \
  >"$work/out" 2>"$work/err"; then
  fail "an engine that is not there decoded something"
fi
grep -qF FLOWBACK_LIBIPT "$work/err" ||
  fail "the message does not say how to get the engine: $(cat "$work/err")"
echo "without libipt: built, decoded to the known digest, nothing of libipt inside"
