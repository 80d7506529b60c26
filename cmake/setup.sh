# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What ./demo, ./test and .ci/run share; to be sourced, in the top folder, by any POSIX shell.

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The packages of the given groups (build, test, check) that this machine lacks.
missing_packages() {
  for group in "$@"; do
    sed -n "s/^$group //p" cmake/packages.txt
  done | while read -r package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf '%s ' "$package"
  done
}

# apt_get WORD...: waits while another program installs packages, ten minutes at most. Prints the end
# of what it said where it fails.
apt_get() {
  mkdir -p build
  tries=120
  while ! as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q "$@" >build/apt.log 2>&1; do
    tries=$((tries - 1))
    if [ "$tries" -eq 0 ] || ! grep -q 'Could not get lock' build/apt.log; then
      tail -n 20 build/apt.log >&2
      return 1
    fi
    [ "$tries" -ne 119 ] || say "Another program is installing packages: waiting for it, ten minutes at most"
    sleep "${APT_PAUSE:-5}"
  done
}

# install_packages GROUP...: nothing is fetched, and root is not needed, when all is there.
install_packages() {
  command -v dpkg-query >/dev/null 2>&1 ||
    die "This script installs packages with apt-get, which this system lacks. Install the" \
      "equivalents of cmake/packages.txt, then: cmake --preset release && cmake --build --preset release"
  missing=$(missing_packages "$@")
  if [ -z "$missing" ]; then
    say "Every needed package is installed"
    return
  fi
  say "Installing with apt-get: $missing"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1 ||
    die "Installing needs root: run this as root, or install sudo"
  apt_get update || die "apt-get update failed: are the network and /etc/apt/sources.list in order?"
  # shellcheck disable=SC2086  # a list of words
  apt_get -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing ||
    die "apt-get could not install: $missing"
}

# build PRESET [TARGET...]: configures once, then compiles what changed.
build() {
  preset=$1
  shift
  say "Building (preset $preset) in build/$preset"
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >build/configure.log 2>&1 || {
    cat build/configure.log >&2
    die "Configuring failed"
  }
  if [ $# -gt 0 ]; then set -- --target "$@"; fi
  cmake --build --preset "$preset" "$@" || die "The build failed"
}
