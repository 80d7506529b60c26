#!/bin/sh
# SPDX-License-Identifier: MIT
# package_lock.sh SETUP FOLDER: how cmake/setup.sh installs packages while another program does. An
# apt-get of its own stands in for the real one, and says what that says.
set -eu
setup=$1
rm -rf "$2"
mkdir -p "$2/bin" "$2/build"
cd "$2"

# Prints the message for the first FAILURES calls; CALLS counts them.
cat >bin/apt-get <<'END'
#!/bin/sh
calls=$(($(cat calls) + 1))
echo "$calls" >calls
[ "$calls" -gt "$(cat failures)" ] || { cat message; exit 100; }
END
chmod +x bin/apt-get
PATH=$PWD/bin:$PATH
APT_PAUSE=0
export PATH APT_PAUSE
# shellcheck source=/dev/null
. "$setup"
as_root() { "$@"; }

fail() {
  echo "$*" >&2
  exit 1
}
# expect STATUS CALLS FAILURES MESSAGE
expect() {
  echo 0 >calls
  echo "$3" >failures
  echo "$4" >message
  status=0
  apt_get install package >said 2>&1 || status=$?
  [ "$status" -eq "$1" ] || fail "status $status in place of $1: $(cat said)"
  [ "$(cat calls)" -eq "$2" ] || fail "$(cat calls) calls in place of $2: $(cat said)"
}

expect 0 1 0 ''
expect 0 4 3 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)'
grep -q 'Another program is installing packages' said || fail "nobody said that it waits"
expect 1 120 1000 'E: Could not get lock /var/lib/dpkg/lock-frontend.'
grep -q 'Could not get lock' said || fail "what apt-get said is lost"
# What waiting does not mend ends at once.
expect 1 1 1000 'E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)
E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?'
expect 1 1 1000 'E: Unable to locate package nothing'
grep -q 'Unable to locate' said || fail "what apt-get said is lost"
