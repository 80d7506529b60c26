#!/bin/sh
# SPDX-License-Identifier: MIT
# installed.sh BUILD SOURCE CXX: installs the build into an empty folder; there the program, its
# manual page and completion work, and another project builds with the library and decodes a trace.
set -eu
build=$1 source=$2 cxx=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$prefix" >"$folder/install.log" || fail "cmake --install"

# The library and the program must not need the build folder or the checkout.
cmake -G Ninja -S "$source/samples/use_library" -B "$folder/use" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS=-O0 >"$folder/use.log" 2>&1 ||
  { cat "$folder/use.log"; fail "find_package(flowback)"; }
cmake --build "$folder/use" >"$folder/use.log" 2>&1 ||
  { cat "$folder/use.log"; fail "building with flowback::flowback"; }
if grep -rqF -e "$build" -e "$source" "$prefix/lib/cmake" "$prefix"/lib/*/cmake 2>/dev/null; then
  grep -rnF -e "$build" -e "$source" "$prefix/lib"
  fail "the installed package names the build folder"
fi

# pkg-config's way. The small library of programs that record themselves needs no other one.
package_path=$(dirname "$(find "$prefix/lib" -name flowback.pc)")
of_package() { PKG_CONFIG_PATH=$package_path pkg-config "$@"; }
if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046  # words
  "$cxx" -std=c++23 $(of_package --cflags flowback) "$source/samples/use_library/count_by_thread.cc" \
    -o "$folder/by_package" $(of_package --libs flowback) || fail "building with pkg-config's flowback"
  case $(of_package --libs flowback_self) in
    *-lflowback_base*) fail "pkg-config's flowback_self links other rooms" ;;
  esac
  # shellcheck disable=SC2046  # words
  cc $(of_package --cflags flowback_self) "$source/samples/use_library/records_itself.c" \
    -o "$folder/records_itself" $(of_package --libs flowback_self) ||
    fail "building with pkg-config's flowback_self"
fi

# loop: dec rax; jne loop; syscall. Run with three passes, traced from `loop` to the system call:
printf '\110\377\310\165\373\017\005' >"$folder/code"
{
  for _ in 1 2 3 4 5 6 7 8; do printf '\002\202'; done # PSB
  printf '\231\001'                                    # MODE.Exec 64-bit
  printf '\002\043'                                    # PSBEND
  printf '\161\000\020\100\000\000\000'                # TIP.PGE 0x401000
  printf '\034'                                        # TNT: taken, taken, not taken
  printf '\001'                                        # TIP.PGD, no IP: at the system call
} >"$folder/trace"
# The digest's definition, over 401000 401003 401000 401003 401000 401003 401005.
expected="7 efdbb4ca5821055a"

actual=$("$folder/use/count_by_thread" "$folder/trace" "$folder/code" 0x401000)
[ "$actual" = "$expected 0" ] || fail "the library says '$actual', not '$expected'"

actual=$("$prefix/bin/flowback" decode --raw-pt "$folder/trace" \
  --section "$folder/code:0:7:0x401000" --as digest)
[ "$actual" = "0 $expected" ] || fail "the installed program says '$actual', not '0 $expected'"

if [ -e "$folder/by_package" ]; then
  actual=$("$folder/by_package" "$folder/trace" "$folder/code" 0x401000)
  [ "$actual" = "$expected 0" ] || fail "built with pkg-config, the library says '$actual'"
fi

for program in hello threads; do
  python3 -B "$source/tests/install/samples.py" "$folder/use" "$prefix/bin/flowback" \
    "$build/samples/$program" || fail "the samples' programs on a recording of $program"
done

# A program that records itself says why, or does.
if FLOWBACK_SELF=off "$folder/use/records_itself" | grep -q "^not recorded: FLOWBACK_SELF=off"; then :; else
  fail "records_itself does not say why it is not recorded"
fi

# The same code from an assembler, with its source lines: the reader of debug information is there.
printf '.globl _start\n_start:\nagain: dec %%rax\n jne again\n syscall\n' >"$folder/code.s"
"$cxx" -g -nostdlib -static -Wl,-Ttext=0x401000 -o "$folder/program" "$folder/code.s" ||
  fail "assembling a program"
actual=$("$prefix/bin/flowback" decode --raw-pt "$folder/trace" --image "$folder/program" \
  -F ip,srcline | sort -u | tr '\n' ' ')
expected="401000 code.s:3 401003 code.s:4 401005 code.s:5 "
[ "$actual" = "$expected" ] || fail "source lines are '$actual', not '$expected'"

# The emulator's plugin is found from where the program lies.
if [ -e "$build/lib/flowback/flowback-tcg.so" ] && command -v qemu-x86_64 >/dev/null; then
  "$prefix/bin/flowback" record --engine emulate -o "$folder/emulated" -- /bin/true \
    2>"$folder/emulated.log" || { cat "$folder/emulated.log"; fail "recording where installed"; }
  "$prefix/bin/flowback" info --strict "$folder/emulated" >/dev/null ||
    fail "reading what was recorded where installed"
fi

for page in flowback flowback-record flowback-decode; do
  [ -s "$prefix/share/man/man1/$page.1" ] || fail "no manual page $page"
done
[ -s "$prefix/share/doc/flowback/docs/reference/output.md" ] || fail "the documents that help names are missing"
completion=$prefix/share/bash-completion/completions/flowback
actual=$(bash -c ". '$completion'; COMP_WORDS=($prefix/bin/flowback dec); COMP_CWORD=1; _flowback; echo \"\${COMPREPLY[*]}\"")
[ "$actual" = decode ] || fail "completing 'flowback dec' gives '$actual'"
echo "installed in an empty folder: program, library, manual pages and completion work"
