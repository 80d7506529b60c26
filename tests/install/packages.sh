#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh BUILD SOURCE CPACK: makes the Debian packages, unpacks them into an empty folder, and
# uses the program, its completions and its documents from there.
set -eu
build=$1 source=$2 cpack=$3
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$cpack" --config "$build/CPackConfig.cmake" -B "$folder/packages" >"$folder/log" 2>&1 ||
  { cat "$folder/log"; fail "cpack"; }
for package in flowback flowback-dev flowback-doc; do
  file=$(find "$folder/packages" -maxdepth 1 -name "${package}_*.deb")
  [ -s "$file" ] || fail "no package $package"
  [ "$(dpkg-deb -f "$file" Package)" = "$package" ] || fail "$file has another name"
  version=$(sed -n 's/^project(flowback VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
  [ "$(dpkg-deb -f "$file" Version)" = "$version" ] || fail "$file has another version than $version"
  dpkg-deb -x "$file" "$folder/$package"
  [ -s "$folder/$package/usr/share/doc/$package/copyright" ] || fail "$package has no licence"
  [ -s "$folder/$package/usr/share/doc/$package/changelog.gz" ] || fail "$package has no changelog"
  if command -v lintian >/dev/null; then
    lintian --fail-on error --suppress-tags unstripped-static-library "$file" >"$folder/lintian" 2>&1 ||
      { cat "$folder/lintian"; fail "lintian finds errors in $package"; }
  fi
done
file=$(find "$folder/packages" -maxdepth 1 -name "flowback_*.deb")
dpkg-deb -f "$file" Depends | grep -q 'libc6' || fail "flowback does not depend on its libraries"

usr=$folder/flowback/usr
"$usr/bin/flowback" version | grep -qF "flowback $version" || fail "the program does not run"
if [ -e "$build/lib/flowback/flowback-tcg.so" ] && command -v qemu-x86_64 >/dev/null; then
  "$usr/bin/flowback" record -q --engine emulate -o "$folder/recording" -- /bin/true || fail "recording"
  "$usr/bin/flowback" info --strict "$folder/recording" >/dev/null || fail "reading the recording"
fi
zcat "$usr/share/man/man1/flowback-record.1.gz" | grep -q 'help\\-all' || fail "the manual page lacks an option"
for file in bash-completion/completions/flowback zsh/vendor-completions/_flowback \
  fish/vendor_completions.d/flowback.fish; do
  [ -s "$usr/share/$file" ] || fail "no completion $file"
done
[ -s "$folder/flowback-dev/usr/include/flowback/session.h" ] || fail "no headers"
[ -n "$(find "$folder/flowback-dev" -name libflowback_decode.a -o -name 'libflowback_replay.a')" ] || fail "no library"
[ -s "$folder/flowback-doc/usr/share/doc/flowback/docs/tutorial.md" ] || fail "no tutorial"
echo "three packages: installed in empty folders, the program records and reads"
